//! What comes of receiving from a broadcast channel, if it is no message.

use crate::prim::cancel::Cancelled;
use std::fmt;

/// No message was received from a [`broadcast`](super::broadcast) channel.
///
/// ```
/// assert_eq!(sisal::chan::BroadcastRecvError::Lagged(3).to_string(), "too slow: 3 messages were missed");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BroadcastRecvError {
    /// The receiver was too slow, and has missed so many messages. It goes on with the oldest that is left.
    Lagged(u64),
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

/// No message was received from a [`broadcast`](super::broadcast) channel at once.
///
/// ```
/// use sisal::chan::{BroadcastTryRecvError, broadcast};
/// let (_sender, mut receiver) = broadcast::<u32>(1);
/// assert_eq!(receiver.try_recv(), Err(BroadcastTryRecvError::Empty));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BroadcastTryRecvError {
    /// There is none now.
    Empty,
    /// The receiver was too slow, and has missed so many messages. It goes on with the oldest that is left.
    Lagged(u64),
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
}

/// No message was received from a [`broadcast`](super::broadcast) channel in time.
///
/// ```
/// use sisal::chan::{BroadcastRecvTimeoutError, broadcast};
/// use std::time::Duration;
/// let (_sender, mut receiver) = broadcast::<u32>(1);
/// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(BroadcastRecvTimeoutError::TimedOut));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BroadcastRecvTimeoutError {
    /// The time is up.
    TimedOut,
    /// The receiver was too slow, and has missed so many messages. It goes on with the oldest that is left.
    Lagged(u64),
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

impl fmt::Display for BroadcastRecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BroadcastRecvTimeoutError::TimedOut => f.write_str("can't receive in time: the channel is empty"),
            BroadcastRecvTimeoutError::Lagged(missed) => write!(f, "too slow: {missed} messages were missed"),
            BroadcastRecvTimeoutError::Closed => f.write_str("can't receive: the channel is closed and empty"),
            BroadcastRecvTimeoutError::Cancelled(cancelled) => write!(f, "can't receive: {cancelled}"),
        }
    }
}

impl fmt::Display for BroadcastRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BroadcastRecvTimeoutError::from(*self).fmt(f)
    }
}

impl fmt::Display for BroadcastTryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BroadcastTryRecvError::Empty => f.write_str("can't receive at once: the channel is empty"),
            BroadcastTryRecvError::Lagged(missed) => BroadcastRecvTimeoutError::Lagged(*missed).fmt(f),
            BroadcastTryRecvError::Closed => BroadcastRecvTimeoutError::Closed.fmt(f),
        }
    }
}

impl std::error::Error for BroadcastRecvError {}
impl std::error::Error for BroadcastTryRecvError {}
impl std::error::Error for BroadcastRecvTimeoutError {}

impl From<BroadcastRecvError> for BroadcastRecvTimeoutError {
    fn from(error: BroadcastRecvError) -> BroadcastRecvTimeoutError {
        match error {
            BroadcastRecvError::Lagged(missed) => BroadcastRecvTimeoutError::Lagged(missed),
            BroadcastRecvError::Closed => BroadcastRecvTimeoutError::Closed,
            BroadcastRecvError::Cancelled(cancelled) => BroadcastRecvTimeoutError::Cancelled(cancelled),
        }
    }
}
