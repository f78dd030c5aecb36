//! Work of the processor: forks, and loops made of forks.
//!
//! - [`join`](fn@join): two closures, perhaps at the same time; [`try_join`], if they may fail; [`join_many`], if there are more.
//! - [`scope`](scope()): any number of closures. [`broadcast`](broadcast()): one, on each worker.
//! - [`iter`](iter()): loops over slices, vectors and ranges, with the methods of [`Par`]. [`Pace`]: for work that is no such loop.
//! - [`sort`](sort()) and its likes.
//!
//! In all of it closures may wait: the worker goes on with other work, and whatever was not started yet is there for others. Nobody who
//! waits runs anything else on its stack, so locks may be held across all of it.

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
