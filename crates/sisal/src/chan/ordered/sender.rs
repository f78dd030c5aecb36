//! The sending side of an ordered channel, and who does the work.

use super::queue::{Entrance, queue};
use super::receiver::OrderedReceiver;
use super::work::Work;
use crate::chan::error::{SendError, SendTimeoutError, TrySendError};
use crate::fiber::waiter::Woken;
use crate::park::scope;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use crate::spawn::token::SpawnToken;
use crate::spawn::{Handle, default_runtime};
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A channel for work: what is sent runs as fibers, at most `n` at once, results that wait to be received included; the results
/// are received in the order in which the work was sent.
///
/// Works for fibers and threads alike, on both sides. What a fiber sends runs in its own runtime. What a thread outside of runtimes
/// sends runs in the one that the channel was made in, if it was made in one; else in the
/// [default](crate::Runtime::install_default) one; and if there is none, it is done by the thread itself, before the send returns.
///
/// - Work that panics is an [error](super::OrderedRecvError::Panicked) in its place in the order, and the rest goes on. (Only of what a thread does
///   itself, the panic is its own: the send does not return, and there is nothing to receive.)
/// - A cancellation of whoever waits to send gives the work back, and one of whoever waits to receive takes nothing away: the result can be
///   received later. It does not reach the work that was sent, which belongs to nobody's scope: only the end of its runtime does.
///   Work that has not begun by then is [reported](super::OrderedRecvError::Stopped) in its place; the waits of what has begun are cancelled.
/// - After a close no more work is let in, and what was let in is done and can be received. If the receiver is dropped, that is done,
///   too, and its results are lost. Whoever waits to send is told, but for one that waits at the limit of `max_fibers`: it hears of the close
///   when there is a place for one more fiber.
///
/// It is no arm of [`select!`](crate::select!). Have a fiber receive, and send the results on into a [`bounded`](crate::chan::bounded) channel, whose
/// receiver is one; or await them by [`recv_async`](OrderedReceiver::recv_async), together with other futures.
///
/// # Panics
/// If `n` is zero.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(4);
///     let reader = sisal::spawn(move || {
///         for number in 0..100u64 {
///             sender.send(move || number * number).unwrap();
///         }
///     });
///     let squares: Vec<u64> = receiver.iter().map(Result::unwrap).collect();
///     assert!(squares.is_sorted());
///     reader.join().unwrap();
/// });
/// ```
pub fn ordered<T: Send + 'static>(n: usize) -> (OrderedSender<T>, OrderedReceiver<T>) {
    assert!(n > 0, "sisal: an ordered channel needs room for at least one piece of work");
    let (entrance, exit) = queue(n);
    (OrderedSender { entrance, home: Handle::current() }, OrderedReceiver { exit })
}

/// Sends work into an [`ordered`] channel. Clones send into the same one; when the last is gone, it is closed.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(2);
///     sender.send(|| "first").unwrap();
///     let other = sender.clone();
///     std::thread::spawn(move || other.send(|| "second").unwrap()).join().unwrap();
///     assert_eq!((receiver.recv().unwrap(), receiver.recv().unwrap()), ("first", "second"));
/// });
/// ```
pub struct OrderedSender<T> {
    entrance: Entrance<Work<T>>,
    /// The runtime that the channel was made in.
    home: Option<Handle>,
}

// A panic leaves the channel as it was.
impl<T> UnwindSafe for OrderedSender<T> {}
impl<T> RefUnwindSafe for OrderedSender<T> {}

