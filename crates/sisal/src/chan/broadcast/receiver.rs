//! The receiving end of a broadcast channel.

use super::{BroadcastRecvError, BroadcastRecvTimeoutError, BroadcastTryRecvError, Next, State};
use crate::chan::observed::{Ended, Observed};
use crate::park::pay_fuel;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Receives what is sent to a [`broadcast`](super::broadcast()) channel. A clone goes on from the same message.
///
/// ```
/// use sisal::chan::BroadcastRecvError;
/// let (sender, mut receiver) = sisal::chan::broadcast(2);
/// (1..=5).for_each(|number| drop(sender.send(number)));
/// assert_eq!(receiver.recv(), Err(BroadcastRecvError::Lagged(3)));
/// assert_eq!((receiver.recv(), receiver.recv()), (Ok(4), Ok(5)));
/// ```
pub struct BroadcastReceiver<T> {
    pub(super) shared: Arc<Observed<State<T>>>,
    /// Of its next message.
    pub(super) position: u64,
}

// A panic leaves the channel as it was.
impl<T> UnwindSafe for BroadcastReceiver<T> {}
impl<T> RefUnwindSafe for BroadcastReceiver<T> {}

impl<T: Clone> BroadcastReceiver<T> {
    /// Receives the next message: waits until there is one.
    ///
    /// # Errors
    /// See [`BroadcastRecvError`].
    ///
    /// ```
    /// let (sender, mut receiver) = sisal::chan::broadcast(8);
    /// std::thread::spawn(move || sender.send("from a thread"));
    /// assert_eq!(receiver.recv(), Ok("from a thread"));
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, BroadcastRecvError> {
        self.recv_at(|| None, Location::caller()).map_err(|error| match error {
            BroadcastRecvTimeoutError::Lagged(missed) => BroadcastRecvError::Lagged(missed),
            BroadcastRecvTimeoutError::Closed => BroadcastRecvError::Closed,
            BroadcastRecvTimeoutError::Cancelled(cancelled) => BroadcastRecvError::Cancelled(cancelled),
            BroadcastRecvTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// Receives the next message if it is there.
    ///
    /// # Errors
    /// See [`BroadcastTryRecvError`].
    ///
    /// ```
    /// let (sender, mut receiver) = sisal::chan::broadcast(8);
    /// assert!(receiver.try_recv().is_err());
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// ```
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, BroadcastTryRecvError> {
        let place = Location::caller();
        let next = self.shared.quietly(|state| state.next(&mut self.position));
        // Also in vain: whoever tries again and again has to let others have a turn.
        pay_fuel(place);
        match next {
            Some(Next::Message(message)) => Ok(Arc::unwrap_or_clone(message)),
            Some(Next::Lagged(missed)) => Err(BroadcastTryRecvError::Lagged(missed)),
            Some(Next::Closed) => Err(BroadcastTryRecvError::Closed),
            None => Err(BroadcastTryRecvError::Empty),
        }
    }

    /// As [`recv`](Self::recv), for at most so long.
    ///
    /// # Errors
    /// See [`BroadcastRecvTimeoutError`].
    ///
    /// ```
    /// use sisal::chan::BroadcastRecvTimeoutError;
    /// use std::time::Duration;
    /// let (sender, mut receiver) = sisal::chan::broadcast(1);
    /// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(BroadcastRecvTimeoutError::TimedOut));
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Ok(7));
    /// ```
    #[track_caller]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, BroadcastRecvTimeoutError> {
        self.recv_at(|| Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`recv`](Self::recv), until this time at most.
    ///
    /// # Errors
    /// See [`BroadcastRecvTimeoutError`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let (sender, mut receiver) = sisal::chan::broadcast(1);
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv_deadline(Instant::now() + Duration::from_secs(60)), Ok(7));
    /// assert!(receiver.recv_deadline(Instant::now()).is_err());
    /// ```
    #[track_caller]
    pub fn recv_deadline(&mut self, deadline: Instant) -> Result<T, BroadcastRecvTimeoutError> {
        self.recv_at(|| Some(Moment::of(deadline)), Location::caller())
    }

    fn recv_at(
        &mut self,
        deadline: impl FnOnce() -> Option<Moment>,
        place: Place,
    ) -> Result<T, BroadcastRecvTimeoutError> {
        match self.shared.wait(|state| state.next(&mut self.position), deadline, place) {
            Ok(Next::Message(message)) => Ok(Arc::unwrap_or_clone(message)),
            Ok(Next::Lagged(missed)) => Err(BroadcastRecvTimeoutError::Lagged(missed)),
            Ok(Next::Closed) => Err(BroadcastRecvTimeoutError::Closed),
            Err(Ended::TimedOut) => Err(BroadcastRecvTimeoutError::TimedOut),
            Err(Ended::Cancelled(cancelled)) => Err(BroadcastRecvTimeoutError::Cancelled(cancelled)),
        }
    }

    /// The messages as they come, and in between that some were missed, until the channel is closed and empty, or something from outside
    /// ends a wait.
    ///
    /// ```
    /// use sisal::chan::BroadcastRecvError;
    /// let (sender, mut receiver) = sisal::chan::broadcast(2);
    /// (1..=3).for_each(|number| drop(sender.send(number)));
    /// drop(sender);
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [Err(BroadcastRecvError::Lagged(1)), Ok(2), Ok(3)]);
    /// ```
    pub fn iter(&mut self) -> BroadcastIter<'_, T> {
        BroadcastIter { receiver: self }
    }
}

