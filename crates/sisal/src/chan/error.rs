//! What comes of a channel operation that did not succeed. Whatever was not sent is given back.

use crate::prim::cancel::Cancelled;
use std::fmt;

/// A message was not sent, and is given back.
///
/// ```
/// use sisal::chan::{SendError, bounded};
/// let (sender, receiver) = bounded(1);
/// drop(receiver);
/// assert_eq!(sender.send(7), Err(SendError::Closed(7)));
/// ```
#[derive(Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The channel is closed, or nobody is left to receive.
    Closed(T),
    /// Something from outside ended the wait.
    Cancelled(T, Cancelled),
}

/// A message was not sent at once, and is given back.
///
/// ```
/// use sisal::chan::{TrySendError, bounded};
/// let (sender, _receiver) = bounded(1);
/// sender.try_send(6).unwrap();
/// assert_eq!(sender.try_send(7), Err(TrySendError::Full(7)));
/// ```
#[derive(Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<T> {
    /// There is no room; in a rendezvous channel, nobody waits to receive.
    Full(T),
    /// The channel is closed, or nobody is left to receive.
    Closed(T),
}

/// A message was not sent in time, and is given back.
///
/// ```
/// use sisal::chan::{SendTimeoutError, bounded};
/// use std::time::Duration;
/// let (sender, _receiver) = bounded(0);
/// assert_eq!(sender.send_timeout(7, Duration::from_millis(1)), Err(SendTimeoutError::TimedOut(7)));
/// ```
#[derive(Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendTimeoutError<T> {
    /// The time is up.
    TimedOut(T),
    /// The channel is closed, or nobody is left to receive.
    Closed(T),
    /// Something from outside ended the wait.
    Cancelled(T, Cancelled),
}

/// No message was received.
///
/// ```
/// use sisal::chan::{RecvError, bounded};
/// let (sender, receiver) = bounded::<u32>(1);
/// drop(sender);
/// assert_eq!(receiver.recv(), Err(RecvError::Closed));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvError {
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

/// No message was received at once.
///
/// ```
/// use sisal::chan::{TryRecvError, bounded};
/// let (_sender, receiver) = bounded::<u32>(1);
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryRecvError {
    /// There is none now.
    Empty,
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
}

/// No message was received in time.
///
/// ```
/// use sisal::chan::{RecvTimeoutError, bounded};
/// use std::time::Duration;
/// let (_sender, receiver) = bounded::<u32>(1);
/// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecvTimeoutError {
    /// The time is up.
    TimedOut,
    /// The channel is closed, or nobody is left to send, and all messages have been received.
    Closed,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

impl<T> SendError<T> {
    /// What was not sent.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// drop(receiver);
    /// assert_eq!(sender.send("letter").unwrap_err().into_inner(), "letter");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendError::Closed(value) | SendError::Cancelled(value, _) => value,
        }
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.close();
    /// assert!(sender.send(7).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, SendError::Closed(_))
    }

    /// Whether something from outside ended the wait.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// token.cancel();
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// let error = token.run(|| sender.send(7)).unwrap_err();
    /// assert!(error.is_cancelled() && !error.is_closed());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, SendError::Cancelled(..))
    }
}

impl<T> TrySendError<T> {
    /// What was not sent.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// assert_eq!(sender.try_send("letter").unwrap_err().into_inner(), "letter");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Closed(value) | TrySendError::Full(value) => value,
        }
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.close();
    /// assert!(sender.try_send(7).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, TrySendError::Closed(_))
    }

    /// Whether there was no room.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.try_send(6).unwrap();
    /// let error = sender.try_send(7).unwrap_err();
    /// assert!(error.is_full() && !error.is_closed());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// What was not sent.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// assert_eq!(sender.send_timeout("letter", Duration::ZERO).unwrap_err().into_inner(), "letter");
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Closed(value)
            | SendTimeoutError::TimedOut(value)
            | SendTimeoutError::Cancelled(value, _) => value,
        }
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.close();
    /// assert!(sender.send_timeout(7, Duration::from_secs(60)).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, SendTimeoutError::Closed(_))
    }

    /// Whether the time was up.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// let error = sender.send_timeout(7, Duration::from_millis(1)).unwrap_err();
    /// assert!(error.is_timed_out() && !error.is_closed());
    /// ```
    pub fn is_timed_out(&self) -> bool {
        matches!(self, SendTimeoutError::TimedOut(_))
    }

    /// Whether something from outside ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let token = sisal::CancelToken::new();
    /// token.cancel();
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// assert!(token.run(|| sender.send_timeout(7, Duration::from_secs(60))).unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, SendTimeoutError::Cancelled(..))
    }
}