impl<T: Send + 'static> OrderedSender<T> {
    /// Has `work` done by a fiber, or where there is no runtime right here: see [`ordered`]. Waits while as many pieces are under way as
    /// may be, and at the limit of `max_fibers`.
    ///
    /// # Errors
    /// The work, if the channel is closed, or if something from outside ended the wait.
    ///
    /// # Panics
    /// If the work does, and there is no runtime.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     drop(receiver);
    ///     let work = sender.send(|| 42).unwrap_err().into_inner();
    ///     assert_eq!(work(), 42);
    /// });
    /// ```
    ///
    /// On a thread, without a runtime:
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered(1);
    /// sender.send(|| 42).unwrap();
    /// assert_eq!(receiver.recv().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn send<F>(&self, work: F) -> Result<(), SendError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        self.send_by(work, None, Location::caller()).map_err(|error| match error {
            SendTimeoutError::Closed(work) => SendError::Closed(work),
            SendTimeoutError::Cancelled(work, cancelled) => SendError::Cancelled(work, cancelled),
            SendTimeoutError::TimedOut(_) => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// As [`send`](Self::send), if that needs no wait.
    ///
    /// # Errors
    /// The work, if as many pieces are under way as may be, at the limit of `max_fibers`, or if the channel is closed.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     sender.try_send(|| 1).unwrap();
    ///     let work = sender.try_send(|| 2).unwrap_err().into_inner();
    ///     assert_eq!(receiver.recv().unwrap(), 1);
    ///     sender.try_send(work).unwrap();
    ///     assert_eq!(receiver.recv().unwrap(), 2);
    /// });
    /// ```
    #[track_caller]
    pub fn try_send<F>(&self, work: F) -> Result<(), TrySendError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let place = Location::caller();
        let permit = match self.entrance.room_now() {
            Ok(permit) => permit,
            Err(TrySendError::Closed(())) => return Err(TrySendError::Closed(work)),
            Err(TrySendError::Full(())) => return Err(TrySendError::Full(work)),
        };
        let token = match self.runtime().map(SpawnToken::take_now).transpose() {
            Ok(token) => token,
            Err(_) => return Err(TrySendError::Full(work)),
        };
        match self.entrance.reserve(permit) {
            Some(reserved) => {
                reserved.fill(begin(token, work, place));
                Ok(())
            }
            None => Err(TrySendError::Closed(work)),
        }
    }

    /// As [`send`](Self::send), but waits for at most so long. How long the work takes does not matter.
    ///
    /// # Errors
    /// The work, if the time is up, the channel is closed, or something from outside ended the wait.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let (sender, _receiver) = sisal::chan::ordered(1);
    ///     sender.send_timeout(|| 1, Duration::from_millis(1)).unwrap();
    ///     let error = sender.send_timeout(|| 2, Duration::from_millis(1)).unwrap_err();
    ///     assert!(error.is_timed_out());
    ///     assert_eq!(error.into_inner()(), 2);
    /// });
    /// ```
    #[track_caller]
    pub fn send_timeout<F>(&self, work: F, timeout: Duration) -> Result<(), SendTimeoutError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        self.send_by(work, Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`send`](Self::send), but waits until this time at most.
    ///
    /// # Errors
    /// As for [`send_timeout`](Self::send_timeout).
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, _receiver) = sisal::chan::ordered(1);
    ///     sender.send(|| 1).unwrap();
    ///     assert!(sender.send_deadline(|| 2, std::time::Instant::now()).unwrap_err().is_timed_out());
    /// });
    /// ```
    #[track_caller]
    pub fn send_deadline<F>(&self, work: F, deadline: Instant) -> Result<(), SendTimeoutError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        self.send_by(work, Some(Moment::of(deadline)), Location::caller())
    }

    fn send_by<F>(&self, work: F, deadline: Option<Moment>, place: Place) -> Result<(), SendTimeoutError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let permit = match self.entrance.room_by(deadline, place) {
            Ok(permit) => permit,
            Err(SendTimeoutError::Closed(())) => return Err(SendTimeoutError::Closed(work)),
            Err(SendTimeoutError::TimedOut(())) => return Err(SendTimeoutError::TimedOut(work)),
            Err(SendTimeoutError::Cancelled((), cancelled)) => {
                return Err(SendTimeoutError::Cancelled(work, cancelled));
            }
        };
        let token = match self.runtime().map(|runtime| SpawnToken::take_by(runtime, deadline, place)).transpose() {
            Ok(token) => token,
            Err(Woken::Cancelled(cause)) => return Err(SendTimeoutError::Cancelled(work, Cancelled::by(cause))),
            Err(_) => return Err(SendTimeoutError::TimedOut(work)),
        };
        match self.entrance.reserve(permit) {
            Some(reserved) => {
                reserved.fill(begin(token, work, place));
                Ok(())
            }
            None => Err(SendTimeoutError::Closed(work)),
        }
    }

    /// Where what is sent here runs; none if by the caller.
    fn runtime(&self) -> Option<Handle> {
        Handle::current().or_else(|| self.home.clone()).or_else(|| default_runtime().cloned())
    }
}

