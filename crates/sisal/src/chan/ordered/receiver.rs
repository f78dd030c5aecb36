//! The receiving side of an ordered channel.

use super::error::{OrderedRecvError, OrderedRecvTimeoutError, OrderedTryRecvError};
use super::queue::Exit;
use super::work::Work;
use crate::chan::error::{RecvTimeoutError, TryRecvError};
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Receives the results of an [`ordered`](super::ordered) channel. If it is dropped, work that is under way goes on, and its results are lost.
///
/// ```
/// use sisal::chan::OrderedRecvError;
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(2);
///     sender.send(|| -> u32 { panic!("no more tea") }).unwrap();
///     sender.send(|| 2).unwrap();
///     assert!(matches!(receiver.recv(), Err(OrderedRecvError::Panicked(_))));
///     assert_eq!(receiver.recv().unwrap(), 2);
/// });
/// ```
pub struct OrderedReceiver<T> {
    pub(super) exit: Exit<Work<T>>,
}

// A panic leaves the channel as it was.
impl<T> UnwindSafe for OrderedReceiver<T> {}
impl<T> RefUnwindSafe for OrderedReceiver<T> {}

impl<T> OrderedReceiver<T> {
    /// Receives the next result: waits until its work has been sent, and is done.
    ///
    /// # Errors
    /// See [`OrderedRecvError`]. In all cases but [`Closed`](OrderedRecvError::Closed) there may be more to receive.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(2);
    ///     sender.send(|| 6 * 7).unwrap();
    ///     assert_eq!(receiver.recv().unwrap(), 42);
    /// });
    /// ```
    #[track_caller]
    pub fn recv(&self) -> Result<T, OrderedRecvError> {
        self.recv_by(None, Location::caller()).map_err(|error| match error {
            OrderedRecvTimeoutError::Closed => OrderedRecvError::Closed,
            OrderedRecvTimeoutError::Cancelled(cancelled) => OrderedRecvError::Cancelled(cancelled),
            OrderedRecvTimeoutError::Panicked(panic) => OrderedRecvError::Panicked(panic),
            OrderedRecvTimeoutError::Stopped(cancelled) => OrderedRecvError::Stopped(cancelled),
            OrderedRecvTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// Receives the next result if it is there, and nobody else is receiving.
    ///
    /// # Errors
    /// See [`OrderedTryRecvError`]. In all cases but [`Closed`](OrderedTryRecvError::Closed) there may be more to receive.
    ///
    /// ```
    /// use sisal::chan::OrderedTryRecvError;
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(2);
    ///     assert!(matches!(receiver.try_recv(), Err(OrderedTryRecvError::Empty)));
    ///     sender.send(|| 7).unwrap();
    ///     drop(sender);
    ///     let mut received = receiver.try_recv();
    ///     while let Err(OrderedTryRecvError::Empty) = received {
    ///         sisal::yield_now();
    ///         received = receiver.try_recv();
    ///     }
    ///     assert_eq!(received.unwrap(), 7);
    ///     assert!(matches!(receiver.try_recv(), Err(OrderedTryRecvError::Closed)));
    /// });
    /// ```
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, OrderedTryRecvError> {
        match self.exit.receive_now() {
            Ok(work) => work.into_outcome().map_err(OrderedTryRecvError::of),
            Err(TryRecvError::Empty) => Err(OrderedTryRecvError::Empty),
            Err(TryRecvError::Closed) => Err(OrderedTryRecvError::Closed),
        }
    }

    /// As [`recv`](Self::recv), for at most so long.
    ///
    /// # Errors
    /// See [`OrderedRecvTimeoutError`]. In all cases but [`Closed`](OrderedRecvTimeoutError::Closed) there may be more to receive.
    ///
    /// ```
    /// use sisal::chan::OrderedRecvTimeoutError;
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     let (go, gone) = sisal::chan::oneshot();
    ///     sender.send(move || gone.recv()).unwrap();
    ///     let too_early = receiver.recv_timeout(Duration::from_millis(1));
    ///     assert!(matches!(too_early, Err(OrderedRecvTimeoutError::TimedOut)));
    ///     go.send(7).unwrap();
    ///     assert_eq!(receiver.recv_timeout(Duration::from_secs(600)).unwrap(), Ok(7));
    /// });
    /// ```
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, OrderedRecvTimeoutError> {
        self.recv_by(Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`recv`](Self::recv), until this time at most.
    ///
    /// # Errors
    /// As for [`recv_timeout`](Self::recv_timeout).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     sender.send(|| 7).unwrap();
    ///     assert_eq!(receiver.recv_deadline(Instant::now() + Duration::from_secs(600)).unwrap(), 7);
    ///     assert!(receiver.recv_deadline(Instant::now()).is_err());
    /// });
    /// ```
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, OrderedRecvTimeoutError> {
        self.recv_by(Some(Moment::of(deadline)), Location::caller())
    }

    fn recv_by(&self, deadline: Option<Moment>, place: Place) -> Result<T, OrderedRecvTimeoutError> {
        match self.exit.receive_by(deadline, place) {
            Ok(work) => work.into_outcome().map_err(OrderedRecvTimeoutError::of),
            Err(RecvTimeoutError::TimedOut) => Err(OrderedRecvTimeoutError::TimedOut),
            Err(RecvTimeoutError::Closed) => Err(OrderedRecvTimeoutError::Closed),
            Err(RecvTimeoutError::Cancelled(cancelled)) => Err(OrderedRecvTimeoutError::Cancelled(cancelled)),
        }
    }

    /// The results as they come, errors of single pieces of work included, until the channel is closed and empty, or something from
    /// outside ends a wait.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(3);
    ///     (1..=3).for_each(|number| sender.send(move || number).unwrap());
    ///     drop(sender);
    ///     assert_eq!(receiver.iter().map(Result::unwrap).collect::<Vec<_>>(), [1, 2, 3]);
    /// });
    /// ```
    pub fn iter(&self) -> OrderedIter<'_, T> {
        OrderedIter { receiver: self }
    }

    /// The results that are there, errors of single pieces of work included, until the next one is not.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered(3);
    /// // Without a runtime the work is done by its sender.
    /// (1..=2).for_each(|number| sender.send(move || number).unwrap());
    /// assert_eq!(receiver.try_iter().map(Result::unwrap).collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn try_iter(&self) -> OrderedTryIter<'_, T> {
        OrderedTryIter { receiver: self }
    }

    /// As [`OrderedSender::close`](super::OrderedSender::close).
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// assert!(receiver.close() && !receiver.close());
    /// assert!(sender.send(|| 7).unwrap_err().is_closed());
    /// ```
    pub fn close(&self) -> bool {
        self.exit.close()
    }

    /// As [`OrderedSender::close_with`](super::OrderedSender::close_with).
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// receiver.close_with("that was enough");
    /// assert_eq!(sender.close_reason().unwrap().to_string(), "that was enough");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.exit.close_with(reason)
    }

    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// assert!(receiver.close_reason().is_none());
    /// sender.close_with("the disk is full");
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.exit.close_reason()
    }

