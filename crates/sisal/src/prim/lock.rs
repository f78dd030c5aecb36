//! The one door to the lock for a few instructions at a time: the [biased](super::biased_lock) one, or in loom's models its own, which
//! has fewer runs to try.

#[cfg(not(loom))]
pub(crate) use super::biased_lock::{Lock, LockGuard, Others, OwnGuard};

#[cfg(loom)]
pub(crate) use self::model::{Lock, Others, OwnGuard};
#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard as LockGuard;

#[cfg(loom)]
mod model {
    use crate::prim::atomic::{AtomicUsize, Ordering};
    use crate::prim::thread_number::ThreadNumber;
    use std::ops::{Deref, DerefMut};

    pub(crate) struct Lock<T>(loom::sync::Mutex<T>);

    pub(crate) struct OwnGuard<'a, T>(loom::sync::MutexGuard<'a, T>);

    impl<T> OwnGuard<'_, T> {
        pub(crate) fn keep(self) {
            std::mem::forget(self);
        }
    }

    impl<T> Deref for OwnGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for OwnGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }

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

        /// It is nobody's own.
        pub(crate) fn lock_own(&self, _: ThreadNumber) -> Option<OwnGuard<'_, T>> {
            None
        }

        #[allow(unsafe_code, reason = "as the other asks for")]
        pub(crate) unsafe fn own_again(&self) -> OwnGuard<'_, T> {
            OwnGuard(self.lock())
        }

        pub(crate) fn see(&self, _: &Others) {}
    }
}
