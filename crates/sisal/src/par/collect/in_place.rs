//! Collecting as many items as there are positions: each is written where it belongs.
#![allow(unsafe_code, reason = "writes into memory that is not yet a vector's")]

use super::super::harvest::{Harvest, harvest};
use super::super::iter::Par;
use super::super::source::Source;
use crate::prim::reason::Place;
use std::mem;
use std::ptr;

/// Collects into a vector.
///
/// The source has one item for each position.
pub(super) fn collect<S: Source<Item: Send>>(par: Par<S>, place: Place) -> Vec<S::Item> {
    assert!(S::IS_EXACT, "INVARIANT: others are collected in pieces");
    let len = par.source.positions();
    let mut vec = Vec::with_capacity(len);
    let written = harvest(par, place, Writing { items: Room(vec.as_mut_ptr()) });
    assert_eq!(written.len, len, "INVARIANT: each position has one item");
    mem::forget(written);
    // SAFETY: all have been written.
    unsafe { vec.set_len(len) };
    vec
}

/// Where items are written to.
struct Room<T>(*mut T);

// SAFETY: each place is written by one thread, and what is written may go to another.
unsafe impl<T: Send> Sync for Room<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Room<T> {}

struct Writing<T> {
    items: Room<T>,
}

/// Items that have been written, one after the other. They belong to it, until it is forgotten.
struct Written<T> {
    items: *mut T,
    len: usize,
}

// SAFETY: as the items.
unsafe impl<T: Send> Send for Written<T> {}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        // SAFETY: they have been written, and are ours.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.items, self.len)) };
    }
}

impl<S: Source<Item = T>, T: Send> Harvest<S> for Writing<T> {
    type Yield = Written<T>;

    fn reap(&self, items: S::Leaf<'_>, start: usize) -> Written<T> {
        // SAFETY: a position of the source, and so a place in the vector.
        let first = unsafe { self.items.0.add(start) };
        let mut written = Written { items: first, len: 0 };
        items.for_each(|item| {
            // SAFETY: this leaf has as many items as positions, whose places nobody else writes to.
            unsafe { first.add(written.len).write(item) };
            written.len += 1;
        });
        written
    }

    fn merge(&self, mut left: Written<T>, right: Written<T>) -> Written<T> {
        left.len += right.len;
        mem::forget(right);
        left
    }
}
