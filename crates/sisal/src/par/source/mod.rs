//! What loops go over.
//!
//! - [`slice`], [`chunks`], [`range`], [`owned`]: where items come from. [`each`]: what is done to each. [`pairs`]: sources side by side.
//!
//! A source stays where it is while a loop runs, and is shared by all workers: what is divided is the range of its *positions*. Each
//! position is asked for once: in a leaf, which is an iterator of `std`'s or one like it, or, if the loop ends early by a panic or since it
//! has found what it wants, to be discarded. So items can be moved out of their places without any of them being lost or used twice.
#![allow(unsafe_code, reason = "items are handed out by position, each once")]

pub(super) mod chunks;
pub(super) mod each;
pub(super) mod owned;
pub(super) mod pairs;
pub(super) mod range;
pub(super) mod slice;

use std::ops::Range;

/// What a loop can go over: slices, ranges, vectors, and what is made of them. See [`iter`](super::iter()).
///
/// ```
/// use sisal::par::{self, Par, Source};
/// fn longest<'a, S: Source<Item = &'a str>>(words: Par<S>) -> Option<usize> {
///     words.map(str::len).max()
/// }
/// assert_eq!(longest(par::iter(["plain", "blocking", "code"])), Some(8));
/// ```
pub trait Source: Sized + Send + Sync + Sealed {
    /// What comes from it.
    type Item;

    /// The items of a range of positions.
    #[doc(hidden)]
    type Leaf<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a;

    /// Whether each position has one item.
    #[doc(hidden)]
    const IS_EXACT: bool;

    /// How many positions there are.
    #[doc(hidden)]
    fn positions(&self) -> usize;

    /// The loop begins: from now on items belong to whoever asks for their positions.
    ///
    /// # Safety
    /// It is called once.
    #[doc(hidden)]
    unsafe fn open(&mut self);

    /// # Safety
    /// The source is open. These are positions of it, and none of them has been asked for before.
    #[doc(hidden)]
    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_>;

    /// Drops the items of positions that are not wanted.
    ///
    /// # Safety
    /// As for [`leaf`](Self::leaf).
    #[doc(hidden)]
    unsafe fn discard(&self, range: Range<usize>);
}

/// A source that has one item for each position, so that items can be counted and paired.
///
/// ```
/// use sisal::par::{self, Exact, Par};
/// fn last<S: Exact>(items: &Par<S>) -> Option<usize> {
///     items.len().checked_sub(1)
/// }
/// assert_eq!(last(&par::iter(['a', 'b', 'c']).enumerate()), Some(2));
/// ```
pub trait Exact: Source {}

/// What can be made a [`Source`].
///
/// ```
/// use sisal::par::{self, IntoSource};
/// fn total(numbers: impl IntoSource<Item = u64>) -> u64 {
///     par::iter(numbers).sum()
/// }
/// assert_eq!((total(0..5u64), total(vec![1, 2, 3])), (10, 6));
/// ```
pub trait IntoSource {
    /// What it becomes.
    type Source: Source<Item = Self::Item>;
    /// What comes from it.
    type Item;

    /// Makes it one.
    ///
    /// ```
    /// use sisal::par::{self, IntoSource, Numbers};
    /// let source: Numbers<u32> = (0..5u32).into_source();
    /// // What a loop goes over; a loop itself can be made one again.
    /// assert_eq!(par::iter(par::iter(0..5u32)).count(), 5);
    /// # let _ = source;
    /// ```
    fn into_source(self) -> Self::Source;
}

/// Sources are made here only: unsafe code relies on what they do.
pub trait Sealed {}
