//! rayon's parallel iterators on the fibers of [sisal].
//!
//! [`on_fibers`](OnFibers::on_fibers) stands in a chain of rayon's iterators, between those that know the places of their items and all
//! others, and from there on the chain runs on the workers of the caller's runtime, by [`sisal::par::join`]. rayon's own pool is not used,
//! and never starts. Closures may wait, for locks, channels or sockets, as everywhere in sisal.
//!
//! ```
//! use rayon::prelude::*;
//! use sisal_rayon::OnFibers;
//!
//! sisal::run(|| {
//!     let (prices, amounts) = ([3, 5, 2], [10, 0, 7]);
//!     let bills: Vec<(usize, i32)> = prices
//!         .par_iter()
//!         .zip(&amounts)
//!         .enumerate()
//!         .on_fibers()
//!         .map(|(customer, (price, amount))| (customer, price * amount))
//!         .filter(|(_, bill)| *bill > 0)
//!         .collect();
//!     assert_eq!(bills, [(0, 30), (2, 14)]);
//! });
//! ```
//!
//! Everything that rayon has for iterators after that works: `map`, `filter`, `fold`, `reduce`, `find_first`, `sum`, and collecting, in order,
//! also of `Result`s:
//!
//! ```
//! use rayon::prelude::*;
//! use sisal_rayon::OnFibers;
//!
//! sisal::run(|| {
//!     let words = ["7", "11", "x"];
//!     let numbers: Result<Vec<u32>, _> = words.par_iter().on_fibers().map(|word| word.parse::<u32>()).collect();
//!     assert!(numbers.is_err());
//! });
//! ```
//!
//! # How it is divided
//! As loops of [`sisal::par`] are: by [`Pace`](sisal::par::Pace), so that pieces take some microseconds each. If the iterator says so,
//! by [`with_max_len`](rayon::iter::IndexedParallelIterator::with_max_len) or
//! [`with_min_len`](rayon::iter::IndexedParallelIterator::with_min_len), that counts. On a thread outside of a runtime it runs in the
//! [default runtime](sisal::Runtime::install_default), or else on the thread.
//!
//! # Limits
//! - Ranges of 64-bit numbers are not indexed in rayon, and so are none here: `(0..n).into_par_iter()` of `usize` or `u32` is.
//! - It comes after `zip`, `enumerate`, `chunks`, `rev` and all else that needs to know places, and before what does not:
//!
//!   ```compile_fail,E0277
//!   use rayon::prelude::*;
//!   use sisal_rayon::OnFibers;
//!   let late = (0..10).into_par_iter().filter(|n| n % 2 == 0).on_fibers();
//!   ```
//!
//!   ```compile_fail,E0599
//!   use rayon::prelude::*;
//!   use sisal_rayon::OnFibers;
//!   let early = (0..10).into_par_iter().on_fibers().enumerate();
//!   ```
//!
//! - Sources without places, such as `par_bridge`, hash maps and `par_split`, are collected into a vector first.
//! - What is parallel inside of a closure, or comes out of one, as in `flat_map` and `flatten`, needs an `on_fibers` of its own, or runs in
//!   rayon's pool. `flat_map_iter` and `flatten_iter` take what is not parallel. The same is true for `par_sort` and what else is no iterator:
//!   see [`sisal::par::sort`](fn@sisal::par::sort).
//! - A closure that calls into rayon's pool blocks its worker.
#![forbid(unsafe_code)]

mod drive;

use rayon::iter::IndexedParallelIterator;

pub use self::drive::FiberIter;

/// [`on_fibers`](Self::on_fibers), for rayon's iterators.
pub trait OnFibers: IndexedParallelIterator {
    /// From here on the chain runs on fibers, by sisal's forks. See the [crate].
    ///
    /// ```
    /// use rayon::prelude::*;
    /// use sisal_rayon::OnFibers;
    ///
    /// let sum: u32 = sisal::run(|| (0..1_000u32).into_par_iter().on_fibers().map(|n| n % 7).sum());
    /// assert_eq!(sum, 2_997);
    /// ```
    fn on_fibers(self) -> FiberIter<Self> {
        FiberIter::new(self)
    }
}

impl<I: IndexedParallelIterator> OnFibers for I {}
