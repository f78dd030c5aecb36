//! Waiting for the end of fibers.
//!
//! - [`handle`]: the handle of one fiber; [`shared`]: one for any number of waiters.
//! - [`several`]: all of several fibers, the first of them, the first that succeeds.
//! - [`future`]: waiting as a task, in any executor.
//! - [`error`]: how a fiber can end without a result.

pub(crate) mod error;
mod future;
pub(crate) mod handle;
pub(crate) mod several;
pub(crate) mod shared;

pub use self::error::{JoinError, Lost, Panic, RaceError};
pub use self::handle::JoinHandle;
pub use self::several::{join_all, join_any, race};
pub use self::shared::SharedHandle;
