//! Waiting for a change as a task, by [observing](crate::chan::observed::Observing) the version.

use super::{Since, WatchReceiver};
use crate::chan::error::RecvError;
use crate::chan::observed::Observing;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A wait for a change as a future. See [`WatchReceiver::changed_async`].
///
/// ```
/// let (sender, mut receiver) = sisal::chan::watch(1);
/// let change: sisal::chan::ChangedFuture<'_, i32> = receiver.changed_async();
/// sender.send(2);
/// assert!(sisal::block_on(change).is_ok());
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct ChangedFuture<'a, T> {
    receiver: &'a mut WatchReceiver<T>,
    observing: Observing,
}

impl<T> WatchReceiver<T> {
    /// As [`changed`](Self::changed), as a future for any executor. Dropping it before it is ready leaves everything as not seen that was not.
    ///
    /// Nothing from outside ends its wait, so the error is always that the sender is gone and nothing newer is there. In a fiber it says once in
    /// a while that it is not ready although it might be, and wakes itself, so that others have a turn.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, mut receiver) = sisal::chan::watch(1);
    ///     sisal::spawn(move || sender.send(2));
    ///     assert_eq!(sisal::block_on(receiver.changed_async()), Ok(()));
    ///     assert_eq!(receiver.get(), 2);
    ///     assert!(sisal::block_on(receiver.changed_async()).unwrap_err().is_closed());
    /// });
    /// ```
    pub fn changed_async(&mut self) -> ChangedFuture<'_, T> {
        ChangedFuture { receiver: self, observing: Observing::new() }
    }
}

impl<T> Future for ChangedFuture<'_, T> {
    type Output = Result<(), RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), RecvError>> {
        let ChangedFuture { receiver, observing } = self.get_mut();
        let seen = &mut receiver.seen;
        observing.poll(&receiver.shared.news, |news| news.since(seen), context).map(|since| match since {
            Since::Newer => Ok(()),
            Since::Gone => Err(RecvError::Closed),
        })
    }
}

impl<T> Drop for ChangedFuture<'_, T> {
    fn drop(&mut self) {
        self.observing.abandon(&self.receiver.shared.news);
    }
}

impl<T> fmt::Debug for ChangedFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedFuture").field("receiver", self.receiver).finish()
    }
}
