//! Receiving from an ordered channel as a task: the steps of receiving, each as the future that it is elsewhere.

use super::error::OrderedRecvError;
use super::receiver::OrderedReceiver;
use super::work::Work;
use crate::chan::OneReceiver;
use crate::chan::error::TryRecvError;
use crate::chan::receiving::Receiving;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A receive as a future. See [`OrderedReceiver::recv_async`].
///
/// ```
/// sisal::run(|| {
///     let (sender, mut receiver) = sisal::chan::ordered(1);
///     sender.send(|| 7).unwrap();
///     let result: sisal::chan::OrderedRecvFuture<'_, i32> = receiver.recv_async();
///     assert_eq!(sisal::block_on(result).unwrap(), 7);
/// });
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct OrderedRecvFuture<'a, T> {
    receiver: &'a mut OrderedReceiver<T>,
    /// Of the next place.
    receiving: Receiving<OneReceiver<Work<T>>>,
}

impl<T> OrderedReceiver<T> {
    /// Receives the next result, as a future for any executor. Dropping it at any time loses no result.
    ///
    /// It has the receiver for itself, since tasks don't stand in line for their turn as fibers and threads do. Nothing from outside ends its
    /// wait. In a fiber it says once in a while that it is not ready although it might be, and wakes itself, so that others have a turn.
    ///
    /// # Errors
    /// See [`OrderedRecvError`]. In all cases but [`Closed`](OrderedRecvError::Closed) there may be more to receive.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, mut receiver) = sisal::chan::ordered(2);
    ///     (1..=2).for_each(|number| sender.send(move || number).unwrap());
    ///     let sum = sisal::block_on(async { receiver.recv_async().await.unwrap() + receiver.recv_async().await.unwrap() });
    ///     assert_eq!(sum, 3);
    /// });
    /// ```
    pub fn recv_async(&mut self) -> OrderedRecvFuture<'_, T> {
        OrderedRecvFuture { receiver: self, receiving: Receiving::new() }
    }
}

impl<T> Future for OrderedRecvFuture<'_, T> {
    type Output = Result<T, OrderedRecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, OrderedRecvError>> {
        let OrderedRecvFuture { receiver, receiving } = self.get_mut();
        let (exit, waker) = (&receiver.exit, context.waker());
        let received = exit.receive(
            || match receiving.poll(&exit.places, &mut Context::from_waker(waker)) {
                Poll::Ready(place) => place.map_err(|_| TryRecvError::Closed),
                Poll::Pending => Err(TryRecvError::Empty),
            },
            |place| match Pin::new(place).poll(&mut Context::from_waker(waker)) {
                Poll::Ready(filled) => Ok(filled.ok()),
                Poll::Pending => Err(TryRecvError::Empty),
            },
            |work| match work.poll_end(waker) {
                Poll::Ready(()) => Ok(()),
                Poll::Pending => Err(TryRecvError::Empty),
            },
        );
        Poll::Ready(match received {
            Ok(work) => work.into_outcome().map_err(OrderedRecvError::of),
            Err(TryRecvError::Closed) => Err(OrderedRecvError::Closed),
            Err(TryRecvError::Empty) => return Poll::Pending,
        })
    }
}

impl<T> Drop for OrderedRecvFuture<'_, T> {
    fn drop(&mut self) {
        self.receiving.abandon(&self.receiver.exit.places);
    }
}

impl<T> fmt::Debug for OrderedRecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedRecvFuture").field("receiver", self.receiver).finish()
    }
}
