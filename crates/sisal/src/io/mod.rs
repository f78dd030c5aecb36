//! Waiting for descriptors, and what is done with bytes.
//!
//! - [`source`]: a descriptor that fibers and threads wait for; [`slot`]: what is known of one, where events find it.
//! - [`epoll`]: how a worker hears of events; [`reactor`]: how tasks that run on no worker do.

mod epoll;
pub(crate) mod error;
mod reactor;
mod slot;
pub(crate) mod source;
#[cfg(test)]
mod tests;

pub use self::error::is_cancelled;
