//! The sending side of a channel, of whatever flavour.

use super::array::Array;
use super::blocking;
use super::counted::Counted;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::list::List;
use super::port::{Attempt, Channel};
use super::rendezvous::Rendezvous;
use super::{Policy, Receiver};
use crate::park::pay_fuel;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sends messages into a channel. Clones send into the same one; when the last is gone, the channel is closed.
///
/// Made by [`bounded`](super::bounded), [`bounded_with`](super::bounded_with) and [`unbounded`](super::unbounded).
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded(2);
///     let other = sender.clone();
///     sisal::spawn(move || other.send("from a fiber"));
///     drop(sender);
///     assert_eq!(receiver.iter().collect::<Vec<_>>(), ["from a fiber"]);
/// });
/// ```
pub struct Sender<T>(pub(super) SenderFlavour<T>);

pub(super) enum SenderFlavour<T> {
    Array(Counted<Array<T>>, Policy),
    List(Counted<List<T>>),
    Rendezvous(Counted<Rendezvous<T>>),
}

/// Calls the same on every flavour.
macro_rules! each_sender {
    ($sender:expr, $channel:ident => $do:expr) => {
        match &$sender.0 {
            SenderFlavour::Array($channel, _) => $do,
            SenderFlavour::List($channel) => $do,
            SenderFlavour::Rendezvous($channel) => $do,
        }
    };
}
pub(super) use each_sender;

// A panic in the middle of an operation leaves the channel as it was.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Sends a message: waits while the channel is full, or, if it has no room at all, until somebody receives it.
    ///
    /// # Errors
    /// The message, if the channel is closed, or if something from outside ended the wait.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    #[track_caller]
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.send_at(message, None, Location::caller()).map_err(|error| match error {
            SendTimeoutError::Closed(message) => SendError::Closed(message),
            SendTimeoutError::Cancelled(message, cancelled) => SendError::Cancelled(message, cancelled),
            SendTimeoutError::TimedOut(_) => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// Sends a message if that needs no wait.
    ///
    /// # Errors
    /// The message, if the channel is full or closed.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// assert!(sender.try_send(1).is_ok());
    /// assert!(sender.try_send(2).unwrap_err().is_full());
    /// ```
    #[track_caller]
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let place = Location::caller();
        let sent = match &self.0 {
            SenderFlavour::Array(channel, Policy::Wait) => blocking::try_send(&**channel, message, place),
            SenderFlavour::Array(channel, policy) => return send_dropping(channel, message, *policy, place),
            SenderFlavour::List(channel) => blocking::try_send(&**channel, message, place),
            SenderFlavour::Rendezvous(channel) => blocking::try_send(&**channel, message, place),
        };
        sent.map_err(|(attempt, message)| match attempt {
            Attempt::Closed => TrySendError::Closed(message),
            _ => TrySendError::Full(message),
        })
    }

    /// As [`send`](Self::send), for at most so long.
    ///
    /// # Errors
    /// The message, if the time is up, the channel is closed, or something from outside ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.send_timeout(1, Duration::from_millis(1)).unwrap();
    /// assert_eq!(sender.send_timeout(2, Duration::from_millis(1)).unwrap_err().into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn send_timeout(&self, message: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_at(message, Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`send`](Self::send), until this time at most.
    ///
    /// # Errors
    /// As for [`send_timeout`](Self::send_timeout).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// sender.send_deadline(1, Instant::now() + Duration::from_secs(60)).unwrap();
    /// assert!(sender.send_deadline(2, Instant::now()).unwrap_err().is_timed_out());
    /// ```
    #[track_caller]
    pub fn send_deadline(&self, message: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_at(message, Some(Moment::of(deadline)), Location::caller())
    }

    #[inline(always)]
    fn send_at(&self, message: T, deadline: Option<Moment>, place: Place) -> Result<(), SendTimeoutError<T>> {
        match &self.0 {
            SenderFlavour::Array(channel, Policy::Wait) => blocking::send_into_array(channel, message, deadline, place),
            SenderFlavour::Array(channel, policy) => {
                send_dropping(channel, message, *policy, place).map_err(|error| match error {
                    TrySendError::Closed(message) | TrySendError::Full(message) => SendTimeoutError::Closed(message),
                })
            }
            SenderFlavour::List(channel) => blocking::send(&**channel, message, deadline, place),
            SenderFlavour::Rendezvous(channel) => blocking::send_to_rendezvous(channel, message, deadline, place),
        }
    }

    /// Closes the channel for both sides: no more messages are let in, those in it can still be received. True if this call did it.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(2);
    /// sender.send(7).unwrap();
    /// assert!(sender.close() && !receiver.close());
    /// assert!(sender.send(8).unwrap_err().is_closed());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// assert_eq!(receiver.recv(), Err(sisal::chan::RecvError::Closed));
    /// ```
    pub fn close(&self) -> bool {
        each_sender!(self, channel => channel.close())
    }

    /// As [`close`](Self::close), and says why; both sides can ask for that. False, and nothing done, if it was closed already.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(2);
    /// sender.close_with("the disk is full");
    /// assert!(receiver.recv().is_err());
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        let reason = Arc::from(reason.into());
        each_sender!(self, channel => channel.close_with(reason))
    }

    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(sender.close_reason().is_none());
    /// receiver.close_with("that was enough");
    /// assert_eq!(sender.close_reason().unwrap().to_string(), "that was enough");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        each_sender!(self, channel => channel.reason())
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        each_sender!(self, channel => channel.is_closed())
    }

    /// How many messages are in the channel.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(4);
    /// (1..=3).for_each(|number| sender.send(number).unwrap());
    /// assert_eq!(sender.len(), 3);
    /// receiver.recv().unwrap();
    /// assert_eq!(sender.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        each_sender!(self, channel => channel.len())
    }

    /// Whether no message is in the channel.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// sender.send(7).unwrap();
    /// assert!(!sender.is_empty());
    /// receiver.recv().unwrap();
    /// assert!(sender.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room in the channel.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded(1);
    /// assert!(!sender.is_full());
    /// sender.send(7).unwrap();
    /// assert!(sender.is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.len() >= capacity)
    }

    /// How many messages there is room for; none if for any number.
    ///
    /// ```
    /// assert_eq!(sisal::chan::bounded::<u32>(4).0.capacity(), Some(4));
    /// assert_eq!(sisal::chan::unbounded::<u32>().0.capacity(), None);
    /// ```
    pub fn capacity(&self) -> Option<usize> {
        each_sender!(self, channel => channel.capacity())
    }

    /// How many senders the channel has.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded::<u32>(1);
    /// let other = sender.clone();
    /// assert_eq!(other.sender_count(), 2);
    /// drop(sender);
    /// assert_eq!(other.sender_count(), 1);
    /// ```
    pub fn sender_count(&self) -> usize {
        each_sender!(self, channel => channel.senders())
    }

    /// How many receivers the channel has.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// let other = receiver.clone();
    /// assert_eq!(sender.receiver_count(), 2);
    /// drop((receiver, other));
    /// assert_eq!(sender.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        each_sender!(self, channel => channel.receivers())
    }

    /// Whether both send into the same channel.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(sender.same_channel(&sender.clone()));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        match (&self.0, &other.0) {
            (SenderFlavour::Array(one, _), SenderFlavour::Array(two, _)) => one.same(two),
            (SenderFlavour::List(one), SenderFlavour::List(two)) => one.same(two),
            (SenderFlavour::Rendezvous(one), SenderFlavour::Rendezvous(two)) => one.same(two),
            _ => false,
        }
    }
}

