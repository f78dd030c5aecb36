//! A thing that is lent, until it comes back.

use super::places::{Content, Shared, Vacancy};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A thing that a [`Pool`](super::Pool) has lent. When it is dropped, the thing is reset and goes back.
///
/// If the reset panics, the thing is dropped and its place is free. The panic goes on, unless this happens while unwinding from another.
///
/// ```
/// let pool = sisal::chan::pool(Vec::new, Vec::clear, 1);
/// let mut list = pool.get().unwrap();
/// list.push(7);
/// drop(list);
/// assert!(pool.get().unwrap().is_empty());
/// ```
#[must_use = "a thing that is dropped at once goes back at once"]
pub struct PoolGuard<T> {
    pub(super) shared: Arc<Shared<T>>,
    /// None when the guard goes without giving it back.
    pub(super) thing: Content<T>,
}

// As for the pool; what is lent is another matter.
impl<T: UnwindSafe> UnwindSafe for PoolGuard<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for PoolGuard<T> {}

impl<T> PoolGuard<T> {
    /// Drops the thing, for example because it is broken, and frees its place for a new one.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// pool.get().unwrap().discard();
    /// assert_eq!((pool.idle(), pool.in_use()), (0, 0));
    /// ```
    pub fn discard(mut self) {
        // It goes last, also if the drop panics: never are there more things than places.
        let _vacancy = Vacancy(&self.shared);
        drop(self.thing.take());
    }

    /// Keeps the thing for good, and frees its place for a new one.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// let kept: u32 = pool.get().unwrap().detach();
    /// assert_eq!((kept, pool.in_use()), (7, 0));
    /// ```
    pub fn detach(mut self) -> T {
        let Some(thing) = self.thing.take() else { unreachable!("INVARIANT: there until the guard goes") };
        self.shared.give_back(None);
        thing.value
    }
}

impl<T> Deref for PoolGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.thing {
            Some(thing) => &thing.value,
            None => unreachable!("INVARIANT: there until the guard goes"),
        }
    }
}

impl<T> DerefMut for PoolGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.thing {
            Some(thing) => &mut thing.value,
            None => unreachable!("INVARIANT: there until the guard goes"),
        }
    }
}

impl<T> Drop for PoolGuard<T> {
    fn drop(&mut self) {
        let Some(mut thing) = self.thing.take() else { return };
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| (self.shared.reset)(&mut thing.value))) else {
            return self.shared.give_back(Some(thing));
        };
        let vacancy = Vacancy(&self.shared);
        drop(thing);
        drop(vacancy);
        // A second panic would end the process.
        if !std::thread::panicking() {
            panic::resume_unwind(payload);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PoolGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Display> fmt::Display for PoolGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
