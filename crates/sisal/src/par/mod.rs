//! Work of the processor: forks, and loops made of forks.
//!
//! - [`join`](fn@join): two closures, perhaps at the same time.
//! - [`divide`](divide()): work that is divided into short pieces. [`iter`](iter()): loops, which are that.

mod collect;
mod divide;
mod earliest;
mod enter;
mod find;
mod fold;
mod harvest;
mod iter;
mod join;
mod source;

pub use self::collect::Collect;
pub use self::divide::{Piece, divide};
pub use self::iter::{Par, iter};
pub use self::join::join;
pub use self::source::chunks::{Chunks, ChunksMut};
pub use self::source::each::{Filter, FilterMap, FlatMap, Map};
pub use self::source::owned::Owned;
pub use self::source::pairs::{Enumerate, Zip};
pub use self::source::range::Numbers;
pub use self::source::slice::{Slice, SliceMut};
pub use self::source::{Exact, IntoSource, Source};