impl RecvError {
    /// Whether the channel is closed, and all messages have been received.
    ///
    /// ```
    /// let (_, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.recv().unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, RecvError::Closed)
    }

    /// Whether something from outside ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(sisal::timeout(Duration::from_millis(1), || receiver.recv()).unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, RecvError::Cancelled(_))
    }
}

impl TryRecvError {
    /// Whether there is no message now, and one may come.
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.try_recv().unwrap_err().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, TryRecvError::Empty)
    }

    /// Whether the channel is closed, and all messages have been received.
    ///
    /// ```
    /// let (_, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.try_recv().unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, TryRecvError::Closed)
    }
}

impl RecvTimeoutError {
    /// Whether the time was up.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.recv_timeout(Duration::from_millis(1)).unwrap_err().is_timed_out());
    /// ```
    pub fn is_timed_out(&self) -> bool {
        matches!(self, RecvTimeoutError::TimedOut)
    }

    /// Whether the channel is closed, and all messages have been received.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (_, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.recv_timeout(Duration::from_secs(60)).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, RecvTimeoutError::Closed)
    }

    /// Whether something from outside ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// let received = sisal::timeout(Duration::from_millis(1), || receiver.recv_timeout(Duration::from_secs(60)));
    /// assert!(received.unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, RecvTimeoutError::Cancelled(_))
    }
}

const SEND_CLOSED: &str = "can't send: the channel is closed";
const RECEIVE_CLOSED: &str = "can't receive: the channel is closed and empty";

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Closed(_) => f.write_str(SEND_CLOSED),
            SendError::Cancelled(_, cancelled) => write!(f, "can't send: {cancelled}"),
        }
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Closed(_) => SEND_CLOSED,
            TrySendError::Full(_) => "can't send at once: the channel is full",
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendTimeoutError::Closed(_) => f.write_str(SEND_CLOSED),
            SendTimeoutError::TimedOut(_) => f.write_str("can't send in time: the channel is full"),
            SendTimeoutError::Cancelled(_, cancelled) => write!(f, "can't send: {cancelled}"),
        }
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str(RECEIVE_CLOSED),
            RecvError::Cancelled(cancelled) => write!(f, "can't receive: {cancelled}"),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Closed => RECEIVE_CLOSED,
            TryRecvError::Empty => "can't receive at once: the channel is empty",
        })
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvTimeoutError::Closed => f.write_str(RECEIVE_CLOSED),
            RecvTimeoutError::TimedOut => f.write_str("can't receive in time: the channel is empty"),
            RecvTimeoutError::Cancelled(cancelled) => write!(f, "can't receive: {cancelled}"),
        }
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Closed(_) => f.write_str("Closed(..)"),
            SendError::Cancelled(_, cancelled) => write!(f, "Cancelled(.., {cancelled:?})"),
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Closed(_) => "Closed(..)",
            TrySendError::Full(_) => "Full(..)",
        })
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendTimeoutError::Closed(_) => f.write_str("Closed(..)"),
            SendTimeoutError::TimedOut(_) => f.write_str("TimedOut(..)"),
            SendTimeoutError::Cancelled(_, cancelled) => write!(f, "Cancelled(.., {cancelled:?})"),
        }
    }
}

impl<T> std::error::Error for SendError<T> {}
impl<T> std::error::Error for TrySendError<T> {}
impl<T> std::error::Error for SendTimeoutError<T> {}
impl std::error::Error for RecvError {}
impl std::error::Error for TryRecvError {}
impl std::error::Error for RecvTimeoutError {}

impl From<RecvError> for RecvTimeoutError {
    fn from(error: RecvError) -> RecvTimeoutError {
        match error {
            RecvError::Closed => RecvTimeoutError::Closed,
            RecvError::Cancelled(cancelled) => RecvTimeoutError::Cancelled(cancelled),
        }
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(error: SendError<T>) -> SendTimeoutError<T> {
        match error {
            SendError::Closed(value) => SendTimeoutError::Closed(value),
            SendError::Cancelled(value, cancelled) => SendTimeoutError::Cancelled(value, cancelled),
        }
    }
}
