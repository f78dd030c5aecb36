//! Work of the processor: forks, and loops made of forks.
//!
//! - [`join`](fn@join): two closures, perhaps at the same time; [`try_join`], if they may fail; [`join_many`], if there are more.
//! - [`scope`](scope()): any number of closures. [`broadcast`](broadcast()): one, on each worker.
//! - [`iter`](iter()): loops over slices, vectors and ranges, with the methods of [`Par`]. [`Pace`]: for work that is no such loop.
//! - [`sort`](sort()) and its likes.
//!
//! In all of it closures may wait: the worker goes on with other work, and whatever was not started yet is there for others. Nobody who
//! waits runs anything else on its stack, so locks of [`sync`](crate::sync) may be held across all of it. Those of `std` may not: what computes for long gives way
//! to other fibers now and then. What another worker takes is a fiber of its own, with fiber-locals of its own.
//!
//! # What waiting costs
//! That is paid in stacks: whatever waits keeps the one it is on, and whoever goes on with the rest takes another. Work is divided down to
//! leaves, and where bodies wait, each leaf becomes a live stack: 192 KiB of address space, if [nothing else is
//! set](crate::RuntimeBuilder::stack_size), and of memory the pages it has touched, mostly one. As long as no leaf has ended, or if they take
//! long, a loop that is left to itself makes them as short as can be, an item each: ten thousand bodies that wait at once are ten thousand
//! stacks.
//!
//! A [grain](Par::grain) bounds that. A leaf goes through its items one after the other, so at most one of them waits; and with a grain each
//! has at least half as many items, unless there are fewer in all. So `n` items with a grain of `g` are `2 * n / g` leaves at most, and as
//! many stacks; nor do more bodies wait at the same time. A [semaphore](crate::sync::Semaphore) saves no stacks here: whoever waits for it
//! has one.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! sisal::run(|| {
//!     let (waiting, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
//!     // Leaves of 32 items at most, so of 16 to 32.
//!     sisal::par::iter(0..1_000).grain(32).for_each(|_| {
//!         most.fetch_max(waiting.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
//!         sisal::yield_now();
//!         waiting.fetch_sub(1, Ordering::Relaxed);
//!     });
//!     assert!(most.into_inner() <= 2 * 1_000 / 32);
//! });
//! ```

// Inside:
// - `join`: the fork. `pace`: how far work is divided. `harvest`: a loop, which is a source that is divided.
// - `source`: what loops go over. `iter`: loops before they run. `fold`, `find`, `collect`, `scan`: what runs them.
// - `enter`: from threads into the default runtime.

mod broadcast;
mod collect;
mod earliest;
mod enter;
mod find;
mod fold;
mod harvest;
mod iter;
mod join;
mod many;
mod pace;
mod scan;
mod scope;
mod sort;
mod source;

pub use self::broadcast::broadcast;
pub use self::collect::Collect;
pub use self::iter::{Par, iter};
pub use self::join::join;
pub use self::many::{Closures, join_many, try_join};
pub use self::pace::Pace;
pub use self::scope::{Scope, scope};
pub use self::sort::{
    sort, sort_by, sort_by_cached_key, sort_by_key, sort_unstable, sort_unstable_by, sort_unstable_by_key,
};
pub use self::source::chunks::{Chunks, ChunksMut};
pub use self::source::each::{Filter, FilterMap, FlatMap, Flatten, Map};
pub use self::source::owned::Owned;
pub use self::source::pairs::{Enumerate, Zip};
pub use self::source::range::Numbers;
pub use self::source::slice::{Slice, SliceMut};
pub use self::source::{Exact, IntoSource, Source};
