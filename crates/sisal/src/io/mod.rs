//! Waiting for descriptors, and what is done with bytes.
//!
//! - [`source`]: a descriptor that fibers and threads wait for.

pub(crate) mod error;
pub(crate) mod source;

pub use self::error::is_cancelled;
