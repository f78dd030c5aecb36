//! A channel whose every receiver gets every message.
//!
//! # Protocol
//! The [observed](super::observed) state is the ring of the last messages, each in an `Arc`, the number of messages ever sent, and how
//! many handles there are. The oldest message in the ring has the position *sent* minus the ring's length; each receiver knows the
//! position of its next one.
//! - *Send*: if nobody is there to receive, or it was closed, give the message back. If the ring is full, the oldest goes; the new one
//!   comes in, and everybody who waits looks.
//! - *Receive*: if the next position is older than the ring, go to the oldest and say how many were missed. Else share
//!   the message, and go on; the copy is made when the lock is free. If there is none and the channel is closed, say so; else wait.
//! - *Close*: by hand, or when the last sender goes. What is in the ring can still be received.
//! - *The last receiver goes*: the ring is emptied, one message at a time, unless somebody subscribes: nobody can come to them.
//!
//! - *Cancel, deadline*: they claim the wait, as for all [observed](super::observed) state; the next position stays what it was.
//!
//! Messages are made, copied and dropped with the lock free; a position is passed before its copy is made, so if that
//! panics, the message counts as received.

mod arm;
mod error;
mod future;
#[cfg(all(test, loom))]
mod loom_models;
mod receiver;

pub use self::error::{BroadcastRecvError, BroadcastRecvTimeoutError, BroadcastTryRecvError};
pub use self::future::BroadcastRecvFuture;
pub use self::receiver::{BroadcastIter, BroadcastReceiver};

use super::error::SendError;
use super::observed::Observed;
use crate::park::pay_fuel;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

struct State<T> {
    /// The last messages, at most `capacity` of them.
    ring: VecDeque<Arc<T>>,
    capacity: usize,
    /// How many were ever sent.
    sent: u64,
    senders: usize,
    receivers: usize,
    closed: bool,
    /// Said by whoever has closed it.
    reason: Option<Reason>,
}

/// Why a channel was closed.
type Reason = Arc<dyn Error + Send + Sync>;

/// What there is for a receiver.
enum Next<T> {
    Message(Arc<T>),
    Lagged(u64),
    Closed,
}

impl<T> State<T> {
    /// Lets a message in, and the oldest out if there is no room; or says that nobody would receive it.
    fn send(&mut self, message: Arc<T>) -> Result<(usize, Option<Arc<T>>), Arc<T>> {
        if self.closed || self.receivers == 0 {
            return Err(message);
        }
        let oldest = if self.ring.len() == self.capacity { self.ring.pop_front() } else { None };
        self.ring.push_back(message);
        self.sent += 1;
        Ok((self.receivers, oldest))
    }

    /// What there is at `position`, which moves past it.
    fn next(&self, position: &mut u64) -> Option<Next<T>> {
        let oldest = self.sent - self.ring.len() as u64;
        let missed = oldest.saturating_sub(*position);
        if missed > 0 {
            *position = oldest;
            return Some(Next::Lagged(missed));
        }
        match self.ring.get((*position - oldest) as usize) {
            Some(message) => {
                *position += 1;
                Some(Next::Message(Arc::clone(message)))
            }
            None => self.closed.then_some(Next::Closed),
        }
    }

    /// How many messages there are from `position` on.
    fn left(&self, position: u64) -> usize {
        (self.ring.len() as u64).min(self.sent - position) as usize
    }

    /// Closes the channel, or gives the reason back if it was closed before.
    fn close(&mut self, reason: Option<Reason>) -> Result<(), Option<Reason>> {
        if self.closed {
            return Err(reason);
        }
        self.closed = true;
        self.reason = reason;
        Ok(())
    }

    /// Takes a message that nobody can receive any more.
    fn take_unwanted(&mut self) -> Option<Arc<T>> {
        if self.receivers == 0 { self.ring.pop_front() } else { None }
    }
}

/// A channel whose every receiver gets every message that was sent since it subscribed. It keeps the last `capacity` ones: a receiver
/// that is slower misses some, and is told how many. A send never waits.
///
/// A receiver is an arm of [`select!`](crate::select!) as `recv(&mut receiver)`.
///
/// # Panics
/// If the capacity is zero.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::broadcast(8);
///     let listeners: Vec<_> = (0..3)
///         .map(|_| {
///             let mut receiver = receiver.clone();
///             sisal::spawn(move || receiver.recv())
///         })
///         .collect();
///     sender.send("to all").unwrap();
///     listeners.into_iter().for_each(|listener| assert_eq!(listener.join().unwrap(), Ok("to all")));
/// });
/// ```
pub fn broadcast<T: Clone>(capacity: usize) -> (BroadcastSender<T>, BroadcastReceiver<T>) {
    assert!(capacity > 0, "sisal: a broadcast channel needs room for at least one message");
    // With all its room from the start: it must not grow under the lock.
    let ring = VecDeque::with_capacity(capacity);
    let state = State { ring, capacity, sent: 0, senders: 1, receivers: 1, closed: false, reason: None };
    let shared = Arc::new(Observed::new(state));
    (BroadcastSender { shared: Arc::clone(&shared) }, BroadcastReceiver { shared, position: 0 })
}

