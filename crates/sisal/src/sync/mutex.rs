//! A mutex: the [lock](super::raw_mutex), what it guards, and its guards.
#![allow(unsafe_code, reason = "a lock hands out access to what it guards")]

use super::raw_mutex::RawMutex;
use crate::park::pay_fuel;
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use crate::prim::reason::{Place, Reason};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// A lock for one at a time. Who waits for it parks its fiber, or blocks its thread outside of fibers.
///
/// It may be held across waits: whoever wants it meanwhile waits too, and the worker goes on with other fibers.
///
/// Whoever runs may overtake those who wait, which keeps the workers busy; but once somebody has waited for more than a millisecond, the
/// lock is given to the one who has waited longest (at most every millisecond, so that the others get on, too). If that is a fiber whose worker is busy
/// with another that computes, the lock waits with it, and so do those who come after it: see [`Builder::cpu_bound`](crate::Builder::cpu_bound). A wait for
/// the lock is not [cancelled](crate::Cancelled) by anything.
///
/// # Panics under the lock
/// There is no poisoning: a panic that unwinds through a guard unlocks the mutex, and the next one sees the value as it was left. If
/// a value must not be seen half changed, make the change last, after everything that may panic.
///
/// # Deadlock
/// Locking it again in the fiber that holds it waits for ever.
///
/// ```
/// use sisal::sync::Mutex;
/// use std::sync::Arc;
///
/// sisal::run(|| {
///     let sum = Arc::new(Mutex::new(0));
///     let adders: Vec<_> = (1..=100)
///         .map(|number| {
///             let sum = sum.clone();
///             sisal::spawn(move || *sum.lock() += number)
///         })
///         .collect();
///     adders.into_iter().for_each(|adder| adder.join().unwrap());
///     assert_eq!(*sum.lock(), 5050);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one at a time, and may be taken out by whoever has the mutex.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above; through the mutex the value gets from one thread to the other.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

// As in `std`: what a panic under the guard leaves behind is seen by others whether they catch it or not.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// A mutex that nobody holds.
        ///
        /// ```
        /// use sisal::sync::Mutex;
        /// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        /// NAMES.lock().push("agave".to_owned());
        /// assert_eq!(NAMES.lock().len(), 1);
        /// ```
        pub fn new(value: T) -> Mutex<T> {
            Mutex { raw: RawMutex::new(), value: UnsafeCell::new(value) }
        }
    }

    /// The value.
    ///
    /// ```
    /// assert_eq!(sisal::sync::Mutex::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody else holds the lock, and takes it until the guard goes.
    ///
    /// ```
    /// let mutex = sisal::sync::Mutex::new(1);
    /// *mutex.lock() += 1;
    /// assert_eq!(*mutex.lock(), 2);
    /// ```
    #[track_caller]
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let place = Location::caller();
        // Before: nobody is to give way while it holds the lock.
        pay_fuel(place);
        self.raw.lock(Reason::Lock, place);
        MutexGuard::new(self)
    }

    /// Takes the lock if nobody holds it.
    ///
    /// ```
    /// let mutex = sisal::sync::Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_none());
    /// # drop(guard);
    /// ```
    #[track_caller]
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // Whoever tries again and again has to let others have a turn, among them the one that holds the lock.
        pay_fuel(Location::caller());
        self.raw.try_lock().then(|| MutexGuard::new(self))
    }

    /// As [`lock`](Self::lock), but waits for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// let mutex = sisal::sync::Mutex::new(1);
    /// let guard = mutex.lock();
    /// assert!(mutex.lock_timeout(Duration::from_millis(5)).is_none());
    /// drop(guard);
    /// assert!(mutex.lock_timeout(Duration::ZERO).is_some());
    /// ```
    #[track_caller]
    #[inline]
    pub fn lock_timeout(&self, timeout: Duration) -> Option<MutexGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.lock_until(Reason::Lock, place, || Moment::now().after(timeout)).then(|| MutexGuard::new(self))
    }

    /// As [`lock`](Self::lock), but waits until this time at most.
    ///
    /// ```
    /// use std::time::Instant;
    /// let mutex = sisal::sync::Mutex::new(1);
    /// let guard = mutex.lock();
    /// assert!(mutex.lock_deadline(Instant::now()).is_none());
    /// drop(guard);
    /// assert!(mutex.lock_deadline(Instant::now()).is_some());
    /// ```
    #[track_caller]
    pub fn lock_deadline(&self, deadline: Instant) -> Option<MutexGuard<'_, T>> {
        let place = Location::caller();
        pay_fuel(place);
        self.raw.lock_until(Reason::Lock, place, || Moment::of(deadline)).then(|| MutexGuard::new(self))
    }

    /// The value, without locking: nobody else has the mutex.
    ///
    /// ```
    /// let mut mutex = sisal::sync::Mutex::new(1);
    /// *mutex.get_mut() = 2;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Mutex");
        // Not by way of what gives way: whoever prints may hold a lock of the thread's.
        match self.raw.try_lock().then(|| MutexGuard::new(self)) {
            Some(guard) => debug.field("value", &&*guard),
            None => debug.field("value", &format_args!("<locked>")),
        };
        debug.finish_non_exhaustive()
    }
}

