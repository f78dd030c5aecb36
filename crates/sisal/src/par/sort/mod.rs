//! Sorting slices on all workers.
//!
//! - [`merge`]: keeps the order of equals. [`quick`]: does not, and needs no memory.
//!
//! Both divide a slice until its parts are short enough for `std`'s sort.

mod merge;
mod quick;

use super::enter::enter;
use super::iter::iter;
use crate::prim::reason::Place;
use std::cmp::Ordering;
use std::panic::Location;

/// Up to how many items are left to `std` in any case, and on the thread that calls.
const LEAF: usize = 1 << 14;

/// How a comparison looks.
trait Compare<T>: Fn(&T, &T) -> Ordering + Send + Sync {}

impl<T, F: Fn(&T, &T) -> Ordering + Send + Sync> Compare<T> for F {}

/// Sorts a slice, keeping the order of equal items. It needs as much memory again. See [`slice::sort`].
///
/// Whatever the comparison does, panic or contradict itself, afterwards all items are there, in some order.
///
/// On a thread outside of a runtime many items are sorted in the [default runtime](crate::Runtime::install_default), or else on the thread; up to
/// some thousand always there.
///
/// ```
/// let mut words = ["plain", "blocking", "code"];
/// sisal::par::sort(&mut words);
/// assert_eq!(words, ["blocking", "code", "plain"]);
/// ```
///
/// # Panics
/// If the comparison does, or if `std`'s sort notices that it contradicts itself.
#[track_caller]
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    sort_at(Location::caller(), items, T::cmp);
}

/// Sorts a slice by a comparison, keeping the order of equal items. See [`sort`].
///
/// ```
/// let mut numbers = [2.5, 0.5, 1.5];
/// sisal::par::sort_by(&mut numbers, f64::total_cmp);
/// assert_eq!(numbers, [0.5, 1.5, 2.5]);
/// ```
#[track_caller]
pub fn sort_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Send + Sync) {
    sort_at(Location::caller(), items, compare);
}

/// Sorts a slice by a key, keeping the order of equal items. See [`sort`].
///
/// ```
/// let mut words = ["plain", "code", "blocking", "calm"];
/// sisal::par::sort_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["code", "calm", "plain", "blocking"]);
/// ```
#[track_caller]
pub fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Send + Sync) {
    sort_at(Location::caller(), items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts a slice by a key that is computed once for each item, keeping the order of equal items. See [`sort`].
///
/// ```
/// let mut words = ["plain", "Code", "blocking"];
/// sisal::par::sort_by_cached_key(&mut words, |word| word.to_lowercase());
/// assert_eq!(words, ["blocking", "Code", "plain"]);
/// ```
#[track_caller]
pub fn sort_by_cached_key<T: Send + Sync, K: Ord + Send>(items: &mut [T], key: impl Fn(&T) -> K + Send + Sync) {
    let mut keyed: Vec<(K, usize)> = iter(&*items).enumerate().map(|(at, item)| (key(item), at)).collect();
    sort_unstable_at(Location::caller(), &mut keyed, Ord::cmp);
    for at in 0..items.len() {
        // What was at the place we want has perhaps been swapped away, and that more than once.
        let mut from = keyed[at].1;
        while from < at {
            from = keyed[from].1;
        }
        keyed[at].1 = from;
        items.swap(at, from);
    }
}

/// Sorts a slice in place; equal items come in any order. See [`slice::sort_unstable`].
///
/// Whatever the comparison does, panic or contradict itself, afterwards all items are there, in some order.
///
/// ```
/// let mut numbers = [3, 1, 2];
/// sisal::par::sort_unstable(&mut numbers);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
///
/// # Panics
/// If the comparison does, or if `std`'s sort notices that it contradicts itself.
#[track_caller]
pub fn sort_unstable<T: Ord + Send>(items: &mut [T]) {
    sort_unstable_at(Location::caller(), items, T::cmp);
}

/// Sorts a slice in place by a comparison; equal items come in any order. See [`sort_unstable`].
///
/// ```
/// let mut numbers = [1, 3, 2];
/// sisal::par::sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
/// assert_eq!(numbers, [3, 2, 1]);
/// ```
#[track_caller]
pub fn sort_unstable_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Send + Sync) {
    sort_unstable_at(Location::caller(), items, compare);
}

/// Sorts a slice in place by a key; equal items come in any order. See [`sort_unstable`].
///
/// ```
/// let mut numbers = [1, -3, 2i32];
/// sisal::par::sort_unstable_by_key(&mut numbers, |number| number.abs());
/// assert_eq!(numbers, [1, 2, -3]);
/// ```
#[track_caller]
pub fn sort_unstable_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Send + Sync) {
    sort_unstable_at(Location::caller(), items, |a, b| key(a).cmp(&key(b)));
}

fn sort_at<T: Send>(place: Place, items: &mut [T], compare: impl Compare<T>) {
    if is_trivial(items, &compare) {
        return;
    }
    if items.len() <= LEAF {
        items.sort_by(compare);
    } else {
        enter(place, || merge::sort(place, items, &compare));
    }
}

fn sort_unstable_at<T: Send>(place: Place, items: &mut [T], compare: impl Compare<T>) {
    if is_trivial(items, &compare) {
        return;
    }
    if items.len() <= LEAF {
        items.sort_unstable_by(compare);
    } else {
        enter(place, || quick::sort(place, items, &compare));
    }
}

/// Whether nothing is left to be done: there is nothing to sort, or it was in order, or it was just turned round, having been in
/// the opposite order.
fn is_trivial<T>(items: &mut [T], compare: &impl Compare<T>) -> bool {
    if size_of::<T>() == 0 || items.len() < 2 {
        return true;
    }
    if items.is_sorted_by(|a, b| compare(b, a) != Ordering::Less) {
        return true;
    }
    let is_turned = items.is_sorted_by(|a, b| compare(b, a) == Ordering::Less);
    if is_turned {
        items.reverse();
    }
    is_turned
}