    /// Whether the channel is closed. There may still be results to receive.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     sender.send(|| 7).unwrap();
    ///     drop(sender);
    ///     assert!(receiver.is_closed());
    ///     assert_eq!(receiver.recv().unwrap(), 7);
    /// });
    /// ```
    pub fn is_closed(&self) -> bool {
        self.exit.is_closed()
    }

    /// How many pieces of work are in the channel: sent, done or not, and their results not yet received.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(4);
    ///     (0..3).for_each(|number| sender.send(move || number).unwrap());
    ///     assert_eq!(receiver.len(), 3);
    ///     receiver.recv().unwrap();
    ///     assert_eq!(receiver.len(), 2);
    /// });
    /// ```
    pub fn len(&self) -> usize {
        self.exit.len()
    }

    /// Whether no work is in the channel.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     assert!(receiver.is_empty());
    ///     sender.send(|| 7).unwrap();
    ///     assert!(!receiver.is_empty());
    /// });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room in the channel.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     sender.send(|| 7).unwrap();
    ///     assert!(receiver.is_full());
    ///     receiver.recv().unwrap();
    ///     assert!(!receiver.is_full());
    /// });
    /// ```
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }

    /// How many pieces of work there is room for.
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::ordered::<u32>(4);
    /// assert_eq!(receiver.capacity(), 4);
    /// ```
    pub fn capacity(&self) -> usize {
        self.exit.capacity()
    }

    /// How many senders the channel has.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// let other = sender.clone();
    /// assert_eq!(receiver.sender_count(), 2);
    /// drop((sender, other));
    /// assert_eq!(receiver.sender_count(), 0);
    /// ```
    pub fn sender_count(&self) -> usize {
        self.exit.senders()
    }
}

