//! The one door to the lock for a few instructions at a time: the [biased](super::biased_lock) one, or in loom's models its own, which
//! has fewer runs to try.

#[cfg(not(loom))]
pub(crate) use super::biased_lock::{Lock, LockGuard, Others, OwnGuard};

#[cfg(loom)]
pub(crate) use self::model::{Lock, Others};
#[cfg(loom)]
pub(crate) use loom::sync::{MutexGuard as LockGuard, MutexGuard as OwnGuard};

#[cfg(loom)]
mod model {
    use crate::prim::atomic::{AtomicUsize, Ordering};
    use crate::prim::thread_number::ThreadNumber;

    pub(crate) struct Lock<T>(loom::sync::Mutex<T>);

    /// Others have come from the beginning.
    pub(crate) struct Others;

    impl Others {
        pub(crate) fn none() -> Others {
            Others
        }
    }

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn lock_as(&self, _: ThreadNumber) -> loom::sync::MutexGuard<'_, T> {
            self.lock()
        }

        pub(crate) fn is_biased(&self) -> bool {
            false
        }

        pub(crate) fn change(&self, _: &Others, word: &AtomicUsize, from: usize, to: usize) -> Result<(), usize> {
            // ORDERING: for the user's partners.
            word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).map(drop)
        }

        pub(crate) fn lock_own(&self, _: ThreadNumber) -> Option<loom::sync::MutexGuard<'_, T>> {
            None
        }

        pub(crate) fn see(&self, _: &Others) {}
    }
}
