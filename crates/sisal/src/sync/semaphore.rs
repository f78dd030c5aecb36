//! A semaphore.
//!
//! # Protocol
//! One lock guards the number of free permits and the line of those who wait, each with the number it wants.
//! - *Acquire*: if nobody stands in line and there are enough, take them; else join the line and park. Whoever is unparked by the
//!   semaphore has its permits.
//! - *Release*: add to the free ones. Then *grant*: as long as there are enough for the first in line, claim it, take its permits
//!   from the free ones, and unpark it when the lock is free again.
//! - *Give up* (time or cancel): leave the line, and grant: perhaps there are enough for those behind.
//!
//! INVARIANT: when the lock is free, there are too few permits for the first in line, if it still waits. So nobody is forgotten.
//! Permits are not lost: they are taken off for a waiter after its claim was won, and then it is this waiter's result.
//! One that wants many is not starved: while it is first nobody gets any.
#![allow(unsafe_code, reason = "requests are reached by pointer, under the lock")]

use super::line::{AllGranted, Line, Request};
use crate::fiber::waiter::{Wait, Woken};
use crate::park::{self, Waiting, pay_fuel};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use crate::prim::lock::{Lock, LockGuard};
use crate::prim::object::{Object, Sight, Tally, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::mem;
use std::panic::Location;
use std::time::{Duration, Instant};

/// A number of permits, which are given out to those who wait in the order they came.
///
/// Who waits for a permit parks its fiber, or blocks its thread outside of fibers.
///
/// ```
/// use sisal::sync::Semaphore;
/// use std::sync::Arc;
///
/// sisal::run(|| {
///     let two_at_a_time = Arc::new(Semaphore::new(2));
///     let workers: Vec<_> = (0..10)
///         .map(|_| {
///             let semaphore = two_at_a_time.clone();
///             sisal::spawn(move || {
///                 let _permit = semaphore.acquire().unwrap();
///                 sisal::yield_now();
///             })
///         })
///         .collect();
///     workers.into_iter().for_each(|worker| worker.join().unwrap());
///     assert_eq!(two_at_a_time.available(), 2);
/// });
/// ```
pub struct Semaphore {
    /// Guarded by the lock of the line.
    free: Tally,
    /// Each with the number of permits it wants.
    line: Lock<Line<usize>>,
}

/// The permits and the line, while the lock is held.
struct Permits<'a> {
    free: &'a Tally,
    line: LockGuard<'a, Line<usize>>,
}

impl Permits<'_> {
    /// Takes `many` if there are enough and nobody waits.
    #[inline]
    fn take(&mut self, many: usize) -> bool {
        let free = self.free.get();
        let enough = many <= free && (self.line.is_empty() || many == 0);
        if enough {
            self.free.set(free - many);
        }
        enough
    }

    /// Gives those in line their permits, from the first on, as far as these suffice.
    fn grant(&mut self) -> AllGranted<usize> {
        let mut all = AllGranted::none();
        while let Some(granted) = self.line.claim_first_if(|&wanted| wanted <= self.free.get()) {
            self.free.set(self.free.get() - granted.data());
            all.push(granted);
        }
        all
    }
}

/// How an attempt that had to wait ended.
enum Ended {
    TimedOut,
    Cancelled(Cancelled),
}

impl Watched for Semaphore {
    fn sight(&self) -> Sight {
        Sight { length: Some(self.free.get()), ..Sight::new("semaphore") }
    }
}

impl Semaphore {
    const_fn! {
        /// A semaphore with this many free permits.
        ///
        /// ```
        /// static CONNECTIONS: sisal::sync::Semaphore = sisal::sync::Semaphore::new(8);
        /// let connection = CONNECTIONS.acquire().unwrap();
        /// assert_eq!(CONNECTIONS.available(), 7);
        /// # drop(connection);
        /// ```
        pub fn new(permits: usize) -> Semaphore {
            Semaphore { free: Tally::new(permits), line: Lock::new(Line::new()) }
        }
    }

