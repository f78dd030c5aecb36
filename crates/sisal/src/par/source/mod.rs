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
pub trait Exact: Source {}

/// What can be made a [`Source`].
pub trait IntoSource {
    /// What it becomes.
    type Source: Source<Item = Self::Item>;
    /// What comes from it.
    type Item;

    /// Makes it one.
    fn into_source(self) -> Self::Source;
}

/// Sources are made here only: unsafe code relies on what they do.
pub trait Sealed {}
