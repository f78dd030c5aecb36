//! Waiting for descriptors, and what is done with bytes.
//!
//! - [`source`]: a descriptor that fibers and threads wait for; [`slot`]: what is known of one, where events find it.
//! - [`pollable`]: any descriptor of a user's. [`pipe`]: pipes. [`copy`]: from a reader to a writer.
//! - [`patience`]: how long one waits. [`error`]: what ends a wait from outside.
//! - [`epoll`]: how a worker hears of events; [`reactor`]: how tasks that run on no worker do.

mod copy;
mod epoll;
pub(crate) mod error;
pub(crate) mod patience;
mod pipe;
mod pollable;
#[cfg_attr(
    not(any(feature = "futures", feature = "hyper", feature = "tokio")),
    allow(dead_code, reason = "for futures")
)]
mod reactor;
mod slot;
pub(crate) mod source;
#[cfg(test)]
mod tests;

pub(crate) use self::copy::COPY_BUFFER;
pub use self::{
    copy::copy,
    error::is_cancelled,
    pipe::{PipeReader, PipeWriter, pipe},
    pollable::Pollable,
};
