//! Receiving from a broadcast channel as a task, by [observing](crate::chan::observed::Observing) its state.

use super::{BroadcastReceiver, BroadcastRecvError, Next};
use crate::chan::observed::Observing;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A receive as a future. See [`BroadcastReceiver::recv_async`].
///
/// ```
/// let (sender, mut receiver) = sisal::chan::broadcast(8);
/// let message: sisal::chan::BroadcastRecvFuture<'_, i32> = receiver.recv_async();
/// sender.send(7).unwrap();
/// assert_eq!(sisal::block_on(message), Ok(7));
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct BroadcastRecvFuture<'a, T> {
    receiver: &'a mut BroadcastReceiver<T>,
    observing: Observing,
}

impl<T: Clone> BroadcastReceiver<T> {
    /// Receives the next message, as a future for any executor. Dropping it at any time loses no message. (A send never waits, and so needs
    /// none.)
    ///
    /// Nothing from outside ends its wait: the error is that messages were missed, or that the channel is closed and empty. In a fiber it says
    /// once in a while that it is not ready although it might be, and wakes itself, so that others have a turn.
    ///
    /// ```
    /// use sisal::chan::BroadcastRecvError;
    /// sisal::run(|| {
    ///     let (sender, mut receiver) = sisal::chan::broadcast(8);
    ///     sisal::spawn(move || sender.send(42));
    ///     assert_eq!(sisal::block_on(receiver.recv_async()), Ok(42));
    ///     assert_eq!(sisal::block_on(receiver.recv_async()), Err(BroadcastRecvError::Closed));
    /// });
    /// ```
    pub fn recv_async(&mut self) -> BroadcastRecvFuture<'_, T> {
        BroadcastRecvFuture { receiver: self, observing: Observing::new() }
    }
}

impl<T: Clone> Future for BroadcastRecvFuture<'_, T> {
    type Output = Result<T, BroadcastRecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, BroadcastRecvError>> {
        let BroadcastRecvFuture { receiver, observing } = self.get_mut();
        let position = &mut receiver.position;
        observing.poll(&receiver.shared, |state| state.next(position), context).map(|next| match next {
            Next::Message(message) => Ok(Arc::unwrap_or_clone(message)),
            Next::Lagged(missed) => Err(BroadcastRecvError::Lagged(missed)),
            Next::Closed => Err(BroadcastRecvError::Closed),
        })
    }
}

impl<T> Drop for BroadcastRecvFuture<'_, T> {
    fn drop(&mut self) {
        self.observing.abandon(&self.receiver.shared);
    }
}

impl<T> fmt::Debug for BroadcastRecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastRecvFuture").field("receiver", self.receiver).finish()
    }
}
