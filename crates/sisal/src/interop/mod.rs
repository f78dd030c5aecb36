//! Futures in fibers, and fibers in futures.
//!
//! - [`block_on`]: waiting for a future, in a fiber or a thread; [`signal`]: the waker of such a wait.
//! - [`spawn`]: a fiber for a future.
//!
//! That handles and channels can be awaited stands with them, in `join` and `chan`.

mod block_on;
mod signal;
#[cfg(not(loom))]
mod spawn;

pub use self::block_on::{block_on, try_block_on};
#[cfg(not(loom))]
pub use self::spawn::{spawn_future, spawn_future_local};