    /// Waits for a permit, which goes back when the result is dropped.
    ///
    /// # Errors
    /// [`Cancelled`] if it had to wait and something from outside ended the wait: see [`Cause`](crate::Cause).
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(1);
    /// let permit = semaphore.acquire()?;
    /// assert_eq!(semaphore.available(), 0);
    /// drop(permit);
    /// assert_eq!(semaphore.available(), 1);
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn acquire(&self) -> Result<SemaphorePermit<'_>, Cancelled> {
        self.acquire_at(1, Location::caller())
    }

    /// Waits for `many` permits at once. Nobody who comes later gets any before.
    ///
    /// # Errors
    /// As for [`acquire`](Self::acquire).
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(3);
    /// let permits = semaphore.acquire_many(2)?;
    /// assert_eq!(semaphore.available(), 1);
    /// # drop(permits);
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn acquire_many(&self, many: usize) -> Result<SemaphorePermit<'_>, Cancelled> {
        self.acquire_at(many, Location::caller())
    }

    /// Takes a permit if there is one and nobody waits for it.
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert!(semaphore.try_acquire().is_none());
    /// # drop(permit);
    /// ```
    #[track_caller]
    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_many(1)
    }

    /// Takes `many` permits if there are enough and nobody waits for any.
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(3);
    /// let permits = semaphore.try_acquire_many(2).unwrap();
    /// assert!(semaphore.try_acquire_many(2).is_none());
    /// drop(permits);
    /// assert!(semaphore.try_acquire_many(3).is_some());
    /// ```
    #[track_caller]
    pub fn try_acquire_many(&self, many: usize) -> Option<SemaphorePermit<'_>> {
        pay_fuel(Location::caller());
        let taken = self.permits().take(many);
        taken.then(|| SemaphorePermit { semaphore: self, many })
    }

    /// As [`acquire`](Self::acquire), but waits for at most `timeout`.
    ///
    /// # Errors
    /// See [`AcquireTimeoutError`].
    ///
    /// ```
    /// use sisal::sync::{AcquireTimeoutError, Semaphore};
    /// let nothing = Semaphore::new(0);
    /// let error = nothing.acquire_timeout(std::time::Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(error, AcquireTimeoutError::TimedOut);
    /// ```
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<SemaphorePermit<'_>, AcquireTimeoutError> {
        self.acquire_by(|| Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`acquire`](Self::acquire), but waits until this time at most.
    ///
    /// # Errors
    /// See [`AcquireTimeoutError`].
    ///
    /// ```
    /// use sisal::sync::Semaphore;
    /// use std::time::Instant;
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.acquire_deadline(Instant::now()).unwrap();
    /// assert!(semaphore.acquire_deadline(Instant::now()).is_err());
    /// # drop(permit);
    /// ```
    #[track_caller]
    pub fn acquire_deadline(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, AcquireTimeoutError> {
        self.acquire_by(|| Some(Moment::of(deadline)), Location::caller())
    }

    /// As [`acquire`](Self::acquire), until this time at most.
    pub(crate) fn acquire_by(
        &self,
        deadline: impl FnOnce() -> Option<Moment>,
        place: Place,
    ) -> Result<SemaphorePermit<'_>, AcquireTimeoutError> {
        if self.try_take(1, place) {
            return Ok(SemaphorePermit { semaphore: self, many: 1 });
        }
        match self.wait(1, deadline(), place) {
            Ok(()) => Ok(SemaphorePermit { semaphore: self, many: 1 }),
            Err(Ended::TimedOut) => Err(AcquireTimeoutError::TimedOut),
            Err(Ended::Cancelled(cancelled)) => Err(AcquireTimeoutError::Cancelled(cancelled)),
        }
    }

    /// How many permits are free. They may be meant for one who waits for more.
    ///
    /// ```
    /// assert_eq!(sisal::sync::Semaphore::new(3).available(), 3);
    /// ```
    pub fn available(&self) -> usize {
        self.permits().free.get()
    }

    /// Adds new permits.
    ///
    /// # Panics
    /// If there are more free ones than a `usize` can count.
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert_eq!(semaphore.available(), 2);
    /// ```
    #[track_caller]
    pub fn add_permits(&self, many: usize) {
        if !self.release(many) {
            panic!("a semaphore can't have more than {} permits", usize::MAX);
        }
    }

    #[inline]
    fn permits(&self) -> Permits<'_> {
        Permits { line: self.line.lock(), free: &self.free }
    }

    #[inline]
    fn acquire_at(&self, many: usize, place: Place) -> Result<SemaphorePermit<'_>, Cancelled> {
        if !self.try_take(many, place) {
            self.wait(many, None, place).map_err(|ended| match ended {
                Ended::Cancelled(cancelled) => cancelled,
                Ended::TimedOut => unreachable!("INVARIANT: this wait has no deadline"),
            })?;
        }
        Ok(SemaphorePermit { semaphore: self, many })
    }

    #[inline]
    fn try_take(&self, many: usize, place: Place) -> bool {
        let taken = self.permits().take(many);
        if taken {
            pay_fuel(place);
        }
        taken
    }

    fn wait(&self, many: usize, deadline: Option<Moment>, place: Place) -> Result<(), Ended> {
        let wait = Wait::new(park::me());
        let request = Request::new(&wait, many);
        {
            let mut permits = self.permits();
            if permits.take(many) {
                return Ok(());
            }
            // SAFETY: it is claimed by the line and unparked, or taken off by `give_up`, before this function returns.
            unsafe { permits.line.push(&request) };
        }
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Semaphore, object, place, deadline, cancellable: true };
        match park::park_or_leave(&wait, &waiting, || self.give_up(&request)) {
            Woken::Object(_) => Ok(()),
            Woken::Deadline => Err(Ended::TimedOut),
            Woken::Cancelled(cause) => Err(Ended::Cancelled(Cancelled::by(cause))),
        }
    }

    #[cold]
    fn give_up(&self, request: &Request<usize>) {
        let mut permits = self.permits();
        permits.line.remove(request);
        let granted = permits.grant();
        drop(permits);
        granted.unpark();
    }

    /// Adds free permits; false if there are too many of them.
    #[inline]
    fn release(&self, many: usize) -> bool {
        let mut permits = self.permits();
        let Some(free) = permits.free.get().checked_add(many) else { return false };
        permits.free.set(free);
        if !permits.line.is_empty() {
            let granted = permits.grant();
            drop(permits);
            granted.unpark();
        }
        true
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).finish()
    }
}