/// Sends to all receivers of a [`broadcast`] channel. Clones send into the same one; when the last is gone, it is closed.
///
/// ```
/// let (sender, mut early) = sisal::chan::broadcast(8);
/// sender.send(1).unwrap();
/// let mut late = sender.subscribe();
/// assert_eq!(sender.send(2), Ok(2));
/// assert_eq!((early.recv(), early.recv()), (Ok(1), Ok(2)));
/// assert_eq!(late.recv(), Ok(2));
/// ```
pub struct BroadcastSender<T> {
    shared: Arc<Observed<State<T>>>,
}

// A panic leaves the channel as it was.
impl<T> UnwindSafe for BroadcastSender<T> {}
impl<T> RefUnwindSafe for BroadcastSender<T> {}

impl<T> BroadcastSender<T> {
    /// Sends a message to all receivers there are, and returns their number. Never waits: if there is no room, the oldest message goes.
    ///
    /// # Errors
    /// The message, if there is no receiver, or the channel was closed.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast(8);
    /// assert_eq!(sender.send(7), Ok(1));
    /// drop(receiver);
    /// assert_eq!(sender.send(7).unwrap_err().into_inner(), 7);
    /// ```
    #[track_caller]
    pub fn send(&self, message: T) -> Result<usize, SendError<T>> {
        let place = Location::caller();
        let message = Arc::new(message);
        match self.shared.change(|state| state.send(message)) {
            Ok((receivers, oldest)) => {
                drop(oldest);
                pay_fuel(place);
                Ok(receivers)
            }
            Err(message) => {
                pay_fuel(place);
                match Arc::into_inner(message) {
                    Some(message) => Err(SendError::Closed(message)),
                    None => unreachable!("INVARIANT: nobody has shared it"),
                }
            }
        }
    }

    /// A new receiver, of what will be sent from now on.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::broadcast(8);
    /// sender.send(1).unwrap();
    /// let mut late = sender.subscribe();
    /// assert_eq!(sender.receiver_count(), 2);
    /// sender.send(2).unwrap();
    /// assert_eq!(late.recv(), Ok(2));
    /// ```
    pub fn subscribe(&self) -> BroadcastReceiver<T> {
        let position = self.shared.quietly(|state| {
            state.receivers += 1;
            state.sent
        });
        BroadcastReceiver { shared: Arc::clone(&self.shared), position }
    }

    /// How many receivers there are.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast::<u32>(1);
    /// let other = sender.subscribe();
    /// assert_eq!(sender.receiver_count(), 2);
    /// drop((receiver, other));
    /// assert_eq!(sender.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.shared.quietly(|state| state.receivers)
    }

    /// Closes the channel: no more messages are let in, those in it can still be received. True if this call did it.
    ///
    /// ```
    /// use sisal::chan::BroadcastRecvError;
    /// let (sender, mut receiver) = sisal::chan::broadcast(8);
    /// sender.send(7).unwrap();
    /// assert!(sender.close());
    /// assert!(sender.send(8).is_err());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// assert_eq!(receiver.recv(), Err(BroadcastRecvError::Closed));
    /// ```
    pub fn close(&self) -> bool {
        self.shared.change(|state| state.close(None)).is_ok()
    }

    /// As [`close`](Self::close), and says why; both sides can ask for that. False, and nothing done, if it was closed already.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast::<u32>(8);
    /// assert!(sender.close_with("the station is off the air"));
    /// assert!(!sender.close_with("again"));
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "the station is off the air");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        let reason = Arc::from(reason.into());
        // One that comes too late is dropped when the lock is free.
        self.shared.change(|state| state.close(Some(reason))).is_ok()
    }

    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::broadcast::<u32>(8);
    /// assert!(sender.close_reason().is_none());
    /// sender.close_with("done");
    /// assert_eq!(sender.close_reason().unwrap().to_string(), "done");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.shared.quietly(|state| state.reason.clone())
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::broadcast::<u32>(8);
    /// assert!(!sender.is_closed());
    /// sender.close();
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.quietly(|state| state.closed)
    }

    /// How many messages are in the channel: the last ones that were sent, whoever has received them.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::broadcast(2);
    /// assert!(sender.is_empty());
    /// (1..=5).for_each(|number| drop(sender.send(number)));
    /// assert_eq!(sender.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.quietly(|state| state.ring.len())
    }

    /// Whether no message is in the channel.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::broadcast(8);
    /// assert!(sender.is_empty());
    /// sender.send(1).unwrap();
    /// assert!(!sender.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages the channel keeps for those who are slow.
    ///
    /// ```
    /// assert_eq!(sisal::chan::broadcast::<u32>(8).0.capacity(), 8);
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.quietly(|state| state.capacity)
    }
}

impl<T> Clone for BroadcastSender<T> {
    fn clone(&self) -> BroadcastSender<T> {
        self.shared.quietly(|state| state.senders += 1);
        BroadcastSender { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for BroadcastSender<T> {
    fn drop(&mut self) {
        let was_last = self.shared.quietly(|state| {
            state.senders -= 1;
            state.senders == 0
        });
        if was_last {
            self.close();
        }
    }
}

impl<T> fmt::Debug for BroadcastSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastSender").field("receivers", &self.receiver_count()).finish_non_exhaustive()
    }
}