impl<T> fmt::Debug for OrderedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("OrderedReceiver");
        debug.field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// See [`OrderedReceiver::iter`].
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(2);
///     sender.send(|| "work").unwrap();
///     drop(sender);
///     let mut results: sisal::chan::OrderedIter<'_, _> = receiver.iter();
///     assert_eq!(results.next().unwrap().unwrap(), "work");
///     assert!(results.next().is_none());
/// });
/// ```
#[derive(Debug)]
pub struct OrderedIter<'a, T> {
    receiver: &'a OrderedReceiver<T>,
}

impl<T> Iterator for OrderedIter<'_, T> {
    type Item = Result<T, OrderedRecvError>;

    #[track_caller]
    fn next(&mut self) -> Option<Result<T, OrderedRecvError>> {
        match self.receiver.recv() {
            Err(OrderedRecvError::Closed | OrderedRecvError::Cancelled(_)) => None,
            result => Some(result),
        }
    }
}

impl<'a, T> IntoIterator for &'a OrderedReceiver<T> {
    type Item = Result<T, OrderedRecvError>;
    type IntoIter = OrderedIter<'a, T>;

    fn into_iter(self) -> OrderedIter<'a, T> {
        self.iter()
    }
}

/// See [`OrderedReceiver::try_iter`].
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered::<u32>(1);
///     let mut results: sisal::chan::OrderedTryIter<'_, u32> = receiver.try_iter();
///     assert!(results.next().is_none());
///     drop(sender);
/// });
/// ```
#[derive(Debug)]
pub struct OrderedTryIter<'a, T> {
    receiver: &'a OrderedReceiver<T>,
}

impl<T> Iterator for OrderedTryIter<'_, T> {
    type Item = Result<T, OrderedTryRecvError>;

    #[track_caller]
    fn next(&mut self) -> Option<Result<T, OrderedTryRecvError>> {
        match self.receiver.try_recv() {
            Err(OrderedTryRecvError::Closed | OrderedTryRecvError::Empty) => None,
            result => Some(result),
        }
    }
}

/// See [`OrderedReceiver::iter`]; owns the receiver.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(2);
///     (1..=2).for_each(|number| sender.send(move || number).unwrap());
///     drop(sender);
///     let results: sisal::chan::OrderedIntoIter<u32> = receiver.into_iter();
///     assert_eq!(results.map(Result::unwrap).collect::<Vec<_>>(), [1, 2]);
/// });
/// ```
#[derive(Debug)]
pub struct OrderedIntoIter<T> {
    receiver: OrderedReceiver<T>,
}

impl<T> Iterator for OrderedIntoIter<T> {
    type Item = Result<T, OrderedRecvError>;

    #[track_caller]
    fn next(&mut self) -> Option<Result<T, OrderedRecvError>> {
        self.receiver.iter().next()
    }
}

impl<T> IntoIterator for OrderedReceiver<T> {
    type Item = Result<T, OrderedRecvError>;
    type IntoIter = OrderedIntoIter<T>;

    fn into_iter(self) -> OrderedIntoIter<T> {
        OrderedIntoIter { receiver: self }
    }
}
