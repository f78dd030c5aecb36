//! Merge sort: halves are sorted at the same time, and merged from many places at the same time.
//!
//! Items go to and fro between the slice and a buffer: what is merged into the one was sorted into the other. On the way they are in both;
//! *home* is the slice, and an [`Away`] stands for a part whose items are in the buffer. If a comparison panics, each
//! part of the slice has all its items by the time its sort is left: as long as they are at home nothing need be done, and otherwise
//! an `Away` is dropped, which brings them back.
//!
//! No two threads compare the same item at the same time, so items need not be `Sync`.
#![allow(unsafe_code, reason = "items are copied to a buffer, and back")]

use super::super::join::join_at;
use super::{Compare, LEAF};
use crate::fiber::in_fiber;
use crate::prim::reason::Place;
use crate::spawn::Handle;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::slice;

/// How many items are left to `std` at most, and [`LEAF`] at least: `std` is faster than merging, but others are to have their part.
const LONGEST: usize = 1 << 18;

/// How many parts there are for each worker, if they are not too short.
const PARTS: usize = 8;

/// Up to how many items are merged in one go.
const MERGED: usize = 1 << 14;

/// Sorts on all workers; on a thread outside of them, there.
pub(super) fn sort<T: Send>(place: Place, items: &mut [T], compare: &impl Compare<T>) {
    let workers = Handle::current().map_or(1, |runtime| runtime.base_workers());
    let leaf = (items.len() / (workers * PARTS)).clamp(LEAF, LONGEST);
    if !in_fiber() || items.len() <= leaf {
        items.sort_by(compare);
        return;
    }
    let mut buffer = Vec::with_capacity(items.len());
    let part = Part { home: items.as_mut_ptr(), buffer: buffer.as_mut_ptr(), len: items.len(), of: PhantomData };
    Sort { place, leaf, compare }.to_home(part);
}

/// A part of the slice, and the part of the buffer that belongs to it. The items are at home, unless an [`Away`] has it.
struct Part<'a, T> {
    home: *mut T,
    buffer: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: as a mutable slice.
unsafe impl<T: Send> Send for Part<'_, T> {}

impl<'a, T> Part<'a, T> {
    fn halves(self) -> (Part<'a, T>, Part<'a, T>) {
        let middle = self.len / 2;
        // SAFETY: inside of both.
        let (home, buffer) = unsafe { (self.home.add(middle), self.buffer.add(middle)) };
        (Part { len: middle, ..self }, Part { home, buffer, len: self.len - middle, of: PhantomData })
    }

    fn at_home(&mut self) -> &mut [T] {
        // SAFETY: they are there, and ours.
        unsafe { slice::from_raw_parts_mut(self.home, self.len) }
    }
}

/// A part whose items are in the buffer. Dropped, it brings them home.
struct Away<'a, T>(Part<'a, T>);

impl<T> Away<'_, T> {
    /// They have been brought home otherwise.
    fn forget(self) {
        mem::forget(self);
    }
}

impl<T> Drop for Away<'_, T> {
    fn drop(&mut self) {
        // SAFETY: that is where they are, and both places are ours.
        unsafe { ptr::copy_nonoverlapping(self.0.buffer, self.0.home, self.0.len) };
    }
}

/// One run of [`sort`].
struct Sort<'a, C> {
    place: Place,
    /// Up to how many items are left to `std`.
    leaf: usize,
    compare: &'a C,
}

