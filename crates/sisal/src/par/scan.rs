//! Prefix sums, and what is like them.
//!
//! In two rounds over parts of the slice: first each part is reduced, then, when it is known what comes before each part, each is
//! gone through once more.

use super::enter::enter;
use super::iter::{Par, iter};
use super::source::Exact;
use super::source::slice::SliceMut;
use crate::spawn::Handle;
use std::panic::Location;

/// How many parts there are for each worker: some more than one, since they may take different time.
const PARTS: usize = 4;

/// How short parts may be, and how long.
const SHORTEST: usize = 1 << 8;
const LONGEST: usize = 1 << 14;

impl<T: Send + Sync> Par<SliceMut<'_, T>> {
    /// Puts into each place what `f` makes of all items up to there, that one included. `f` has to be associative; it is called
    /// about twice for each item.
    ///
    /// ```
    /// let mut numbers = [1, 2, 3, 4];
    /// sisal::par::iter(&mut numbers).scan_in_place(|a, b| a + b);
    /// assert_eq!(numbers, [1, 3, 6, 10]);
    /// ```
    #[track_caller]
    pub fn scan_in_place(self, f: impl Fn(&T, &T) -> T + Send + Sync) {
        let (grain, items) = (self.grain, self.source.into_slice());
        enter(Location::caller(), || {
            let size = grain.map_or_else(|| part_of(items.len()), |grain| grain.max(2));
            scan(items, size, &f);
        });
    }
}

impl<S: Exact<Item: Send + Sync>> Par<S> {
    /// For each item what `f` makes of all items up to there, that one included. `f` has to be associative.
    ///
    /// ```
    /// let sums: Vec<u32> = sisal::par::iter(1..5u32).scan(|a, b| a + b);
    /// assert_eq!(sums, [1, 3, 6, 10]);
    /// ```
    #[track_caller]
    pub fn scan(self, f: impl Fn(&S::Item, &S::Item) -> S::Item + Send + Sync) -> Vec<S::Item> {
        let grain = self.grain;
        let mut items: Vec<S::Item> = self.collect();
        Par { grain, ..iter(&mut items) }.scan_in_place(f);
        items
    }
}

/// How long parts are to be.
fn part_of(len: usize) -> usize {
    match Handle::current().map_or(1, |runtime| runtime.base_workers()) {
        1 => len,
        workers => len.div_ceil(workers * PARTS).clamp(SHORTEST, LONGEST),
    }
}

/// In parts of this size, two at least.
fn scan<T: Send + Sync>(items: &mut [T], size: usize, f: &(impl Fn(&T, &T) -> T + Send + Sync)) {
    if items.len() <= size {
        scan_part(items, None, f);
        return;
    }
    // What each part but the last makes, then what all up to it make.
    let last = (items.len() - 1) / size * size;
    let mut sums: Vec<T> = iter(&items[..last]).chunks(size).grain(1).map(|part| total(part, f)).collect();
    scan_part(&mut sums, None, f);
    let parts = iter(items).chunks(size).enumerate().grain(1);
    parts.for_each(|(part, items)| scan_part(items, part.checked_sub(1).map(|before| &sums[before]), f));
}

fn total<T>(part: &[T], f: &impl Fn(&T, &T) -> T) -> T {
    let [first, second, rest @ ..] = part else { unreachable!("INVARIANT: parts have two items at least") };
    rest.iter().fold(f(first, second), |sum, item| f(&sum, item))
}

/// From front to back, after what comes before.
fn scan_part<T>(items: &mut [T], before: Option<&T>, f: &impl Fn(&T, &T) -> T) {
    if let (Some(before), [first, ..]) = (before, &mut *items) {
        *first = f(before, first);
    }
    for at in 1..items.len() {
        items[at] = f(&items[at - 1], &items[at]);
    }
}
