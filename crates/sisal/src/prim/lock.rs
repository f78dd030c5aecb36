//! The one door to the lock for a few instructions at a time: the [biased](super::biased_lock) one, or in loom's models its own, which
//! has fewer runs to try.

#[cfg(not(loom))]
pub(crate) use super::biased_lock::{Lock, LockGuard};

#[cfg(loom)]
pub(crate) use self::model::Lock;
#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard as LockGuard;

#[cfg(loom)]
mod model {
    pub(crate) struct Lock<T>(loom::sync::Mutex<T>);

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}
