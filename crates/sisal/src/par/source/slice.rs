//! Slices: items by reference.
#![allow(unsafe_code, reason = "items are lent out by position, each once")]

use super::{Exact, IntoSource, Sealed, Source};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

/// The items of a slice, by reference.
///
/// ```
/// use sisal::par::{self, Par, Slice};
/// let words: Par<Slice<'_, &str>> = par::iter(&["plain", "code"]);
/// assert_eq!(words.map(|word| word.len()).sum::<usize>(), 9);
/// ```
#[derive(Debug)]
pub struct Slice<'a, T>(pub(in crate::par) &'a [T]);

impl<T> Sealed for Slice<'_, T> {}
impl<T: Sync> Exact for Slice<'_, T> {}

impl<'s, T: Sync> Source for Slice<'s, T> {
    type Item = &'s T;
    type Leaf<'a>
        = slice::Iter<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.0.len()
    }

    unsafe fn open(&mut self) {}

    unsafe fn leaf(&self, range: Range<usize>) -> slice::Iter<'s, T> {
        self.0[range].iter()
    }

    unsafe fn discard(&self, _: Range<usize>) {}
}

/// The items of a slice, by mutable reference.
///
/// ```
/// use sisal::par::{self, Par, SliceMut};
/// let mut numbers = [1, 2, 3];
/// let each: Par<SliceMut<'_, i32>> = par::iter(&mut numbers);
/// each.for_each(|number| *number *= 2);
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub struct SliceMut<'a, T> {
    items: *mut T,
    len: usize,
    lent: PhantomData<&'a mut [T]>,
}

// SAFETY: as a mutable slice.
unsafe impl<T: Send> Send for SliceMut<'_, T> {}
// SAFETY: each item goes to one thread at a time: to whoever asks for its position.
unsafe impl<T: Send> Sync for SliceMut<'_, T> {}

impl<'s, T> SliceMut<'s, T> {
    pub(super) fn new(items: &'s mut [T]) -> SliceMut<'s, T> {
        SliceMut { items: items.as_mut_ptr(), len: items.len(), lent: PhantomData }
    }

    pub(in crate::par) fn into_slice(self) -> &'s mut [T] {
        // SAFETY: what we were made of, and nothing of it was lent since we are not shared.
        unsafe { slice::from_raw_parts_mut(self.items, self.len) }
    }

    /// # Safety
    /// No other range that was asked for overlaps this one.
    pub(super) unsafe fn part(&self, range: Range<usize>) -> &'s mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "INVARIANT: positions of this slice");
        // SAFETY: inside of the slice, which is ours for its lifetime, and lent once.
        unsafe { slice::from_raw_parts_mut(self.items.add(range.start), range.len()) }
    }
}

impl<T> Sealed for SliceMut<'_, T> {}
impl<T: Send> Exact for SliceMut<'_, T> {}

impl<'s, T: Send> Source for SliceMut<'s, T> {
    type Item = &'s mut T;
    type Leaf<'a>
        = slice::IterMut<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.len
    }

    unsafe fn open(&mut self) {}

    unsafe fn leaf(&self, range: Range<usize>) -> slice::IterMut<'s, T> {
        // SAFETY: the caller's promise.
        unsafe { self.part(range) }.iter_mut()
    }

    unsafe fn discard(&self, _: Range<usize>) {}
}

impl<T> fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceMut").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<'a, T: Sync> IntoSource for &'a [T] {
    type Source = Slice<'a, T>;
    type Item = &'a T;

    fn into_source(self) -> Slice<'a, T> {
        Slice(self)
    }
}

impl<'a, T: Sync> IntoSource for &'a Vec<T> {
    type Source = Slice<'a, T>;
    type Item = &'a T;

    fn into_source(self) -> Slice<'a, T> {
        Slice(self)
    }
}

impl<'a, T: Sync, const N: usize> IntoSource for &'a [T; N] {
    type Source = Slice<'a, T>;
    type Item = &'a T;

    fn into_source(self) -> Slice<'a, T> {
        Slice(self)
    }
}

impl<'a, T: Send> IntoSource for &'a mut [T] {
    type Source = SliceMut<'a, T>;
    type Item = &'a mut T;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<'a, T: Send> IntoSource for &'a mut Vec<T> {
    type Source = SliceMut<'a, T>;
    type Item = &'a mut T;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<'a, T: Send, const N: usize> IntoSource for &'a mut [T; N] {
    type Source = SliceMut<'a, T>;
    type Item = &'a mut T;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}
