//! Descriptors of any kind, pipes, and what is done with bytes.
//!
//! [`Pollable`] makes any descriptor one that fibers and threads wait for; [`pipe`] makes pipes, [`copy`] copies from a reader to a
//! writer, and [`is_cancelled`] tells the errors of waits that were ended from outside.
//!
//! # Where things are
//! - `source`: a descriptor that fibers and threads wait for; `slot`: what is known of one, where events find it.
//! - `epoll`: how a worker hears of events; `reactor`: how tasks that run on no worker do.
//! - `ring`: what the kernel does by itself, and then tells a worker of.
//! - `kin`: which objects have one file; `patience`: how long one waits; `pauses`: waits for what nothing tells of; `error`: how a wait ends that had to end.

mod copy;
mod epoll;
pub(crate) mod error;
pub(crate) mod kin;
pub(crate) mod patience;
pub(crate) mod pauses;
mod pipe;
mod pollable;
#[cfg_attr(
    not(any(feature = "futures", feature = "hyper", feature = "tokio")),
    allow(dead_code, reason = "for futures")
)]
mod reactor;
pub(crate) mod ring;
mod slot;
mod slots;
pub(crate) mod source;
mod tasks;
#[cfg(test)]
mod tests;

/// The kernel refuses more slices than this in one call (`UIO_MAXIOV`).
pub(crate) const MOST_SLICES: usize = 1024;

pub(crate) use self::copy::COPY_BUFFER;
pub(crate) use self::tasks::has_tasks;
pub use self::{
    copy::copy,
    error::is_cancelled,
    pipe::{PipeReader, PipeWriter, pipe},
    pollable::Pollable,
};
