//! A lock for a few instructions at a time.
//!
//! It spins, and from a while on lets the kernel run others, in case its holder has been preempted. Nothing that waits, calls
//! user code or allocates much is done under it. One read-modify-write to take it, a store to give it back: half of what a lock
//! that can put its waiters to sleep costs.
#![allow(unsafe_code, reason = "a lock hands out access to what it guards")]

use super::atomic::{AtomicU32, Backoff, Ordering};
use super::const_fn;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// See the [module](self).
pub(crate) struct Lock<T> {
    /// 1 while it is held.
    held: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one holder at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

// Nothing that could panic is done under it, so nobody sees a half-done change.
impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

/// Gives the lock back when it goes.
pub(crate) struct LockGuard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    const_fn! {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock { held: AtomicU32::new(0), value: UnsafeCell::new(value) }
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        // ORDERING: Acquire pairs with the Release in the guard's drop.
        if self.held.swap(1, Ordering::Acquire) != 0 {
            self.lock_contended();
        }
        LockGuard(self)
    }

    #[cold]
    fn lock_contended(&self) {
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            // Looked at before it is tried: a failed exchange takes the cache line away from the holder.
            // ORDERING: Acquire pairs with the Release in the guard's drop.
            if self.held.load(Ordering::Relaxed) == 0 && self.held.swap(1, Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock, and nobody else has this guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `lock`.
        self.0.held.store(0, Ordering::Release);
    }
}
