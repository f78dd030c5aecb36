//! What comes of receiving from an ordered channel, if it is no result.

use crate::chan::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::join::{JoinError, Panic};
use crate::prim::cancel::Cancelled;
use std::fmt;

/// No result was received from an [`ordered`](super::ordered) channel.
///
/// ```
/// assert_eq!(sisal::chan::OrderedRecvError::Closed.to_string(), "can't receive: the channel is closed and empty");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderedRecvError {
    /// The channel is closed, or nobody is left to send, and all results have been received.
    Closed,
    /// Something from outside ended the wait. The result can still be received.
    Cancelled(Cancelled),
    /// This piece of work panicked.
    Panicked(Panic),
    /// This piece of work was cancelled before it ran.
    Stopped(Cancelled),
}

/// No result was received from an [`ordered`](super::ordered) channel at once.
///
/// ```
/// use sisal::chan::OrderedTryRecvError;
/// let (_sender, receiver) = sisal::chan::ordered::<u32>(1);
/// assert!(matches!(receiver.try_recv(), Err(OrderedTryRecvError::Empty)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderedTryRecvError {
    /// The next result is not there yet, or somebody else is just receiving.
    Empty,
    /// The channel is closed, or nobody is left to send, and all results have been received.
    Closed,
    /// This piece of work panicked.
    Panicked(Panic),
    /// This piece of work was cancelled before it ran.
    Stopped(Cancelled),
}

/// No result was received from an [`ordered`](super::ordered) channel in time.
///
/// ```
/// use sisal::chan::OrderedRecvTimeoutError;
/// use std::time::Duration;
/// let (_sender, receiver) = sisal::chan::ordered::<u32>(1);
/// assert!(matches!(receiver.recv_timeout(Duration::from_millis(1)), Err(OrderedRecvTimeoutError::TimedOut)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderedRecvTimeoutError {
    /// The time is up. The result can still be received.
    TimedOut,
    /// The channel is closed, or nobody is left to send, and all results have been received.
    Closed,
    /// Something from outside ended the wait. The result can still be received.
    Cancelled(Cancelled),
    /// This piece of work panicked.
    Panicked(Panic),
    /// This piece of work was cancelled before it ran.
    Stopped(Cancelled),
}

impl OrderedRecvError {
    pub(super) fn of(error: JoinError) -> OrderedRecvError {
        match error {
            JoinError::Panicked(panic) => OrderedRecvError::Panicked(panic),
            JoinError::Cancelled(cancelled) => OrderedRecvError::Stopped(cancelled),
            JoinError::Interrupted(_) => unreachable!("INVARIANT: the work is done"),
        }
    }
}

impl OrderedTryRecvError {
    pub(super) fn of(error: JoinError) -> OrderedTryRecvError {
        match error {
            JoinError::Panicked(panic) => OrderedTryRecvError::Panicked(panic),
            JoinError::Cancelled(cancelled) => OrderedTryRecvError::Stopped(cancelled),
            JoinError::Interrupted(_) => unreachable!("INVARIANT: the work is done"),
        }
    }
}

impl OrderedRecvTimeoutError {
    pub(super) fn of(error: JoinError) -> OrderedRecvTimeoutError {
        match error {
            JoinError::Panicked(panic) => OrderedRecvTimeoutError::Panicked(panic),
            JoinError::Cancelled(cancelled) => OrderedRecvTimeoutError::Stopped(cancelled),
            JoinError::Interrupted(_) => unreachable!("INVARIANT: the work is done"),
        }
    }
}

impl fmt::Display for OrderedRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderedRecvError::Closed => RecvError::Closed.fmt(f),
            OrderedRecvError::Cancelled(cancelled) => RecvError::Cancelled(*cancelled).fmt(f),
            OrderedRecvError::Panicked(panic) => panic.fmt(f),
            OrderedRecvError::Stopped(cancelled) => not_started(f, *cancelled),
        }
    }
}

impl fmt::Display for OrderedTryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderedTryRecvError::Empty => f.write_str("can't receive at once: the next result is not there"),
            OrderedTryRecvError::Closed => TryRecvError::Closed.fmt(f),
            OrderedTryRecvError::Panicked(panic) => panic.fmt(f),
            OrderedTryRecvError::Stopped(cancelled) => not_started(f, *cancelled),
        }
    }
}

impl fmt::Display for OrderedRecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderedRecvTimeoutError::TimedOut => f.write_str("can't receive in time: the next result is not there"),
            OrderedRecvTimeoutError::Closed => RecvTimeoutError::Closed.fmt(f),
            OrderedRecvTimeoutError::Cancelled(cancelled) => RecvTimeoutError::Cancelled(*cancelled).fmt(f),
            OrderedRecvTimeoutError::Panicked(panic) => panic.fmt(f),
            OrderedRecvTimeoutError::Stopped(cancelled) => not_started(f, *cancelled),
        }
    }
}

fn not_started(f: &mut fmt::Formatter<'_>, cancelled: Cancelled) -> fmt::Result {
    write!(f, "the work was not started: {cancelled}")
}

impl std::error::Error for OrderedRecvError {}
impl std::error::Error for OrderedTryRecvError {}
impl std::error::Error for OrderedRecvTimeoutError {}