impl<C> Sort<'_, C> {
    /// Sorts a part.
    fn to_home<T: Send>(&self, mut part: Part<'_, T>)
    where
        C: Compare<T>,
    {
        if part.len <= self.leaf {
            part.at_home().sort_by(self.compare);
            return;
        }
        let home = part.home;
        let (left, right) = part.halves();
        let (left, right) = join_at(self.place, || self.to_buffer(left), || self.to_buffer(right));
        // SAFETY: both are sorted and in the buffer, one after the other, and home has room for them. If it panics they are brought there.
        unsafe { self.merge(Run::new(left.0.buffer, left.0.len), Run::new(right.0.buffer, right.0.len), Room(home)) };
        left.forget();
        right.forget();
    }

    /// Sorts a part into the buffer.
    fn to_buffer<'p, T: Send>(&self, mut part: Part<'p, T>) -> Away<'p, T>
    where
        C: Compare<T>,
    {
        let (home, buffer, len) = (part.home, part.buffer, part.len);
        if len <= self.leaf {
            part.at_home().sort_by(self.compare);
            // SAFETY: both are ours, and apart.
            unsafe { ptr::copy_nonoverlapping(home, buffer, len) };
            return Away(part);
        }
        let (left, right) = part.halves();
        let middle = left.len;
        join_at(self.place, || self.to_home(left), || self.to_home(right));
        // SAFETY: both are sorted and at home, and the buffer has room for them. If it panics they are still there.
        unsafe { self.merge(Run::new(home, middle), Run::new(home.add(middle), len - middle), Room(buffer)) };
        Away(Part { home, buffer, len, of: PhantomData })
    }

    /// Merges two runs, from many places at the same time.
    ///
    /// # Safety
    /// The room is apart from the runs, and big enough. Nobody else touches any of them.
    unsafe fn merge<T: Send>(&self, left: Run<T>, right: Run<T>, room: Room<T>)
    where
        C: Compare<T>,
    {
        if left.len + right.len <= MERGED {
            // SAFETY: the caller's promise.
            unsafe { self.merge_here(left, right, room) };
            return;
        }
        // SAFETY: the runs are the caller's, and nothing but the comparison touches their items.
        let (left_items, right_items) = unsafe { (left.items(), right.items()) };
        // The middle of the longer run divides both. Of equals those of the left run go first.
        let (left_middle, right_middle) = if left.len >= right.len {
            let middle = left.len / 2;
            let pivot = &left_items[middle];
            (middle, right_items.partition_point(|item| (self.compare)(item, pivot) == Ordering::Less))
        } else {
            let middle = right.len / 2;
            let pivot = &right_items[middle];
            (left_items.partition_point(|item| (self.compare)(pivot, item) != Ordering::Less), middle)
        };
        // SAFETY: places inside of the runs, even if the comparison contradicts itself.
        let ((left, left_rest), (right, right_rest)) = unsafe { (left.split(left_middle), right.split(right_middle)) };
        // SAFETY: inside of the room.
        let rest = Room(unsafe { room.0.add(left_middle + right_middle) });
        join_at(
            self.place,
            // SAFETY: the first parts of both runs, and as much room.
            move || unsafe { self.merge(left, right, room) },
            // SAFETY: the other parts of both runs, and the rest of the room.
            move || unsafe { self.merge(left_rest, right_rest, rest) },
        );
    }

    /// Merges two runs.
    ///
    /// # Safety
    /// As for [`merge`](Self::merge).
    unsafe fn merge_here<T>(&self, left: Run<T>, right: Run<T>, room: Room<T>)
    where
        C: Compare<T>,
    {
        // SAFETY: each item is read once, and written to the next place of the room.
        unsafe {
            let (mut left, left_end) = (left.first, left.first.add(left.len));
            let (mut right, right_end) = (right.first, right.first.add(right.len));
            let mut to = room.0;
            while left != left_end && right != right_end {
                // Without a branch, which could not be foreseen.
                let is_right = (self.compare)(&*right, &*left) == Ordering::Less;
                ptr::copy_nonoverlapping(if is_right { right } else { left }, to, 1);
                right = right.add(usize::from(is_right));
                left = left.add(usize::from(!is_right));
                to = to.add(1);
            }
            let rest = left_end.offset_from_unsigned(left);
            ptr::copy_nonoverlapping(left, to, rest);
            ptr::copy_nonoverlapping(right, to.add(rest), right_end.offset_from_unsigned(right));
        }
    }
}

/// Sorted items that are to be merged with others.
struct Run<T> {
    first: *const T,
    len: usize,
}

// SAFETY: whoever has it is alone with its items.
unsafe impl<T: Send> Send for Run<T> {}

impl<T> Run<T> {
    fn new(first: *const T, len: usize) -> Run<T> {
        Run { first, len }
    }

    /// # Safety
    /// Nothing but the comparison may touch the items.
    unsafe fn items<'a>(&self) -> &'a [T] {
        // SAFETY: they are there.
        unsafe { slice::from_raw_parts(self.first, self.len) }
    }

    /// # Safety
    /// `at` is a place in the run.
    unsafe fn split(self, at: usize) -> (Run<T>, Run<T>) {
        // SAFETY: the caller's promise.
        let rest = unsafe { self.first.add(at) };
        (Run::new(self.first, at), Run::new(rest, self.len - at))
    }
}

/// Where merged items go.
struct Room<T>(*mut T);

// SAFETY: whoever has it is alone with it.
unsafe impl<T: Send> Send for Room<T> {}
