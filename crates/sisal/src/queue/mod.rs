//! The queues. They carry pointers and know no fiber.
//!
//! - [`ring`]: a worker's stealable deque.
//! - [`inbox`]: many producers, one consumer, for what must run on one worker.
//! - [`list`]: an intrusive first-in-first-out list in plain memory.
//! - [`chain`]: an intrusive list from whose middle things can be taken.
//! - [`injector`]: a locked list for everybody.
//! - [`timers`]: what is due when.

pub(crate) mod chain;
pub(crate) mod inbox;
pub(crate) mod link;
pub(crate) mod ring;

#[cfg(not(modelled))]
pub(crate) mod injector;
#[cfg(not(modelled))]
pub(crate) mod list;
#[cfg(not(modelled))]
pub(crate) mod timers;
