//! Work of the processor: forks, and loops made of forks.
//!
//! - [`join`](fn@join): two closures, perhaps at the same time.

mod join;

pub use self::join::join;
