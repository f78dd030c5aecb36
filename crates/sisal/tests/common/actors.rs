//! More of what actors can do: share one thing, and end in a panic.

use super::places::{Actor, Place};
use super::until;
use sisal::JoinError;
use std::any::Any;
use std::sync::Arc;

impl Place {
    /// Starts so many actors with the same part; each is given what they share and its number.
    #[track_caller]
    pub(crate) fn sharing<S, T, F>(&self, count: usize, shared: &Arc<S>, part: F) -> Vec<Actor<T>>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
        F: Fn(&S, usize) -> T + Send + Sync + 'static,
    {
        let part = Arc::new(part);
        self.crowd(count, |number| {
            let (shared, part) = (Arc::clone(shared), Arc::clone(&part));
            move || part(&shared, number)
        })
    }
}

impl<T> Actor<T> {
    /// Waits for its end: what it returned, or what it panicked with.
    #[track_caller]
    pub(crate) fn end(self) -> Result<T, Box<dyn Any + Send>> {
        match self {
            Actor::Thread(thread) => {
                until(|| thread.is_finished());
                thread.join()
            }
            Actor::Fiber(fiber) => fiber.join().map_err(|error| match error {
                JoinError::Panicked(panic) => panic.into_payload(),
                error => panic!("neither returned nor panicked: {error}"),
            }),
        }
    }
}
