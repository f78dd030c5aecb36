//! The receiver as a future. The protocol is in the [module](super).
#![allow(unsafe_code, reason = "the block is shared memory, owned as its word says")]

use super::OneReceiver;
use crate::chan::error::{RecvError, TryRecvError};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The receiver is a future, for any executor. Nothing from outside ends its wait, so the error is always that the sender is gone.
///
/// ```
/// sisal::run(|| {
///     let (answer, answered) = sisal::chan::oneshot();
///     sisal::spawn(move || answer.send(6 * 7));
///     assert_eq!(sisal::block_on(answered), Ok(42));
/// });
/// ```
impl<T> Future for OneReceiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let receiver = self.get_mut();
        loop {
            if let (Some(block), true) = (receiver.block, receiver.polled)
                // SAFETY: the receiver is not gone.
                && unsafe { block.as_ref() }.meeting.with_task(|_, parker| parker.set_waker(context.waker()))
            {
                return Poll::Pending;
            }
            match (receiver.take(), receiver.block) {
                (Ok(message), _) => return Poll::Ready(Ok(message)),
                (Err(TryRecvError::Empty), Some(block)) => {
                    // SAFETY: the receiver is not gone.
                    if unsafe { block.as_ref() }.meeting.enlist_task(context.waker().clone()) {
                        receiver.polled = true;
                        return Poll::Pending;
                    }
                }
                (Err(_), _) => return Poll::Ready(Err(RecvError::Closed)),
            }
        }
    }
}