/// Begins the work, or does it.
fn begin<T: Send + 'static>(
    token: Option<SpawnToken>,
    work: impl FnOnce() -> T + Send + 'static,
    place: Place,
) -> Work<T> {
    match token {
        Some(token) => Work::Spawned(token.spawn(place, work)),
        // As in a fiber of its own: nothing that its sender is inside ends its waits.
        None => Work::Done(scope::shielded(work)),
    }
}

impl<T> OrderedSender<T> {
    /// Closes the channel for both sides: no more work is let in; what was let in is done, and can be received. True if this call did it.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(2);
    ///     sender.send(|| 7).unwrap();
    ///     assert!(sender.close() && !receiver.close());
    ///     assert!(sender.send(|| 8).unwrap_err().is_closed());
    ///     assert_eq!(receiver.recv().unwrap(), 7);
    ///     assert!(receiver.recv().is_err());
    /// });
    /// ```
    pub fn close(&self) -> bool {
        self.entrance.close()
    }

    /// As [`close`](Self::close), and says why; both sides can ask for that. False, and nothing done, if it was closed already.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(2);
    /// sender.close_with("the disk is full");
    /// assert!(receiver.recv().is_err());
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.entrance.close_with(reason)
    }

    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// assert!(sender.close_reason().is_none());
    /// receiver.close_with("that was enough");
    /// assert_eq!(sender.close_reason().unwrap().to_string(), "that was enough");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.entrance.close_reason()
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::ordered::<u32>(1);
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.entrance.is_closed()
    }

    /// How many pieces of work are in the channel: sent, done or not, and their results not yet received.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(2);
    ///     (0..2).for_each(|number| sender.send(move || number).unwrap());
    ///     assert!(sender.len() == 2 && sender.is_full());
    ///     receiver.recv().unwrap();
    ///     assert!(sender.len() == 1 && !sender.is_full());
    /// });
    /// ```
    pub fn len(&self) -> usize {
        self.entrance.len()
    }

    /// Whether no work is in the channel.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     sender.send(|| 7).unwrap();
    ///     assert!(!sender.is_empty());
    ///     receiver.recv().unwrap();
    ///     assert!(sender.is_empty());
    /// });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room in the channel.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, _receiver) = sisal::chan::ordered(1);
    ///     assert!(!sender.is_full());
    ///     sender.send(|| 7).unwrap();
    ///     assert!(sender.is_full());
    /// });
    /// ```
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }

    /// How many pieces of work there is room for.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::ordered::<u32>(4);
    /// assert_eq!(sender.capacity(), 4);
    /// ```
    pub fn capacity(&self) -> usize {
        self.entrance.capacity()
    }

    /// How many senders the channel has.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::ordered::<u32>(1);
    /// let other = sender.clone();
    /// assert_eq!(other.sender_count(), 2);
    /// drop(sender);
    /// assert_eq!(other.sender_count(), 1);
    /// ```
    pub fn sender_count(&self) -> usize {
        self.entrance.senders()
    }
}

impl<T> Clone for OrderedSender<T> {
    fn clone(&self) -> OrderedSender<T> {
        OrderedSender { entrance: self.entrance.clone(), home: self.home.clone() }
    }
}

impl<T> fmt::Debug for OrderedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("OrderedSender");
        debug.field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
