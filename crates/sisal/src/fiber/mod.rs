//! Fibers: who is running, and what belongs to it.
//!
//! Inside, this module holds the fiber itself: its control block, its state, its end, the record by which it waits, and
//! what ends its waits.
//! It knows no worker: who runs a fiber, and where, is the scheduler's business.

pub(crate) mod ambient;
pub(crate) mod cancel_node;
pub(crate) mod claim_cell;
pub(crate) mod end;
pub(crate) mod poke_word;
pub(crate) mod state;
pub(crate) mod task_record;
pub(crate) mod wait_list;
pub(crate) mod wait_note;
pub(crate) mod waiter;
#[cfg_attr(loom, path = "who_model.rs")]
pub(crate) mod who;

#[cfg(not(loom))]
pub(crate) mod body;
#[cfg(not(loom))]
pub(crate) mod current;
#[cfg(not(loom))]
pub(crate) mod flags;
#[cfg(not(loom))]
pub(crate) mod header;
#[cfg(not(loom))]
pub(crate) mod info;
#[cfg(not(loom))]
pub(crate) mod job;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(not(loom))]
pub(crate) mod panic_hook;
#[cfg(not(loom))]
pub(crate) mod pool;
#[cfg(not(loom))]
#[cfg_attr(not(feature = "tracing"), path = "no_spans.rs")]
pub(crate) mod spans;
#[cfg(not(loom))]
pub(crate) mod unseen;

#[cfg(not(loom))]
pub use self::{
    current::{current, in_fiber},
    info::Fiber,
    local::LocalKey,
};
pub use crate::prim::id::FiberId;