/// Sends into a channel that drops what is too much. Never waits.
fn send_dropping<T>(
    channel: &Counted<Array<T>>,
    message: T,
    policy: Policy,
    place: Place,
) -> Result<(), TrySendError<T>> {
    let mut message = message;
    let sent = loop {
        match blocking::send_now(&**channel, message) {
            Ok(()) => break Ok(()),
            Err((Attempt::Closed, message)) => break Err(TrySendError::Closed(message)),
            Err((_, newest)) if policy == Policy::DropNewest => {
                drop(newest);
                break Ok(());
            }
            Err((_, newest)) => {
                drop(channel.make_room());
                message = newest;
            }
        }
    };
    pay_fuel(place);
    sent
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(match &self.0 {
            SenderFlavour::Array(channel, policy) => SenderFlavour::Array(channel.clone_sender(), *policy),
            SenderFlavour::List(channel) => SenderFlavour::List(channel.clone_sender()),
            SenderFlavour::Rendezvous(channel) => SenderFlavour::Rendezvous(channel.clone_sender()),
        })
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        each_sender!(self, channel => channel.drop_sender());
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

#[allow(unsafe_code, reason = "channels may be shared between threads if what they carry may go there")]
mod sharing {
    use super::{Receiver, Sender};

    // SAFETY: a message goes from one thread to another, and is never seen by two.
    unsafe impl<T: Send> Send for Sender<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Sync for Sender<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Send for Receiver<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Sync for Receiver<T> {}
}
