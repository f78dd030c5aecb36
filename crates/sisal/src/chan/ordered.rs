//! A channel for work: each piece becomes a fiber, and the results are received in the order in which the work was sent.
//!
//! # Protocol
//! Made of what is there already: a [semaphore](crate::sync::Semaphore) of `n` permits for what is under way, and a channel of join
//! handles with room for `n`.
//! - *Send*: take a permit (this is the wait, which can be cancelled), spawn the work, send its handle. That needs no wait, since
//!   every handle in the channel has a permit. The order of the results is the order in which the handles got in.
//! - *Receive*: take the turn (receivers take turns, so that results go out in order), then the handle at the front; wait for its end;
//!   give a permit back. If that wait is cancelled, the handle stays at the front for whoever is next.
//! - *The senders are gone*: the channel of handles is closed by that, and drained.
//! - *The receiver is gone*: the channel of handles is closed, and then there are permits for everybody: whoever waits for one gets it,
//!   sees that the channel is closed, and takes its work back. What has been spawned goes on, and nobody sees its result.

use super::error::{RecvError, SendError, TrySendError};
use super::{Receiver, Sender, bounded};
use crate::join::{JoinError, JoinHandle, Panic};
use crate::prim::cancel::Cancelled;
use crate::prim::lock::Lock;
use crate::spawn::spawn;
use crate::sync::Semaphore;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// More than there can ever be senders, and no more than can be counted together with those there are.
const FOR_EVERYBODY: usize = usize::MAX / 2;

/// A channel for work: what is sent runs as fibers, at most `n` at once, results that wait to be received included; the results
/// are received in the order in which the work was sent.
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
    let (sender, receiver) = bounded(n);
    let permits = Arc::new(Semaphore::new(n));
    let sender = OrderedSender { handles: sender, permits: Arc::clone(&permits) };
    let receiver = OrderedReceiver { handles: receiver, permits, turn: Semaphore::new(1), front: Lock::new(None) };
    (sender, receiver)
}

/// Sends work into an [`ordered`] channel. Clones send into the same one; when the last is gone, it is closed.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::ordered(2);
///     sender.send(|| "first").unwrap();
///     sender.clone().send(|| "second").unwrap();
///     assert_eq!((receiver.recv().unwrap(), receiver.recv().unwrap()), ("first", "second"));
/// });
/// ```
pub struct OrderedSender<T> {
    handles: Sender<JoinHandle<T>>,
    permits: Arc<Semaphore>,
}

// A panic leaves the channel as it was.
impl<T> UnwindSafe for OrderedSender<T> {}
impl<T> RefUnwindSafe for OrderedSender<T> {}

impl<T: Send + 'static> OrderedSender<T> {
    /// Spawns `work` as a fiber: waits while as many are under way as may be.
    ///
    /// # Errors
    /// The work, if the receiver is gone, or if something from outside ended the wait.
    ///
    /// # Panics
    /// Outside of a runtime, as [`spawn`](crate::spawn) does.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::ordered(1);
    ///     drop(receiver);
    ///     let work = sender.send(|| 42).unwrap_err().into_inner();
    ///     assert_eq!(work(), 42);
    /// });
    /// ```
    #[track_caller]
    pub fn send<F>(&self, work: F) -> Result<(), SendError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let permit = match self.permits.acquire() {
            Ok(permit) => permit,
            Err(cancelled) => return Err(SendError::Cancelled(work, cancelled)),
        };
        if self.handles.is_closed() {
            return Err(SendError::Closed(work));
        }
        // If this panics, the permit goes back.
        let handle = spawn(work);
        // It belongs to the handle from now on, and goes back when the result has been received.
        permit.forget();
        match self.handles.try_send(handle) {
            // If the receiver has gone just now, nobody sees the result.
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
            Err(TrySendError::Full(_)) => unreachable!("INVARIANT: there is room for each permit"),
        }
    }
}

impl<T> Clone for OrderedSender<T> {
    fn clone(&self) -> OrderedSender<T> {
        OrderedSender { handles: self.handles.clone(), permits: Arc::clone(&self.permits) }
    }
}

impl<T> fmt::Debug for OrderedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedSender").finish_non_exhaustive()
    }
}

/// Receives the results of an [`ordered`] channel. If it is dropped, work that is under way goes on, and its results are lost.
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
    handles: Receiver<JoinHandle<T>>,
    permits: Arc<Semaphore>,
    /// For whoever receives.
    turn: Semaphore,
    /// A handle that was taken from the channel and could not be waited for. Touched by whoever has the turn.
    front: Lock<Option<JoinHandle<T>>>,
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
        let _turn = self.turn.acquire().map_err(OrderedRecvError::Cancelled)?;
        let kept = self.front.lock().take();
        let handle = match kept {
            Some(handle) => handle,
            None => match self.handles.recv() {
                Ok(handle) => handle,
                Err(RecvError::Closed) => return Err(OrderedRecvError::Closed),
                Err(RecvError::Cancelled(cancelled)) => return Err(OrderedRecvError::Cancelled(cancelled)),
            },
        };
        if let Err(cancelled) = handle.wait() {
            let before = self.front.lock().replace(handle);
            debug_assert!(before.is_none(), "INVARIANT: one handle at a time is taken");
            return Err(OrderedRecvError::Cancelled(cancelled));
        }
        let outcome = handle.take_outcome();
        self.permits.add_permits(1);
        outcome.map_err(|error| match error {
            JoinError::Panicked(panic) => OrderedRecvError::Panicked(panic),
            JoinError::Cancelled(cancelled) => OrderedRecvError::Stopped(cancelled),
            JoinError::Interrupted(_) => unreachable!("INVARIANT: the work is done"),
        })
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
}

impl<T> Drop for OrderedReceiver<T> {
    fn drop(&mut self) {
        self.handles.close();
        self.permits.add_permits(FOR_EVERYBODY);
    }
}

impl<T> fmt::Debug for OrderedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedReceiver").finish_non_exhaustive()
    }
}

/// See [`OrderedReceiver::iter`].
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

/// No result was received from an [`ordered`] channel.
///
/// ```
/// assert_eq!(sisal::chan::OrderedRecvError::Closed.to_string(), "can't receive: the channel is closed and empty");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderedRecvError {
    /// Nobody is left to send, and all results have been received.
    Closed,
    /// Something from outside ended the wait. The result can still be received.
    Cancelled(Cancelled),
    /// This piece of work panicked.
    Panicked(Panic),
    /// This piece of work was cancelled before it ran.
    Stopped(Cancelled),
}

impl fmt::Display for OrderedRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderedRecvError::Closed => RecvError::Closed.fmt(f),
            OrderedRecvError::Cancelled(cancelled) => RecvError::Cancelled(*cancelled).fmt(f),
            OrderedRecvError::Panicked(panic) => panic.fmt(f),
            OrderedRecvError::Stopped(cancelled) => write!(f, "the work was not started: {cancelled}"),
        }
    }
}

impl std::error::Error for OrderedRecvError {}
