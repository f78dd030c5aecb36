//! The messages of a channel as a stream.

use super::receiver::Receiver;
use super::receiving::Receiving;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The messages of a channel as they come, until it is closed and empty. See [`Receiver::into_stream`].
///
/// ```
/// use futures_core::Stream;
/// use std::{future::poll_fn, pin::pin};
/// let (sender, receiver) = sisal::chan::bounded(1);
/// sender.send(7).unwrap();
/// let mut stream = pin!(receiver.into_stream());
/// assert_eq!(sisal::block_on(poll_fn(|context| stream.as_mut().poll_next(context))), Some(7));
/// ```
#[must_use = "a stream does nothing unless it is polled"]
pub struct RecvStream<T> {
    receiver: Receiver<T>,
    receiving: Receiving<T>,
}

impl<T> Receiver<T> {
    /// The messages as a [`Stream`], until the channel is closed and empty. Dropping it at any time loses no message to other receivers.
    ///
    /// Needs the feature `futures`.
    ///
    /// ```
    /// use futures_core::Stream;
    /// use std::{future::poll_fn, pin::pin};
    /// let (sender, receiver) = sisal::chan::unbounded();
    /// (1..=3).for_each(|number| sender.send(number).unwrap());
    /// drop(sender);
    /// let mut stream = pin!(receiver.into_stream());
    /// let sum = sisal::block_on(async {
    ///     let mut sum = 0;
    ///     while let Some(number) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
    ///         sum += number;
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 6);
    /// ```
    pub fn into_stream(self) -> RecvStream<T> {
        RecvStream { receiver: self, receiving: Receiving::new() }
    }
}

impl<T> Stream for RecvStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let stream = self.get_mut();
        stream.receiving.poll(&stream.receiver, context).map(Result::ok)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }
}

impl<T> Drop for RecvStream<T> {
    fn drop(&mut self) {
        self.receiving.abandon(&self.receiver);
    }
}

impl<T> fmt::Debug for RecvStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvStream").field("receiver", &self.receiver).finish()
    }
}
