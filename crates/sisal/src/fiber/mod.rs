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
#[cfg_attr(modelled, path = "who_model.rs")]
pub(crate) mod who;

#[cfg(not(modelled))]
pub(crate) mod body;
#[cfg(not(modelled))]
pub(crate) mod current;
#[cfg(not(modelled))]
pub(crate) mod flags;
#[cfg(not(modelled))]
pub(crate) mod header;
#[cfg(not(modelled))]
pub(crate) mod info;
#[cfg(not(modelled))]
pub(crate) mod job;
#[cfg(not(modelled))]
pub(crate) mod local;
#[cfg(not(modelled))]
pub(crate) mod panic_hook;
#[cfg(not(modelled))]
pub(crate) mod pool;
#[cfg(not(modelled))]
mod quarry;
#[cfg(not(modelled))]
mod shelves;
#[cfg(not(modelled))]
mod slab;
#[cfg(not(modelled))]
#[cfg_attr(not(feature = "tracing"), path = "no_spans.rs")]
pub(crate) mod spans;
#[cfg(not(modelled))]
pub(crate) mod unseen;

#[cfg(not(modelled))]
pub use self::{
    current::{current, in_fiber},
    info::Fiber,
    local::LocalKey,
};
pub use crate::prim::id::FiberId;
