//! Loops, before they run: a source, and what is to be done to its items.

use super::source::chunks::{Chunks, ChunksMut};
use super::source::each::{Filter, FilterMap, FlatMap, Flatten, Map};
use super::source::pairs::{Enumerate, Zip};
use super::source::slice::{Slice, SliceMut};
use super::source::{Exact, IntoSource, Source};
use std::num::NonZero;

/// A loop over the items of a source. Nothing happens until one of the methods is called that run it, as with iterators.
///
/// See [`iter`](super::iter()).
///
/// ```
/// let squares: sisal::par::Par<_> = sisal::par::iter(0..4u32).map(|n| n * n);
/// // Nothing has happened yet.
/// assert_eq!(squares.sum::<u32>(), 14);
/// ```
#[derive(Debug)]
#[must_use = "a loop does nothing until it is run"]
pub struct Par<S> {
    pub(super) source: S,
    pub(super) grain: Option<usize>,
}

/// A loop that runs on all workers that have nothing else to do.
///
/// It goes over a slice (items are `&T`), a mutable slice (`&mut T`), a vector or an array by value (`T`), or a range of numbers. What is in
/// another collection is collected into a vector first.
///
/// Small loops cost next to nothing for being parallel (a few items of a loop not seen before may be offered to workers that have nothing to do), and big ones are divided as others ask for a part: there is no grain to be tuned, though
/// one can be [given](Par::grain). Results are in the order of the items, whoever computed them; so a function that merges
/// results need not be commutative, but has to be associative.
///
/// Closures may wait, for locks, channels or sockets: the worker goes on with other work, and others may have the rest of the loop. Each leaf
/// of it that waits keeps its stack, and leaves that wait are made as short as can be: a million bodies that wait at once are a million stacks.
/// A [grain](Par::grain) bounds that: see [what waiting costs](super#what-waiting-costs). Bodies that wait for *each other* must not be done in
/// one go: that needs a grain of 1, and a stack for each.
///
/// If a closure panics, what its part of the loop had not come to is abandoned, and those items are dropped. Parts that others have taken
/// are gone through all the same; then the panic goes on in the caller.
///
/// On a thread outside of a runtime the loop runs in the [default runtime](crate::Runtime::install_default), or else on the thread. To get into
/// the runtime costs as much as to spawn a fiber and to wait for it, some microseconds: what is shorter is better done by an iterator there.
///
/// ```
/// use sisal::par;
///
/// sisal::run(|| {
///     let words = ["plain", "blocking", "code"];
///     let lengths: Vec<usize> = par::iter(&words).map(|word| word.len()).collect();
///     assert_eq!(lengths, [5, 8, 4]);
///
///     let mut numbers: Vec<u64> = (0..1_000).collect();
///     par::iter(&mut numbers).for_each(|number| *number *= 2);
///     assert_eq!(par::iter(&numbers).sum::<u64>(), 999_000);
///
///     let odd = par::iter(0..1_000u32).filter(|number| number % 2 == 1).count();
///     assert_eq!(odd, 500);
/// });
/// ```
pub fn iter<I: IntoSource>(source: I) -> Par<I::Source> {
    Par { source: source.into_source(), grain: None }
}

impl<S: Source> IntoSource for Par<S> {
    type Source = S;
    type Item = S::Item;

    fn into_source(self) -> S {
        self.source
    }
}

impl<S> Par<S> {
    /// Goes through at most so many items in one go; 0 is taken for 1.
    ///
    /// Mostly that is better left to the loop, which measures. If bodies wait, the grain says how many stacks there may be: each leaf has one,
    /// and for every `items` there are two leaves at most (see [what waiting costs](super#what-waiting-costs)). With a grain of 1 all
    /// bodies can wait for each other, each on a stack of its own:
    ///
    /// ```
    /// sisal::run(|| {
    ///     let barrier = sisal::sync::Barrier::new(100);
    ///     sisal::par::iter(0..100).grain(1).for_each(|_| _ = barrier.wait());
    /// });
    /// ```
    pub fn grain(mut self, items: usize) -> Par<S> {
        self.grain = Some(items.max(1));
        self
    }

    fn with<T>(self, f: impl FnOnce(S) -> T) -> Par<T> {
        Par { source: f(self.source), grain: self.grain }
    }
}

impl<S: Source> Par<S> {
    /// Puts each item through `f`.
    ///
    /// ```
    /// let squares: Vec<u32> = sisal::par::iter(0..5u32).map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9, 16]);
    /// ```
    pub fn map<R, F: Fn(S::Item) -> R + Send + Sync>(self, f: F) -> Par<Map<S, F>> {
        self.with(|source| Map { source, f })
    }

