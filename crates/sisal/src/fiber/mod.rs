//! Fibers: who is running, and what belongs to it.
//!
//! Inside, this module holds the fiber itself: its control block, its state, its end, and the record by which it waits.
//! It knows no worker: who runs a fiber, and where, is the scheduler's business.

pub(crate) mod end;
pub(crate) mod state;
pub(crate) mod waiter;

#[cfg(not(loom))]
pub(crate) mod body;
#[cfg(not(loom))]
pub(crate) mod current;
#[cfg(not(loom))]
pub(crate) mod header;
#[cfg(not(loom))]
pub(crate) mod info;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(not(loom))]
pub(crate) mod panic_hook;
#[cfg(not(loom))]
pub(crate) mod pool;

#[cfg(not(loom))]
pub use self::{
    current::{current, in_fiber},
    info::Fiber,
    local::LocalKey,
};
pub use crate::prim::id::FiberId;
