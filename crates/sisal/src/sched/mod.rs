//! The scheduler: workers, where they look for fibers, how they sleep, and how all of it ends.
//!
//! - [`worker`]: what belongs to one worker; [`remote`]: the part of it that others reach.
//! - [`dispatch`]: calling a fresh fiber, leaving a parked one, resuming a ready one; [`fuel`]: when one gives way that need not wait.
//! - [`search`]: in which order a worker looks for work; [`rest`]: what it does when there is none; [`idle`]: falling asleep and waking
//!   (see `README.md`).
//! - [`place`]: where a spawned fiber is queued; [`unpark`]: where a woken one is;
//!   [`poke`]: how its worker hears of a cancellation; [`alarm`]: and of a time that has come; [`driver`]: and from outside.
//! - [`stacks`]: a worker's few hot stacks; [`starve`]: a worker without one; [`presence`]: the fibers that live on it, for those who look,
//!   [`fresh`]: and those that have not started; [`calls`]: what is said to a worker between two fibers.
//! - [`jobs`]: the halves of forks that others may run; [`hogs`]: fibers that compute for long.
//! - [`shared`]: what all workers have in common; [`limit`]: `max_fibers`; [`shutdown`]: the end.
//! - [`stillness`]: noticing that nothing will ever run again, and that some wait for one another.
//! - [`monitor`]: the thread that watches workers; [`blockers`]: what it says of those that block them; [`overflow`]: what is said when
//!   a stack ends.
//! - [`threads`]: how workers start and go; [`grow`]: code on a bigger stack; [`counts`]: what has been done,
//!   [`latency`]: and how soon.
//! - [`events`]: what is recorded while somebody traces, [`names`]: and the names to it; [`record`]: what a worker records.

pub(crate) mod idle;

#[cfg(not(loom))]
pub(crate) mod alarm;
#[cfg(not(loom))]
pub(crate) mod blockers;
#[cfg(not(loom))]
pub(crate) mod calls;
#[cfg(not(loom))]
pub(crate) mod counts;
#[cfg(not(loom))]
pub(crate) mod dispatch;
#[cfg(not(loom))]
pub(crate) mod driver;
#[cfg(not(loom))]
pub(crate) mod events;
#[cfg(not(loom))]
pub(crate) mod fresh;
#[cfg(not(loom))]
pub(crate) mod fuel;
#[cfg(not(loom))]
pub(crate) mod grow;
#[cfg(not(loom))]
pub(crate) mod hogs;
#[cfg(not(loom))]
pub(crate) mod jobs;
#[cfg(not(loom))]
pub(crate) mod latency;
#[cfg(not(loom))]
pub(crate) mod limit;
#[cfg(not(loom))]
mod linger;
#[cfg(not(loom))]
pub(crate) mod monitor;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
pub(crate) mod overflow;
#[cfg(not(loom))]
pub(crate) mod place;
#[cfg(not(loom))]
pub(crate) mod poke;
#[cfg(not(loom))]
pub(crate) mod presence;
#[cfg(not(loom))]
pub(crate) mod record;
#[cfg(not(loom))]
pub(crate) mod remote;
#[cfg(not(loom))]
pub(crate) mod rest;
#[cfg(not(loom))]
pub(crate) mod search;
#[cfg(not(loom))]
pub(crate) mod shared;
#[cfg(not(loom))]
pub(crate) mod shutdown;
#[cfg(not(loom))]
pub(crate) mod stacks;
#[cfg(not(loom))]
pub(crate) mod starve;
#[cfg(not(loom))]
pub(crate) mod stillness;
#[cfg(not(loom))]
pub(crate) mod threads;
#[cfg(not(loom))]
pub(crate) mod unpark;
#[cfg(not(loom))]
#[cfg_attr(not(feature = "tracing"), path = "no_warning.rs")]
mod warning;
#[cfg(not(loom))]
pub(crate) mod worker;
