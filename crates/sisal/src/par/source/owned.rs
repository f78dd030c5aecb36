//! Vectors and arrays: items by value.
#![allow(unsafe_code, reason = "items are moved out by position, each once")]

use super::{Exact, IntoSource, Sealed, Source};
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ops::Range;
use std::ptr;
use std::slice;

/// The items of a vector, by value.
///
/// ```
/// use sisal::par::{self, Owned, Par};
/// let words: Par<Owned<String>> = par::iter(vec![String::from("plain"), String::from("code")]);
/// assert_eq!(words.map(String::into_bytes).flatten().count(), 9);
/// ```
pub struct Owned<T> {
    /// Empty once the source is open: then the items belong to whoever asks for them, and the vector is their memory only.
    vec: Vec<T>,
    items: *mut T,
    len: usize,
}

// SAFETY: as the vector.
unsafe impl<T: Send> Send for Owned<T> {}
// SAFETY: each item goes to one thread: to whoever asks for its position.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> Sealed for Owned<T> {}
impl<T: Send> Exact for Owned<T> {}

impl<T> Owned<T> {
    /// # Safety
    /// As for [`Source::leaf`].
    unsafe fn part(&self, range: Range<usize>) -> *mut [T] {
        debug_assert!(range.end <= self.len, "INVARIANT: positions of this vector");
        // SAFETY: inside of the vector's memory.
        ptr::slice_from_raw_parts_mut(unsafe { self.items.add(range.start) }, range.len())
    }
}

impl<T: Send> Source for Owned<T> {
    type Item = T;
    type Leaf<'a>
        = Moved<'a, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.len
    }

    unsafe fn open(&mut self) {
        // SAFETY: the items belong to those who ask for them now.
        unsafe { self.vec.set_len(0) };
        self.items = self.vec.as_mut_ptr();
    }

    unsafe fn leaf(&self, range: Range<usize>) -> Moved<'_, T> {
        // SAFETY: they are there, and the caller's alone. The layouts are the same.
        let items = unsafe { &mut *(self.part(range) as *mut [ManuallyDrop<T>]) };
        Moved { items: items.iter_mut() }
    }

    unsafe fn discard(&self, range: Range<usize>) {
        // SAFETY: they are there, and the caller's alone.
        unsafe { ptr::drop_in_place(self.part(range)) };
    }
}

/// Items on their way out of a vector.
pub struct Moved<'a, T> {
    /// INVARIANT: those that have not been taken yet are there.
    items: slice::IterMut<'a, ManuallyDrop<T>>,
}

impl<T> Iterator for Moved<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: it is there, and nobody sees it again.
        self.items.next().map(|item| unsafe { ManuallyDrop::take(item) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T> ExactSizeIterator for Moved<'_, T> {}

impl<T> Drop for Moved<'_, T> {
    fn drop(&mut self) {
        let left = mem::take(&mut self.items).into_slice();
        // SAFETY: they are there, and nobody sees them again.
        unsafe { ptr::drop_in_place(ptr::from_mut(left) as *mut [T]) };
    }
}

impl<T> fmt::Debug for Moved<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moved").field("left", &self.items.len()).finish()
    }
}

impl<T> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T: Send> IntoSource for Vec<T> {
    type Source = Owned<T>;
    type Item = T;

    fn into_source(self) -> Owned<T> {
        Owned { items: ptr::null_mut(), len: self.len(), vec: self }
    }
}

impl<T: Send, const N: usize> IntoSource for [T; N] {
    type Source = Owned<T>;
    type Item = T;

    fn into_source(self) -> Owned<T> {
        Vec::from(self).into_source()
    }
}
