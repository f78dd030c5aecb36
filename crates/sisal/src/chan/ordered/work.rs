//! What fills a place: work that a fiber does, or that was done.

use super::queue::UnderWay;
use crate::fiber::waiter::Woken;
use crate::join::{JoinError, JoinHandle};
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::task::{Poll, Waker};

pub(super) enum Work<T> {
    /// By a fiber.
    Spawned(JoinHandle<T>),
    /// By its sender.
    Done(T),
}

impl<T> UnderWay for Work<T> {
    fn is_done(&self) -> bool {
        match self {
            Work::Spawned(handle) => handle.is_finished(),
            Work::Done(_) => true,
        }
    }

    fn wait_by(&self, deadline: Option<Moment>, place: Place) -> Woken {
        match self {
            Work::Spawned(handle) => handle.wait_by(deadline, place),
            Work::Done(_) => Woken::Object(0),
        }
    }
}

impl<T> Work<T> {
    /// Whether it is done; if not, the waker will be called.
    pub(super) fn poll_end(&self, waker: &Waker) -> Poll<()> {
        match self {
            Work::Spawned(handle) => handle.poll_end(waker),
            Work::Done(_) => Poll::Ready(()),
        }
    }

    /// It is done: what came of it.
    pub(super) fn into_outcome(self) -> Result<T, JoinError> {
        match self {
            Work::Spawned(handle) => handle.take_outcome(),
            Work::Done(result) => Ok(result),
        }
    }
}
