//! Which thread of the system a worker runs on, as others may need to know who send it a signal.
//!
//! A number of a thread is used again when the thread has gone. So whoever uses it holds a lock meanwhile, which the thread takes before
//! it goes: it waits there, if need be, and can still be sent signals.

use rustix::thread::{Pid, gettid};
use std::sync::{Mutex, PoisonError};

/// See the [module](self).
pub(crate) struct OsThread(Mutex<Option<Pid>>);

impl OsThread {
    pub(crate) fn new() -> OsThread {
        OsThread(Mutex::new(None))
    }

    /// The thread that calls this is the one, until it [clears](Self::clear) this.
    pub(crate) fn set_to_this_thread(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(gettid());
    }

    /// The thread that calls this is about to go. If another one has taken its place already, that stays.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take_if(|thread| *thread == gettid());
    }

    /// Calls `f` with the number of the thread, if there is one. It does not go meanwhile.
    #[cfg_attr(not(feature = "stack-traces"), allow(dead_code, reason = "nobody sends signals"))]
    pub(crate) fn while_alive<R>(&self, f: impl FnOnce(Pid) -> R) -> Option<R> {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        thread.map(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_goes_leaves_its_successor_there() {
        let place = OsThread::new();
        assert_eq!(place.while_alive(|thread| thread), None);
        std::thread::scope(|scope| {
            scope.spawn(|| place.set_to_this_thread()).join().unwrap();
        });
        place.clear();
        assert!(place.while_alive(|_| ()).is_some(), "set by another");
        place.set_to_this_thread();
        assert_eq!(place.while_alive(|thread| thread), Some(gettid()));
        place.clear();
        assert_eq!(place.while_alive(|thread| thread), None);
    }
}