/// Permits of a [`Semaphore`], which go back when this is dropped, by whatever fiber or thread.
///
/// ```
/// let semaphore = sisal::sync::Semaphore::new(1);
/// let permit = semaphore.acquire().unwrap();
/// std::thread::scope(|scope| scope.spawn(move || drop(permit)).join().unwrap());
/// assert_eq!(semaphore.available(), 1);
/// ```
#[must_use = "a permit that is dropped at once permits nothing"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    many: usize,
}

impl SemaphorePermit<'_> {
    /// Keeps the permits out for good: they do not go back.
    ///
    /// ```
    /// let semaphore = sisal::sync::Semaphore::new(2);
    /// semaphore.acquire().unwrap().forget();
    /// assert_eq!(semaphore.available(), 1);
    /// ```
    pub fn forget(self) {
        mem::forget(self);
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        // If they can't be counted any more, nobody will miss them.
        let _ = self.semaphore.release(self.many);
    }
}

/// Why [`Semaphore::acquire_timeout`] returned without a permit.
///
/// ```
/// use sisal::sync::AcquireTimeoutError;
/// assert_eq!(AcquireTimeoutError::TimedOut.to_string(), "no permit came in time");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AcquireTimeoutError {
    /// The time was up.
    TimedOut,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

impl fmt::Display for AcquireTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcquireTimeoutError::TimedOut => f.write_str("no permit came in time"),
            AcquireTimeoutError::Cancelled(cancelled) => cancelled.fmt(f),
        }
    }
}

impl std::error::Error for AcquireTimeoutError {}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check, give_up_or_park};
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// As [`Semaphore::wait`] does it, but gives up when it would have to park. True if it got its permits.
    fn acquire_or_give_up(semaphore: &Semaphore, many: usize) -> bool {
        let wait = Wait::new(park::me());
        let request = Request::new(&wait, many);
        {
            let mut permits = semaphore.permits();
            if permits.take(many) {
                return true;
            }
            // SAFETY: claimed and unparked, or taken off by `give_up`.
            unsafe { permits.line.push(&request) };
        }
        let gave_up = give_up_or_park(&wait);
        if gave_up {
            semaphore.give_up(&request);
        }
        !gave_up
    }

    /// One permit comes. One wants two and gives up; one wants one, and must get it, also if it stands behind. Reached: the one who gave
    /// up stood before the other, and behind it or alone.
    #[test]
    fn loom_semaphore_given_up_at_the_head_lets_those_behind_through() {
        let was_first = Outcomes::new();
        check(3, move || {
            let semaphore = Arc::new(Semaphore::new(0));
            let quitter = {
                let semaphore = semaphore.clone();
                thread::spawn(move || assert!(!acquire_or_give_up(&semaphore, 2)))
            };
            let taker = {
                let semaphore = semaphore.clone();
                thread::spawn(move || {
                    was_first.note(semaphore.permits().line.is_empty());
                    drop(semaphore.acquire().unwrap());
                })
            };
            semaphore.add_permits(1);
            quitter.join().unwrap();
            taker.join().unwrap();
            assert_eq!(semaphore.available(), 1);
        });
        was_first.assert([false, true]);
    }

    /// Two permits come, one by one. Two want one, one of which may give up, or get it and give it back; one wants both. No permit is
    /// lost. Reached: it gave up, and it did not.
    #[test]
    fn loom_semaphore_loses_no_permit() {
        let got = Outcomes::new();
        check(2, move || {
            let semaphore = Arc::new(Semaphore::new(0));
            let quitter = {
                let semaphore = semaphore.clone();
                thread::spawn(move || {
                    let acquired = acquire_or_give_up(&semaphore, 1);
                    if acquired {
                        semaphore.add_permits(1);
                    }
                    got.note(acquired);
                })
            };
            let taker = {
                let semaphore = semaphore.clone();
                thread::spawn(move || drop(semaphore.acquire_many(2).unwrap()))
            };
            semaphore.add_permits(1);
            semaphore.add_permits(1);
            drop(semaphore.acquire().unwrap());
            quitter.join().unwrap();
            taker.join().unwrap();
            assert_eq!(semaphore.available(), 2);
        });
        got.assert([false, true]);
    }
}
