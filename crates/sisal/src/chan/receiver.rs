//! The receiving side of a channel, of whatever flavour.

use super::array::Array;
use super::blocking;
use super::clock::Clock;
use super::counted::Counted;
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::list::List;
use super::port::{Attempt, Channel};
use super::rendezvous::Rendezvous;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Receives messages from a channel. Clones receive from the same one, and each message goes to one of them; when the last is gone,
/// the channel is closed and what is in it is dropped.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::unbounded();
///     let adders: Vec<_> = (0..3).map(|_| {
///         let receiver = receiver.clone();
///         sisal::spawn(move || receiver.iter().sum::<u64>())
///     }).collect();
///     (1..=100).for_each(|number| sender.send(number).unwrap());
///     drop(sender);
///     assert_eq!(adders.into_iter().map(|adder| adder.join().unwrap()).sum::<u64>(), 5050);
/// });
/// ```
pub struct Receiver<T>(pub(super) ReceiverFlavour<T>);

pub(super) enum ReceiverFlavour<T> {
    Array(Counted<Array<T>>),
    List(Counted<List<T>>),
    Rendezvous(Counted<Rendezvous<T>>),
    Clock(Counted<Clock<T>>),
}

/// Calls the same on every flavour.
macro_rules! each_receiver {
    ($receiver:expr, $channel:ident => $do:expr) => {
        match &$receiver.0 {
            ReceiverFlavour::Array($channel) => $do,
            ReceiverFlavour::List($channel) => $do,
            ReceiverFlavour::Rendezvous($channel) => $do,
            ReceiverFlavour::Clock($channel) => $do,
        }
    };
}
pub(super) use each_receiver;

// A panic in the middle of an operation leaves the channel as it was.
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    /// What is sent comes from outside of the runtime: whoever waits for it is never stuck. Only channels with room say so.
    pub(crate) fn comes_from_outside(&self) {
        if let ReceiverFlavour::Array(channel) = &self.0 {
            channel.set_outside();
        }
    }
}

