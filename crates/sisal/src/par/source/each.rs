//! What is done to each item of a source.
#![allow(unsafe_code, reason = "the promises are those of the source below")]

use super::{Exact, Sealed, Source};
use std::fmt;
use std::iter;
use std::ops::Range;

/// What comes from a source, through a function.
///
/// ```
/// use sisal::par::{self, Map, Numbers, Par};
/// let doubled: Par<Map<Numbers<u32>, _>> = par::iter(0..3u32).map(|n| n * 2);
/// assert_eq!(doubled.collect::<Vec<_>>(), [0, 2, 4]);
/// ```
pub struct Map<S, F> {
    pub(in crate::par) source: S,
    pub(in crate::par) f: F,
}

/// What comes from a source, as far as it is wanted.
///
/// ```
/// use sisal::par::{self, Filter, Numbers, Par};
/// let odd: Par<Filter<Numbers<u32>, _>> = par::iter(0..6u32).filter(|n| n % 2 == 1);
/// assert_eq!(odd.collect::<Vec<_>>(), [1, 3, 5]);
/// ```
pub struct Filter<S, F> {
    pub(in crate::par) source: S,
    pub(in crate::par) f: F,
}

/// What comes from a source, through a function that may keep it.
///
/// ```
/// use sisal::par::{self, FilterMap, Numbers, Par};
/// let halves: Par<FilterMap<Numbers<u32>, _>> = par::iter(0..6u32).filter_map(|n| (n % 2 == 0).then_some(n / 2));
/// assert_eq!(halves.collect::<Vec<_>>(), [0, 1, 2]);
/// ```
pub struct FilterMap<S, F> {
    pub(in crate::par) source: S,
    pub(in crate::par) f: F,
}

/// Several items for each one of a source.
///
/// ```
/// use sisal::par::{self, FlatMap, Numbers, Par};
/// let counted: Par<FlatMap<Numbers<u32>, _>> = par::iter(0..4u32).flat_map(|n| 0..n);
/// assert_eq!(counted.collect::<Vec<_>>(), [0, 0, 1, 0, 1, 2]);
/// ```
pub struct FlatMap<S, F> {
    pub(in crate::par) source: S,
    pub(in crate::par) f: F,
}

/// The items of each item of a source.
///
/// ```
/// use sisal::par::{self, Flatten, Owned, Par};
/// let all: Par<Flatten<Owned<Vec<u32>>>> = par::iter(vec![vec![1, 2], vec![3]]).flatten();
/// assert_eq!(all.sum::<u32>(), 6);
/// ```
#[derive(Debug)]
pub struct Flatten<S> {
    pub(in crate::par) source: S,
}

/// The methods of a source whose positions are those of the one below.
macro_rules! same_positions {
    () => {
        fn positions(&self) -> usize {
            self.source.positions()
        }

        unsafe fn open(&mut self) {
            // SAFETY: the caller's promise.
            unsafe { self.source.open() };
        }

        unsafe fn discard(&self, range: Range<usize>) {
            // SAFETY: the caller's promise.
            unsafe { self.source.discard(range) };
        }
    };
}

impl<S: Exact, F: Fn(S::Item) -> R + Send + Sync, R> Exact for Map<S, F> {}

impl<S: Source, F: Fn(S::Item) -> R + Send + Sync, R> Source for Map<S, F> {
    type Item = R;
    type Leaf<'a>
        = iter::Map<S::Leaf<'a>, &'a F>
    where
        Self: 'a;
    const IS_EXACT: bool = S::IS_EXACT;

    same_positions!();

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { self.source.leaf(range) }.map(&self.f)
    }
}

impl<S: Source, F: Fn(&S::Item) -> bool + Send + Sync> Source for Filter<S, F> {
    type Item = S::Item;
    type Leaf<'a>
        = iter::Filter<S::Leaf<'a>, &'a F>
    where
        Self: 'a;
    const IS_EXACT: bool = false;

    same_positions!();

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { self.source.leaf(range) }.filter(&self.f)
    }
}

impl<S: Source, F: Fn(S::Item) -> Option<R> + Send + Sync, R> Source for FilterMap<S, F> {
    type Item = R;
    type Leaf<'a>
        = iter::FilterMap<S::Leaf<'a>, &'a F>
    where
        Self: 'a;
    const IS_EXACT: bool = false;

    same_positions!();

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { self.source.leaf(range) }.filter_map(&self.f)
    }
}

impl<S: Source, F: Fn(S::Item) -> R + Send + Sync, R: IntoIterator> Source for FlatMap<S, F> {
    type Item = R::Item;
    type Leaf<'a>
        = iter::FlatMap<S::Leaf<'a>, R, &'a F>
    where
        Self: 'a;
    const IS_EXACT: bool = false;

    same_positions!();

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { self.source.leaf(range) }.flat_map(&self.f)
    }
}

impl<S> Sealed for Flatten<S> {}

impl<S: Source<Item: IntoIterator>> Source for Flatten<S> {
    type Item = <S::Item as IntoIterator>::Item;
    type Leaf<'a>
        = iter::Flatten<S::Leaf<'a>>
    where
        Self: 'a;
    const IS_EXACT: bool = false;

    same_positions!();

    unsafe fn leaf(&self, range: Range<usize>) -> Self::Leaf<'_> {
        // SAFETY: the caller's promise.
        unsafe { self.source.leaf(range) }.flatten()
    }
}

macro_rules! sealed {
    ($($name:ident),*) => {$(
        impl<S, F> Sealed for $name<S, F> {}

        impl<S: fmt::Debug, F> fmt::Debug for $name<S, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("source", &self.source).finish_non_exhaustive()
            }
        }
    )*};
}

sealed!(Map, Filter, FilterMap, FlatMap);
