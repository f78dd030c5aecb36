//! Futures in fibers and threads, fibers in futures, and channels that can be awaited.

#[path = "../common/mod.rs"]
mod common;

mod block_on;
mod chan;
mod join;
mod observed;
mod oneshot;
mod tools;
