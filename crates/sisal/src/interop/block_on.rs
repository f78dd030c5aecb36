//! Waiting for a future.

use super::signal::Signal;
use crate::park::pay_fuel;
use crate::prim::cancel::Cancelled;
use crate::prim::reason::Place;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Runs a future to its end. Parks the fiber that calls it while the future waits, or blocks the thread.
///
/// This is not cancelled: a future's result has no place for that. So a fiber that waits here for something that never comes keeps its
/// runtime from ending in time; where that can be, use [`try_block_on`].
///
/// The future is polled by the caller. What it calls that waits by parking waits inside the poll, which holds up the other
/// parts of the same future, and nobody else.
///
/// ```
/// sisal::run(|| {
///     let handle = sisal::spawn(|| 6 * 7);
///     assert_eq!(sisal::block_on(async { handle.await.unwrap() }), 42);
/// });
/// // As well outside of fibers:
/// assert_eq!(sisal::block_on(async { 6 * 7 }), 42);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match drive(future, false, Location::caller()) {
        Ok(output) => output,
        Err(_) => unreachable!("INVARIANT: it is not cancellable"),
    }
}

/// As [`block_on`], but ends when the caller's waits are cancelled. Then the future is dropped before this returns.
///
/// Cancellation is seen when the future waits, and not while it goes on from poll to poll.
///
/// # Errors
/// [`Cancelled`], when something from outside ended the wait: the runtime stops, an enclosing timeout or nursery ends, or somebody
/// [asked](crate::JoinHandle::cancel) for it.
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let waited = sisal::timeout(Duration::from_millis(1), || sisal::try_block_on(std::future::pending::<()>()));
///     assert_eq!(waited.unwrap_err().cause, sisal::Cause::Deadline);
/// });
/// ```
#[track_caller]
pub fn try_block_on<F: Future>(future: F) -> Result<F::Output, Cancelled> {
    drive(future, true, Location::caller())
}

/// Polls, waits for a wake, and polls again.
pub(super) fn drive<F: Future>(future: F, cancellable: bool, place: Place) -> Result<F::Output, Cancelled> {
    let mut future = pin!(future);
    let signal = Signal::new();
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    loop {
        signal.begin();
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if signal.wait(place, cancellable)? {
            // It goes on and on: others are to have a turn.
            pay_fuel(place);
        }
    }
}