    /// Keeps the items for which `f` is true.
    ///
    /// ```
    /// let even: Vec<u32> = sisal::par::iter(0..6u32).filter(|n| n % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4]);
    /// ```
    pub fn filter<F: Fn(&S::Item) -> bool + Send + Sync>(self, f: F) -> Par<Filter<S, F>> {
        self.with(|source| Filter { source, f })
    }

    /// Puts each item through `f`, and keeps what is there.
    ///
    /// ```
    /// let numbers: Vec<u32> = sisal::par::iter(["1", "two", "3"]).filter_map(|s| s.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    pub fn filter_map<R, F: Fn(S::Item) -> Option<R> + Send + Sync>(self, f: F) -> Par<FilterMap<S, F>> {
        self.with(|source| FilterMap { source, f })
    }

    /// Puts each item through `f`, and goes on with the items of what comes out. Those of one are not divided.
    ///
    /// ```
    /// let letters: String = sisal::par::iter(["ab", "c"]).flat_map(str::chars).collect();
    /// assert_eq!(letters, "abc");
    /// ```
    pub fn flat_map<R: IntoIterator, F: Fn(S::Item) -> R + Send + Sync>(self, f: F) -> Par<FlatMap<S, F>> {
        self.with(|source| FlatMap { source, f })
    }

    /// Goes on with the items of each item. Those of one are not divided.
    ///
    /// ```
    /// let all: Vec<u32> = sisal::par::iter(vec![vec![1, 2], vec![], vec![3]]).flatten().collect();
    /// assert_eq!(all, [1, 2, 3]);
    /// ```
    pub fn flatten(self) -> Par<Flatten<S>>
    where
        S::Item: IntoIterator,
    {
        self.with(|source| Flatten { source })
    }
}

impl<S: Exact> Par<S> {
    /// How many items there are.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(&[1, 2, 3]).zip(0..10).len(), 3);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.source.positions()
    }

    /// Whether there are no items.
    ///
    /// ```
    /// assert!(sisal::par::iter(0..0u32).is_empty());
    /// assert!(!sisal::par::iter(&[1, 2, 3]).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pairs of these items and those of another source, as long as there are both.
    ///
    /// ```
    /// let (a, b) = ([1, 2, 3], [4, 5, 6]);
    /// let product: i32 = sisal::par::iter(&a).zip(&b).map(|(a, b)| a * b).sum();
    /// assert_eq!(product, 32);
    /// ```
    ///
    /// What was filtered has no known places, and can't be paired:
    ///
    /// ```compile_fail,E0277
    /// let odd = sisal::par::iter(0..6u32).filter(|n| n % 2 == 1);
    /// sisal::par::iter(0..3u32).zip(odd);
    /// ```
    pub fn zip<I: IntoSource<Source: Exact>>(self, other: I) -> Par<Zip<S, I::Source>> {
        self.with(|a| Zip { a, b: other.into_source() })
    }

    /// Pairs of a number, from 0 on, and an item.
    ///
    /// ```
    /// let numbered: Vec<(usize, char)> = sisal::par::iter(['a', 'b']).enumerate().collect();
    /// assert_eq!(numbered, [(0, 'a'), (1, 'b')]);
    /// ```
    pub fn enumerate(self) -> Par<Enumerate<S>> {
        self.with(|source| Enumerate { source })
    }
}

impl<'a, T: Sync> Par<Slice<'a, T>> {
    /// Parts of the slice with `size` items, the last one with what is left. A `size` of 0 is taken for 1.
    ///
    /// ```
    /// let sums: Vec<u32> = sisal::par::iter(&[1, 2, 3, 4, 5]).chunks(2).map(|chunk| chunk.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    pub fn chunks(self, size: usize) -> Par<Chunks<'a, T>> {
        self.with(|Slice(items)| Chunks { items, size: NonZero::new(size).unwrap_or(NonZero::<usize>::MIN) })
    }
}

impl<'a, T: Send> Par<SliceMut<'a, T>> {
    /// Parts of the slice with `size` items, the last one with what is left. A `size` of 0 is taken for 1.
    ///
    /// ```
    /// let mut pixels = [0u8; 12];
    /// sisal::par::iter(&mut pixels).chunks(4).enumerate().for_each(|(row, pixels)| pixels.fill(row as u8));
    /// assert_eq!(pixels, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    /// ```
    pub fn chunks(self, size: usize) -> Par<ChunksMut<'a, T>> {
        self.with(|items| ChunksMut { items, size: NonZero::new(size).unwrap_or(NonZero::<usize>::MIN) })
    }
}
