//! Items in pairs: with those of another source, or with their numbers.
#![allow(unsafe_code, reason = "the promises are those of the sources below")]

use super::{Exact, Sealed, Source};
use std::iter;
use std::mem;
use std::ops::Range;

/// Two sources side by side, as long as the shorter.
///
/// ```
/// use sisal::par::{self, Numbers, Par, Zip};
/// let pairs: Par<Zip<Numbers<u32>, Numbers<u32>>> = par::iter(0..3u32).zip(10..20u32);
/// assert_eq!(pairs.collect::<Vec<_>>(), [(0, 10), (1, 11), (2, 12)]);
/// ```
#[derive(Debug)]
pub struct Zip<A, B> {
    pub(in crate::par) a: A,
    pub(in crate::par) b: B,
}

impl<A, B> Sealed for Zip<A, B> {}
impl<A: Exact, B: Exact> Exact for Zip<A, B> {}

impl<A: Exact, B: Exact> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Leaf<'a>
        = iter::Zip<A::Leaf<'a>, B::Leaf<'a>>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.a.positions().min(self.b.positions())
    }

    unsafe fn open(&mut self) {
        let len = self.positions();
        // SAFETY: the caller's promise.
        unsafe { self.a.open() };
        // If the other can't be opened, since one of its items panics when it is dropped, these go as well.
        let opened = Unwanted(&self.a, 0..self.a.positions());
        // SAFETY: as above.
        unsafe { self.b.open() };
        mem::forget(opened);
        let Zip { a, b } = &*self;
        // If the loop does not begin, since one without a partner panics when it is dropped, the others go as well.
        let wanted = (Unwanted(a, 0..len), Unwanted(b, 0..len));
        drop((Unwanted(a, len..a.positions()), Unwanted(b, len..b.positions())));
        mem::forget(wanted);
    }

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { iter::zip(self.a.leaf(range.clone()), self.b.leaf(range)) }
    }

    unsafe fn discard(&self, range: Range<usize>) {
        drop((Unwanted(&self.a, range.clone()), Unwanted(&self.b, range)));
    }
}

/// Positions that nobody asks for: their items are dropped with it, also if others panic when they are.
///
/// INVARIANT: the source is open, and nobody has asked for these.
struct Unwanted<'a, S: Source>(&'a S, Range<usize>);

impl<S: Source> Drop for Unwanted<'_, S> {
    fn drop(&mut self) {
        // SAFETY: the invariant.
        unsafe { self.0.discard(self.1.clone()) };
    }
}

/// The items of a source, with their numbers.
///
/// ```
/// use sisal::par::{self, Enumerate, Par, Slice};
/// let numbered: Par<Enumerate<Slice<'_, char>>> = par::iter(&['a', 'b']).enumerate();
/// assert_eq!(numbered.collect::<Vec<_>>(), [(0, &'a'), (1, &'b')]);
/// ```
#[derive(Debug)]
pub struct Enumerate<S> {
    pub(in crate::par) source: S,
}

impl<S> Sealed for Enumerate<S> {}
impl<S: Exact> Exact for Enumerate<S> {}

impl<S: Exact> Source for Enumerate<S> {
    type Item = (usize, S::Item);
    type Leaf<'a>
        = iter::Zip<Range<usize>, S::Leaf<'a>>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.source.positions()
    }

    unsafe fn open(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.source.open() };
    }

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        iter::zip(range.clone(), unsafe { self.source.leaf(range) })
    }

    unsafe fn discard(&self, range: Range<usize>) {
        // SAFETY: the caller's promise.
        unsafe { self.source.discard(range) };
    }
}
