//! Quicksort: what is less than a pivot goes to the left, and both sides are sorted at the same time.
//!
//! The pivot is the middle one of a sample, so the sides are mostly alike. If they are not, time and again, `std` gets the whole part,
//! which is never slow. Everything is done by swapping, so all items are there whatever the comparison does.

use super::super::join::join_at;
use super::{Compare, LEAF};
use crate::fiber::in_fiber;
use crate::prim::reason::Place;
use std::cmp::Ordering;

/// How many items the pivot is the middle of. Odd.
const SAMPLE: usize = 31;

/// A side is too short if it has less than this part of the items.
const SHORT: usize = 16;

/// How often a side may be too short.
const PATIENCE: u32 = 8;

/// Sorts on all workers; on a thread outside of them, there.
pub(super) fn sort<T: Send>(place: Place, items: &mut [T], compare: &impl Compare<T>) {
    if in_fiber() {
        divide(place, items, compare, PATIENCE);
    } else {
        items.sort_unstable_by(compare);
    }
}

fn divide<T: Send>(place: Place, items: &mut [T], compare: &impl Compare<T>, mut patience: u32) {
    let len = items.len();
    if len <= LEAF || patience == 0 {
        items.sort_unstable_by(compare);
        return;
    }
    choose_pivot(items, compare);
    let middle = partition(items, |item, pivot| compare(item, pivot) == Ordering::Less);
    let (left, others) = items.split_at_mut(middle);
    let mut right = &mut others[1..];
    if left.len().min(right.len()) < len / SHORT {
        patience -= 1;
        if left.len() < right.len() {
            // Perhaps many are equal to the pivot: these are where they belong.
            let equals = partition(others, |item, pivot| compare(pivot, item) != Ordering::Less);
            right = &mut others[equals + 1..];
        }
    }
    join_at(place, || divide(place, left, compare, patience), || divide(place, right, compare, patience));
}

/// Puts an item that is about the middle one first.
fn choose_pivot<T>(items: &mut [T], compare: &impl Compare<T>) {
    let step = items.len() / SAMPLE;
    // Not at regular distances, since the items may have a pattern; but the same ones each time.
    let mut random = fastrand::Rng::with_seed(items.len() as u64);
    for at in 0..SAMPLE {
        items.swap(at, at * step + random.usize(..step));
    }
    items[..SAMPLE].sort_unstable_by(compare);
    items.swap(0, SAMPLE / 2);
}

/// Puts the items that go to the left of the first one, the pivot, there, and returns where it is then.
fn partition<T>(items: &mut [T], goes_left: impl Fn(&T, &T) -> bool) -> usize {
    let [pivot, others @ ..] = items else { unreachable!("INVARIANT: the pivot is there") };
    let mut left = 0;
    for at in 0..others.len() {
        // Without a branch, which could not be foreseen.
        let goes = goes_left(&others[at], pivot);
        others.swap(left, at);
        left += usize::from(goes);
    }
    items.swap(0, left);
    left
}