/// Holds a [`Mutex`] until it goes.
///
/// It stays with the fiber that has locked the mutex:
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// send(sisal::sync::Mutex::new(1).lock());
/// ```
///
/// and can be looked through by others if the value can be:
///
/// ```
/// fn share<T: Sync>(_: T) {}
/// share(sisal::sync::Mutex::new(1).lock());
/// ```
/// ```compile_fail,E0277
/// fn share<T: Sync>(_: T) {}
/// share(sisal::sync::Mutex::new(std::cell::Cell::new(1)).lock());
/// ```
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock is the caller's.
    #[inline]
    fn new(mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        MutexGuard { mutex, not_send: PhantomData }
    }

    /// A guard of a part of the value.
    ///
    /// ```
    /// use sisal::sync::{Mutex, MutexGuard};
    /// let pair = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
    /// *number += 1;
    /// drop(number);
    /// assert_eq!(pair.lock().0, 2);
    /// ```
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        // SAFETY: we hold the lock; and if this panics, `this` gives it back.
        let part = NonNull::from(part(unsafe { &mut *this.mutex.value.get() }));
        MappedMutexGuard { raw: &ManuallyDrop::new(this).mutex.raw, part, value: PhantomData }
    }

    /// Lets others have the lock while `wait` runs, which must not unwind, and takes it back.
    #[inline]
    pub(super) fn unlocked<R>(&mut self, place: Place, wait: impl FnOnce() -> R) -> R {
        // SAFETY: the guard has the lock, and nobody can look through it before it has it again.
        unsafe { self.mutex.raw.unlock() };
        let result = wait();
        self.mutex.raw.lock(Reason::Lock, place);
        result
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock, and nobody else has this guard.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock, and goes.
        unsafe { self.mutex.raw.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Holds a [`Mutex`] until it goes, and reaches a part of the value: see [`MutexGuard::map`].
///
/// ```
/// use sisal::sync::{MappedMutexGuard, Mutex, MutexGuard};
/// fn first(list: &Mutex<Vec<u8>>) -> MappedMutexGuard<'_, u8> {
///     MutexGuard::map(list.lock(), |list| &mut list[0])
/// }
/// let list = Mutex::new(vec![7, 8]);
/// assert_eq!(*first(&list), 7);
/// ```
/// ```compile_fail,E0277
/// use sisal::sync::{Mutex, MutexGuard};
/// fn send<T: Send>(_: T) {}
/// send(MutexGuard::map(Mutex::new(1).lock(), |value| value));
/// ```
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct MappedMutexGuard<'a, U: ?Sized> {
    raw: &'a RawMutex,
    part: NonNull<U>,
    value: PhantomData<&'a mut U>,
}

// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<U: ?Sized + Sync> Sync for MappedMutexGuard<'_, U> {}

impl<'a, U: ?Sized> MappedMutexGuard<'a, U> {
    /// A guard of a part of the part.
    ///
    /// ```
    /// use sisal::sync::{MappedMutexGuard, Mutex, MutexGuard};
    /// let nested = Mutex::new(((1, 2), 3));
    /// let inner = MutexGuard::map(nested.lock(), |outer| &mut outer.0);
    /// assert_eq!(*MappedMutexGuard::map(inner, |inner| &mut inner.1), 2);
    /// ```
    pub fn map<V: ?Sized>(mut this: Self, part: impl FnOnce(&mut U) -> &mut V) -> MappedMutexGuard<'a, V> {
        // SAFETY: we hold the lock; and if this panics, `this` gives it back.
        let part = NonNull::from(part(unsafe { this.part.as_mut() }));
        MappedMutexGuard { raw: ManuallyDrop::new(this).raw, part, value: PhantomData }
    }
}

impl<U: ?Sized> Deref for MappedMutexGuard<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: we hold the lock, and the part is one of the value.
        unsafe { self.part.as_ref() }
    }
}

impl<U: ?Sized> DerefMut for MappedMutexGuard<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: as above, and nobody else has this guard.
        unsafe { self.part.as_mut() }
    }
}

impl<U: ?Sized> Drop for MappedMutexGuard<'_, U> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock, and goes.
        unsafe { self.raw.unlock() };
    }
}

impl<U: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<U: ?Sized + fmt::Display> fmt::Display for MappedMutexGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
