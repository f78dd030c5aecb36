//! A fiber for a future.

use super::block_on::drive;
use crate::fiber::body::end_cancelled;
use crate::join::JoinHandle;
use crate::prim::reason::Place;
use crate::spawn::{Builder, Handle};
use std::panic::Location;

/// Spawns a fiber that runs a future to its end, in the caller's runtime.
///
/// It inherits nothing from its caller. When it is [cancelled](JoinHandle::cancel), or the runtime stops, the future is dropped where
/// it waits, and the join returns [`JoinError::Cancelled`](crate::JoinError::Cancelled).
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// sisal::run(|| {
///     let half = sisal::spawn(|| 21);
///     let double = sisal::spawn_future(async move { half.await.unwrap() * 2 });
///     assert_eq!(double.join().unwrap(), 42);
/// });
/// ```
#[track_caller]
pub fn spawn_future<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let place = Location::caller();
    Builder::new().spawn(move || to_the_end(future, place))
}

impl Handle {
    /// As [`spawn_future`], in this runtime, from anywhere. Waits at the limit of `max_fibers`: a fiber parks, a thread blocks.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let double = runtime.handle().spawn_future(async move { receiver.recv_async().await.unwrap() * 2 });
    /// sender.send(21).unwrap();
    /// assert_eq!(double.join().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn spawn_future<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let place = Location::caller();
        self.spawn(move || to_the_end(future, place))
    }
}

/// As [`spawn_future`], on the caller's worker, where it stays; so the future need not be [`Send`].
///
/// # Panics
/// Outside of a runtime's fibers.
///
/// ```
/// use std::rc::Rc;
/// sisal::run(|| {
///     let text = Rc::new("here");
///     let length = sisal::spawn_future_local(async move { text.len() });
///     assert_eq!(length.join().unwrap(), 4);
/// });
/// ```
#[track_caller]
pub fn spawn_future_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let place = Location::caller();
    Builder::new().spawn_local(move || to_the_end(future, place))
}

/// The future is dropped before the fiber ends as cancelled, so nothing of the user's is there to catch it.
fn to_the_end<F: Future>(future: F, place: Place) -> F::Output {
    match drive(future, true, place) {
        Ok(output) => output,
        Err(cancelled) => end_cancelled(cancelled.cause),
    }
}
