//! Futures in fibers, and fibers in futures.
//!
//! - [`block_on`]: waiting for a future, in a fiber or a thread; [`signal`]: the waker of such a wait.
//! - [`spawn`]: a fiber for a future.
//! - Behind features: `futures_io`, `tokio`, `hyper`: the traits and the runtimes of others.
//!
//! That handles and channels can be awaited stands with them, in `join` and `chan`.

mod block_on;
#[cfg(all(not(loom), feature = "futures"))]
mod futures_io;
#[cfg(all(not(loom), feature = "hyper"))]
pub mod hyper;
mod signal;
#[cfg(not(loom))]
mod spawn;
#[cfg(all(not(loom), feature = "tokio"))]
pub mod tokio;

pub use self::block_on::{block_on, try_block_on};
#[cfg(all(not(loom), feature = "hyper"))]
use self::spawn::spawn_future_in;
#[cfg(not(loom))]
pub use self::spawn::{spawn_future, spawn_future_local};
