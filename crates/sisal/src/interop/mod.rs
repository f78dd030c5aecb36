//! Futures in fibers, and fibers in futures.
//!
//! - [`block_on`]: waiting for a future, in a fiber or a thread; [`signal`]: the waker of such a wait.
//! - [`spawn`]: a fiber for a future.
//! - Behind features: `futures_io`, `tokio`, `hyper`: the traits and the runtimes of others.
//!
//! That handles and channels can be awaited stands with them, in `join` and `chan`.

#[cfg(not(modelled))]
mod block_on;
#[cfg(all(not(modelled), feature = "futures"))]
mod futures_io;
#[cfg(all(not(modelled), feature = "hyper"))]
pub mod hyper;
mod signal;
#[cfg(not(modelled))]
mod spawn;
#[cfg(all(not(modelled), feature = "tokio"))]
pub mod tokio;

#[cfg(not(modelled))]
pub use self::block_on::{block_on, try_block_on};
#[cfg(not(modelled))]
pub use self::spawn::{spawn_future, spawn_future_local};
