//! The right to spawn a fiber, for those who can't go back once they spawn: they wait for it first, and may give up.
#![allow(unsafe_code, reason = "the bounds here are what makes launching sound")]

use super::handle::Handle;
use super::launch::{Entry, Options, launch, wait_to_enter};
use crate::fiber::waiter::Woken;
use crate::join::JoinHandle;
use crate::park::{Waiting, unpark};
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::sched::limit::Admission;

/// A place under the `max_fibers` of a runtime, for a fiber that will be spawned. Goes back if none is.
pub(crate) struct SpawnToken {
    /// None when the place is the fiber's.
    runtime: Option<Handle>,
}

impl SpawnToken {
    /// Takes a place if there is one, or gives the runtime back.
    pub(crate) fn take_now(runtime: Handle) -> Result<SpawnToken, Handle> {
        match &runtime.shared().limit {
            Some(limit) if limit.try_enter() == Admission::MustWait => Err(runtime),
            _ => Ok(SpawnToken { runtime: Some(runtime) }),
        }
    }

    /// Waits for a place. If there was none, what ended the wait: the deadline, or a cancellation.
    pub(crate) fn take_by(runtime: Handle, deadline: Option<Moment>, place: Place) -> Result<SpawnToken, Woken> {
        SpawnToken::take_now(runtime).or_else(|runtime| {
            if let Some(limit) = &runtime.shared().limit {
                let object = Object::of(limit);
                let waiting = Waiting { reason: Reason::SpawnLimit, object, place, deadline, cancellable: true };
                match wait_to_enter(limit, &waiting) {
                    Woken::Object(_) => {}
                    ended => return Err(ended),
                }
            }
            Ok(SpawnToken { runtime: Some(runtime) })
        })
    }

    /// Spawns the fiber. Needs no wait.
    pub(crate) fn spawn<F, T>(mut self, place: Place, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = Options { entry: Entry::Granted, ..Options::default() };
        // SAFETY: both are `Send` and `'static`.
        let handle = unsafe { launch(self.runtime.as_ref().map(Handle::shared), options, place, f) };
        self.runtime = None;
        handle.unwrap_or_else(|error| unreachable!("INVARIANT: it has a runtime and a place there: {error}"))
    }
}

impl Drop for SpawnToken {
    fn drop(&mut self) {
        if let Some(runtime) = &self.runtime
            && let Some(limit) = &runtime.shared().limit
            && let Some(next) = limit.leave()
        {
            unpark(next);
        }
    }
}