impl<T> BroadcastReceiver<T> {
    /// What was said when the channel was closed, if something was.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast::<u32>(8);
    /// sender.close_with("done");
    /// assert_eq!(receiver.close_reason().unwrap().to_string(), "done");
    /// ```
    pub fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.shared.quietly(|state| state.reason.clone())
    }

    /// Whether the channel is closed. There may still be messages to receive.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast::<u32>(8);
    /// assert!(!receiver.is_closed());
    /// drop(sender);
    /// assert!(receiver.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.quietly(|state| state.closed)
    }

    /// How many messages there are for this receiver. Those that it has missed are none of them.
    ///
    /// ```
    /// let (sender, mut receiver) = sisal::chan::broadcast(8);
    /// (1..=3).for_each(|number| drop(sender.send(number)));
    /// receiver.recv().unwrap();
    /// assert_eq!((receiver.len(), sender.len()), (2, 3));
    /// ```
    pub fn len(&self) -> usize {
        self.shared.quietly(|state| state.left(self.position))
    }

    /// Whether there is no message for this receiver.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::broadcast(8);
    /// assert!(receiver.is_empty());
    /// sender.send(1).unwrap();
    /// assert!(!receiver.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`BroadcastSender::capacity`](super::BroadcastSender::capacity).
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::broadcast::<u32>(8);
    /// assert_eq!(receiver.capacity(), 8);
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.quietly(|state| state.capacity)
    }
}

/// See [`BroadcastReceiver::iter`].
///
/// ```
/// let (sender, mut receiver) = sisal::chan::broadcast(8);
/// sender.send(7).unwrap();
/// drop(sender);
/// let mut messages: sisal::chan::BroadcastIter<'_, i32> = receiver.iter();
/// assert_eq!(messages.next(), Some(Ok(7)));
/// assert_eq!(messages.next(), None);
/// ```
#[derive(Debug)]
pub struct BroadcastIter<'a, T> {
    receiver: &'a mut BroadcastReceiver<T>,
}

impl<T: Clone> Iterator for BroadcastIter<'_, T> {
    type Item = Result<T, BroadcastRecvError>;

    #[track_caller]
    fn next(&mut self) -> Option<Result<T, BroadcastRecvError>> {
        match self.receiver.recv() {
            Err(BroadcastRecvError::Closed | BroadcastRecvError::Cancelled(_)) => None,
            result => Some(result),
        }
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut BroadcastReceiver<T> {
    type Item = Result<T, BroadcastRecvError>;
    type IntoIter = BroadcastIter<'a, T>;

    fn into_iter(self) -> BroadcastIter<'a, T> {
        self.iter()
    }
}

impl<T> Clone for BroadcastReceiver<T> {
    fn clone(&self) -> BroadcastReceiver<T> {
        self.shared.quietly(|state| state.receivers += 1);
        BroadcastReceiver { shared: Arc::clone(&self.shared), position: self.position }
    }
}

impl<T> Drop for BroadcastReceiver<T> {
    fn drop(&mut self) {
        self.shared.quietly(|state| state.receivers -= 1);
        while let Some(unwanted) = self.shared.quietly(State::take_unwanted) {
            drop(unwanted);
        }
    }
}

impl<T> fmt::Debug for BroadcastReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastReceiver").field("position", &self.position).finish_non_exhaustive()
    }
}