impl<T> Receiver<T> {
    /// Receives a message: waits until there is one.
    ///
    /// # Errors
    /// If the channel is closed and empty, or if something from outside ended the wait.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::bounded(0);
    ///     sisal::spawn(move || sender.send("hand to hand"));
    ///     assert_eq!(receiver.recv(), Ok("hand to hand"));
    ///     assert_eq!(receiver.recv(), Err(sisal::chan::RecvError::Closed));
    /// });
    /// ```
    #[track_caller]
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.recv_at(None, Location::caller()).map_err(|error| match error {
            RecvTimeoutError::Closed => RecvError::Closed,
            RecvTimeoutError::Cancelled(cancelled) => RecvError::Cancelled(cancelled),
            RecvTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// Receives a message if there is one.
    ///
    /// # Errors
    /// If there is none, and none will come if the channel is closed.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// assert!(receiver.try_recv().is_err());
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// ```
    #[track_caller]
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let place = Location::caller();
        each_receiver!(self, channel => blocking::try_receive(&**channel, place)).map_err(|attempt| match attempt {
            Attempt::Closed => TryRecvError::Closed,
            _ => TryRecvError::Empty,
        })
    }

    /// As [`recv`](Self::recv), for at most so long.
    ///
    /// # Errors
    /// If the time is up, the channel is closed and empty, or something from outside ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.recv_timeout(Duration::from_millis(1)).is_err());
    /// ```
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_at(Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`recv`](Self::recv), until this time at most.
    ///
    /// # Errors
    /// As for [`recv_timeout`](Self::recv_timeout).
    ///
    /// ```
    /// use sisal::chan::RecvTimeoutError;
    /// use std::time::{Duration, Instant};
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv_deadline(Instant::now() + Duration::from_secs(60)), Ok(7));
    /// assert_eq!(receiver.recv_deadline(Instant::now()), Err(RecvTimeoutError::TimedOut));
    /// ```
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_at(Some(Moment::of(deadline)), Location::caller())
    }

    /// A receiver without a sender, which is closed by itself only.
    pub(crate) fn of_nobody() -> Receiver<T> {
        Receiver(ReceiverFlavour::Rendezvous(Counted::receiver(Rendezvous::new())))
    }

    #[inline(always)]
    pub(super) fn recv_at(&self, deadline: Option<Moment>, place: Place) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            ReceiverFlavour::Array(channel) => blocking::receive_from_array(channel, deadline, place),
            ReceiverFlavour::List(channel) => blocking::receive(&**channel, deadline, place),
            ReceiverFlavour::Rendezvous(channel) => blocking::receive_from_rendezvous(channel, deadline, place),
            ReceiverFlavour::Clock(channel) => blocking::receive(&**channel, deadline, place),
        }
    }

    /// The messages as they come, until the channel is closed and empty, or something from outside ends a wait.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(3);
    /// (1..=3).for_each(|number| sender.send(number).unwrap());
    /// drop(sender);
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The messages that are there, until there is none.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(3);
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [7]);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// As [`Sender::close`](super::Sender::close). Channels that time sends to can't be closed.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(2);
    /// sender.send(7).unwrap();
    /// assert!(receiver.close() && !receiver.close());
    /// assert!(sender.send(8).unwrap_err().is_closed());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn close(&self) -> bool {
        each_receiver!(self, channel => channel.close())
    }

    /// As [`Sender::close_with`](super::Sender::close_with).
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// receiver.close_with("that was enough");
    /// assert!(sender.send(7).is_err());
    /// assert_eq!(sender.close_reason().unwrap().to_string(), "that was enough");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        let reason = Arc::from(reason.into());
        each_receiver!(self, channel => channel.close_with(reason))
    }

    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.close_reason().is_none());
    /// sender.close_with("the disk is full");
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        each_receiver!(self, channel => channel.reason())
    }

    /// Whether the channel is closed. There may still be messages in it.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// sender.send(7).unwrap();
    /// drop(sender);
    /// assert!(receiver.is_closed());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn is_closed(&self) -> bool {
        each_receiver!(self, channel => channel.is_closed())
    }

    /// How many messages are in the channel.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(4);
    /// (1..=3).for_each(|number| sender.send(number).unwrap());
    /// assert_eq!(receiver.len(), 3);
    /// receiver.recv().unwrap();
    /// assert_eq!(receiver.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        each_receiver!(self, channel => channel.len())
    }

    /// Whether no message is in the channel.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// assert!(receiver.is_empty());
    /// sender.send(7).unwrap();
    /// assert!(!receiver.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room in the channel.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// sender.send(7).unwrap();
    /// assert!(receiver.is_full());
    /// receiver.recv().unwrap();
    /// assert!(!receiver.is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.len() >= capacity)
    }

    /// How many messages there is room for; none if for any number.
    ///
    /// ```
    /// assert_eq!(sisal::chan::bounded::<u32>(4).1.capacity(), Some(4));
    /// assert_eq!(sisal::chan::unbounded::<u32>().1.capacity(), None);
    /// ```
    pub fn capacity(&self) -> Option<usize> {
        each_receiver!(self, channel => channel.capacity())
    }

    /// How many senders the channel has.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// let other = sender.clone();
    /// assert_eq!(receiver.sender_count(), 2);
    /// drop((sender, other));
    /// assert_eq!(receiver.sender_count(), 0);
    /// ```
    pub fn sender_count(&self) -> usize {
        each_receiver!(self, channel => channel.senders())
    }

    /// How many receivers the channel has.
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// let other = receiver.clone();
    /// assert_eq!(receiver.receiver_count(), 2);
    /// drop(other);
    /// assert_eq!(receiver.receiver_count(), 1);
    /// ```
    pub fn receiver_count(&self) -> usize {
        each_receiver!(self, channel => channel.receivers())
    }

    /// Whether both receive from the same channel.
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    /// assert!(receiver.same_channel(&receiver.clone()));
    /// assert!(!receiver.same_channel(&sisal::chan::bounded(1).1));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.0, &other.0) {
            (ReceiverFlavour::Array(one), ReceiverFlavour::Array(two)) => one.same(two),
            (ReceiverFlavour::List(one), ReceiverFlavour::List(two)) => one.same(two),
            (ReceiverFlavour::Rendezvous(one), ReceiverFlavour::Rendezvous(two)) => one.same(two),
            (ReceiverFlavour::Clock(one), ReceiverFlavour::Clock(two)) => one.same(two),
            _ => false,
        }
    }
}

impl<T> Receiver<T> {
    /// Has `f` called with `number` when the last receiver has gone.
    pub(crate) fn on_last_receiver(&self, f: fn(u64), number: u64) {
        each_receiver!(self, channel => channel.on_last_receiver(f, number));
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        Receiver(match &self.0 {
            ReceiverFlavour::Array(channel) => ReceiverFlavour::Array(channel.clone_receiver()),
            ReceiverFlavour::List(channel) => ReceiverFlavour::List(channel.clone_receiver()),
            ReceiverFlavour::Rendezvous(channel) => ReceiverFlavour::Rendezvous(channel.clone_receiver()),
            ReceiverFlavour::Clock(channel) => ReceiverFlavour::Clock(channel.clone_receiver()),
        })
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        each_receiver!(self, channel => channel.drop_receiver());
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// See [`Receiver::iter`].
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(2);
/// sender.send(7).unwrap();
/// drop(sender);
/// let mut messages: sisal::chan::Iter<'_, u32> = receiver.iter();
/// assert_eq!((messages.next(), messages.next()), (Some(7), None));
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// See [`Receiver::try_iter`].
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(2);
/// sender.send(7).unwrap();
/// let mut messages: sisal::chan::TryIter<'_, u32> = receiver.try_iter();
/// // The channel is open, but there is no more now.
/// assert_eq!((messages.next(), messages.next()), (Some(7), None));
/// ```
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// See [`Receiver::iter`]; owns the receiver.
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(2);
/// (1..=2).for_each(|number| sender.send(number).unwrap());
/// drop(sender);
/// let messages: sisal::chan::IntoIter<u32> = receiver.into_iter();
/// assert_eq!(messages.collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
