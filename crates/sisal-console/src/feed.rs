//! The stream of messages to one client.

use futures_core::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;
use tonic::Status;

/// How many letters wait for a client that does not read. After that it is given up, and may come again.
const PATIENCE: usize = 8;

/// The end that the hub writes to.
pub(crate) struct Watcher<T>(mpsc::Sender<Arc<[T]>>);

/// The end that the client reads from.
pub(crate) struct Feed<T> {
    letters: mpsc::Receiver<Arc<[T]>>,
    letter: Arc<[T]>,
    next: usize,
}

pub(crate) fn feed<T>() -> (Watcher<T>, Feed<T>) {
    let (sender, letters) = mpsc::channel(PATIENCE);
    (Watcher(sender), Feed { letters, letter: Arc::new([]), next: 0 })
}

impl<T> Watcher<T> {
    /// Returns whether the client is still there, and reads.
    #[must_use]
    pub(crate) fn send(&self, letter: Arc<[T]>) -> bool {
        self.0.try_send(letter).is_ok()
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}

impl<T: Clone> Stream for Feed<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(message) = self.letter.get(self.next).cloned() {
                self.next += 1;
                return Poll::Ready(Some(Ok(message)));
            }
            let Some(letter) = ready!(self.letters.poll_recv(context)) else { return Poll::Ready(None) };
            (self.letter, self.next) = (letter, 0);
        }
    }
}
