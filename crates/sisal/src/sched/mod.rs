//! The scheduler: workers, where they look for fibers, how they sleep, and how all of it ends.
//!
//! - [`worker`]: what belongs to one worker; [`remote`]: the part of it that others reach.
//! - [`dispatch`]: calling a fresh fiber, leaving a parked one, resuming a ready one; [`fuel`]: when one gives way that need not wait.
//! - [`search`]: in which order a worker looks for work; [`theft`]: and what it takes from others; [`rest`]: what it does when there is none;
//!   [`idle`]: falling asleep and waking (see `README.md`).
//! - [`place`]: where a spawned fiber is queued; [`unpark`]: where a woken one is;
//!   [`poke`]: how its worker hears of a cancellation; [`alarm`]: and of a time that has come; [`driver`]: and from outside.
//! - [`stacks`]: a worker's few hot stacks; [`starve`]: a worker without one; [`presence`]: the fibers that live on it, for those who look,
//!   [`fresh`]: and those that have not started; [`calls`]: what is said to a worker between two fibers.
//! - [`jobs`]: the halves of forks that others may run, [`countdown`]: and how many forks to go until one looks who would,
//!   [`offers`]: and what is worth an offer;
//!   [`hogs`]: fibers that compute for long.
//! - [`shared`]: what all workers have in common; [`limit`]: `max_fibers`; [`shutdown`]: the end.
//! - [`stillness`]: noticing that nothing will ever run again, and that some wait for one another.
//! - [`monitor`]: the thread that watches workers; [`blockers`]: what it says of those that block them; [`upkeep`]: when it gives memory
//!   back; [`overflow`]: what is said when a stack ends.
//! - [`threads`]: how workers start and go; [`grow`]: code on a bigger stack; [`counts`]: what has been done,
//!   [`latency`]: and how soon.
//! - [`events`]: what is recorded while somebody traces, [`names`]: and the names to it; [`record`]: what a worker records.

pub(crate) mod idle;

#[cfg(not(modelled))]
pub(crate) mod alarm;
#[cfg(not(modelled))]
pub(crate) mod blockers;
#[cfg(not(modelled))]
pub(crate) mod calls;
#[cfg(any(not(modelled), all(test, loom)))]
mod countdown;
#[cfg(not(modelled))]
pub(crate) mod counts;
#[cfg(not(modelled))]
pub(crate) mod dispatch;
#[cfg(not(modelled))]
pub(crate) mod driver;
#[cfg(not(modelled))]
pub(crate) mod events;
#[cfg(not(modelled))]
pub(crate) mod fresh;
#[cfg(not(modelled))]
pub(crate) mod fuel;
#[cfg(not(modelled))]
pub(crate) mod grow;
#[cfg(not(modelled))]
pub(crate) mod hogs;
#[cfg(not(modelled))]
pub(crate) mod jobs;
#[cfg(not(modelled))]
pub(crate) mod latency;
#[cfg(not(modelled))]
pub(crate) mod limit;
#[cfg(not(modelled))]
mod linger;
#[cfg(not(modelled))]
pub(crate) mod monitor;
#[cfg(not(modelled))]
mod names;
#[cfg(not(modelled))]
pub(crate) mod no_park;
#[cfg(not(modelled))]
mod offers;
#[cfg(not(modelled))]
pub(crate) mod overflow;
#[cfg(not(modelled))]
pub(crate) mod place;
#[cfg(not(modelled))]
pub(crate) mod poke;
#[cfg(not(modelled))]
pub(crate) mod presence;
#[cfg(not(modelled))]
pub(crate) mod record;
#[cfg(not(modelled))]
pub(crate) mod remote;
#[cfg(not(modelled))]
pub(crate) mod rest;
#[cfg(not(modelled))]
pub(crate) mod search;
#[cfg(not(modelled))]
pub(crate) mod shared;
#[cfg(not(modelled))]
pub(crate) mod shutdown;
#[cfg(not(modelled))]
pub(crate) mod stacks;
#[cfg(not(modelled))]
pub(crate) mod starve;
#[cfg(not(modelled))]
pub(crate) mod stillness;
#[cfg(not(modelled))]
mod theft;
#[cfg(not(modelled))]
pub(crate) mod threads;
#[cfg(not(modelled))]
pub(crate) mod unpark;
#[cfg(not(modelled))]
pub(crate) mod upkeep;
#[cfg(not(modelled))]
#[cfg_attr(not(feature = "tracing"), path = "no_warning.rs")]
mod warning;
#[cfg(not(modelled))]
pub(crate) mod worker;
