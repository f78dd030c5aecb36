//! A readers-writer lock: the [lock](super::raw_rwlock), what it guards, and its guards.
#![allow(unsafe_code, reason = "a lock hands out access to what it guards")]

use super::raw_rwlock::RawRwLock;
use crate::park::pay_fuel;
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// A lock for many who read, or one who writes. Who waits for it parks its fiber, or blocks its thread outside of fibers.
///
/// Neither side starves the other: while somebody waits for readers to leave, no more come in, and when a writer leaves, the readers that
/// wait are next, with those who come before the next writer has woken up. A wait for the lock is not [cancelled](crate::Cancelled) by anything; one that
/// is to be given up is asked for [with a time](Self::write_timeout).
///
/// There is no poisoning: a panic that unwinds through a guard unlocks it, as with [`Mutex`](super::Mutex).
///
/// # Deadlock
/// Who reads must not read again before it has left: in between somebody may have come to write, and then both wait for ever. To read
/// and to write at once waits for ever, too.
///
/// ```
/// use sisal::sync::RwLock;
///
/// let lock = RwLock::new(5);
/// {
///     let (one, other) = (lock.read(), lock.read());
///     assert_eq!(*one + *other, 10);
/// }
/// *lock.write() += 1;
/// assert_eq!(*lock.read(), 6);
/// ```
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: whoever has the lock may take the value out.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the value is reached by one writer, on whatever thread, or by readers on several.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

// As in `std`: what a panic under the guard leaves behind is seen by others whether they catch it or not.
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    const_fn! {
        /// A lock that nobody holds.
        ///
        /// ```
        /// static LIMIT: sisal::sync::RwLock<u32> = sisal::sync::RwLock::new(7);
        /// assert_eq!(*LIMIT.read(), 7);
        /// ```
        pub fn new(value: T) -> RwLock<T> {
            RwLock { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
        }
    }

    /// The value.
    ///
    /// ```
    /// assert_eq!(sisal::sync::RwLock::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes, and reads until the guard goes.
    ///
    /// ```
    /// let lock = sisal::sync::RwLock::new(1);
    /// assert_eq!(*lock.read(), 1);
    /// ```
    #[track_caller]
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let place = Location::caller();
        // Before: nobody is to give way while it holds the lock.
        pay_fuel(place);
        self.raw.read(place);
        RwLockReadGuard::new(self)
    }

    /// Waits until nobody else has the lock, and writes until the guard goes.
    ///
    /// ```
    /// let lock = sisal::sync::RwLock::new(1);
    /// *lock.write() = 2;
    /// assert_eq!(*lock.read(), 2);
    /// ```
    #[track_caller]
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.write(place);
        RwLockWriteGuard::new(self)
    }

    /// Reads, if nobody writes or waits to write.
    ///
    /// ```
    /// let lock = sisal::sync::RwLock::new(1);
    /// let writing = lock.write();
    /// assert!(lock.try_read().is_none());
    /// # drop(writing);
    /// ```
    #[track_caller]
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        pay_fuel(Location::caller());
        self.raw.try_read().then(|| RwLockReadGuard::new(self))
    }

    /// Writes, if nobody else has the lock.
    ///
    /// ```
    /// let lock = sisal::sync::RwLock::new(1);
    /// let reading = lock.read();
    /// assert!(lock.try_write().is_none());
    /// # drop(reading);
    /// ```
    #[track_caller]
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        pay_fuel(Location::caller());
        self.raw.try_write().then(|| RwLockWriteGuard::new(self))
    }

    /// As [`read`](Self::read), but waits for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// let lock = sisal::sync::RwLock::new(1);
    /// let writing = lock.write();
    /// assert!(lock.read_timeout(Duration::from_millis(5)).is_none());
    /// drop(writing);
    /// assert!(lock.read_timeout(Duration::ZERO).is_some());
    /// ```
    #[track_caller]
    pub fn read_timeout(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.read_until(place, || Moment::now().after(timeout)).then(|| RwLockReadGuard::new(self))
    }

    /// As [`read`](Self::read), but waits until this time at most.
    ///
    /// ```
    /// use std::time::Instant;
    /// let lock = sisal::sync::RwLock::new(1);
    /// let writing = lock.write();
    /// assert!(lock.read_deadline(Instant::now()).is_none());
    /// drop(writing);
    /// assert!(lock.read_deadline(Instant::now()).is_some());
    /// ```
    #[track_caller]
    pub fn read_deadline(&self, deadline: Instant) -> Option<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.read_until(place, || Moment::of(deadline)).then(|| RwLockReadGuard::new(self))
    }

    /// As [`write`](Self::write), but waits for at most `timeout`. Readers that have waited for this writer come in when it gives up.
    ///
    /// ```
    /// use std::time::Duration;
    /// let lock = sisal::sync::RwLock::new(1);
    /// let reading = lock.read();
    /// assert!(lock.write_timeout(Duration::from_millis(5)).is_none());
    /// drop(reading);
    /// assert!(lock.write_timeout(Duration::ZERO).is_some());
    /// ```
    #[track_caller]
    pub fn write_timeout(&self, timeout: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.write_until(place, || Moment::now().after(timeout)).then(|| RwLockWriteGuard::new(self))
    }

    /// As [`write`](Self::write), but waits until this time at most. Readers that have waited for this writer come in when it gives up.
    ///
    /// ```
    /// use std::time::Instant;
    /// let lock = sisal::sync::RwLock::new(1);
    /// let reading = lock.read();
    /// assert!(lock.write_deadline(Instant::now()).is_none());
    /// drop(reading);
    /// assert!(lock.write_deadline(Instant::now()).is_some());
    /// ```
    #[track_caller]
    pub fn write_deadline(&self, deadline: Instant) -> Option<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.write_until(place, || Moment::of(deadline)).then(|| RwLockWriteGuard::new(self))
    }

    /// The value, without locking: nobody else has the lock.
    ///
    /// ```
    /// let mut lock = sisal::sync::RwLock::new(1);
    /// *lock.get_mut() = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RwLock");
        // As for `Mutex`.
        match self.raw.try_read().then(|| RwLockReadGuard::new(self)) {
            Some(guard) => debug.field("value", &&*guard),
            None => debug.field("value", &format_args!("<locked>")),
        };
        debug.finish_non_exhaustive()
    }
}

/// Reads under a [`RwLock`] until it goes. It stays with its fiber:
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// send(sisal::sync::RwLock::new(1).read());
/// ```
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The caller reads.
    #[inline]
    fn new(lock: &'a RwLock<T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard { lock, not_send: PhantomData }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we read, so nobody writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: we read, and go.
        unsafe { self.lock.raw.unlock_read() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Writes under a [`RwLock`] until it goes. It stays with its fiber:
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// send(sisal::sync::RwLock::new(1).write());
/// ```
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The caller writes.
    #[inline]
    fn new(lock: &'a RwLock<T>) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard { lock, not_send: PhantomData }
    }

    /// Goes on reading. Nobody else writes in between, and other readers may come in.
    ///
    /// ```
    /// use sisal::sync::{RwLock, RwLockWriteGuard};
    /// let lock = RwLock::new(1);
    /// let mut writing = lock.write();
    /// *writing += 1;
    /// let reading = RwLockWriteGuard::downgrade(writing);
    /// assert_eq!(*reading + *lock.read(), 4);
    /// ```
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: we write, and the guard that would have ended that is gone.
        unsafe { lock.raw.downgrade() };
        RwLockReadGuard::new(lock)
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we write, so nobody else does.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we write, so nobody else has the lock, and nobody else has this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: we write, and go.
        unsafe { self.lock.raw.unlock_write() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
