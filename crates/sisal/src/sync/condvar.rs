//! A condition variable.
//!
//! # Protocol
//! A list of those who wait, under its lock.
//! - *Wait*: join the list; unlock the mutex; park; lock the mutex again, whatever ended the wait.
//! - *Notify*: claim the first, or all, who still wait; unpark them when the lock of the list is free again.
//! - *Give up* (time or cancel): leave the list, then lock the mutex as everybody does.
//!
//! No notification is lost: whoever changes the condition under the mutex does so before the waiter has locked it, or after the
//! waiter has unlocked it, and then the waiter stands in the list. None is swallowed: one whose wait ended otherwise can't be claimed, so
//! the next is; and one that was claimed reports nothing else. None is made up: only a claim by a notifier ends a wait with success.
//!
//! Between joining the list and parking the waiter does not yield: to unlock a mutex never waits.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use super::mutex::MutexGuard;
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Claimed, Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Lets those who hold a [`Mutex`](super::Mutex) wait for a change of what it guards.
///
/// A wait unlocks the mutex, parks the fiber (or blocks the thread, outside of fibers), and locks the mutex again. There are no
/// spurious wakes: a wait that returns `Ok` was notified. But the one who notified may not be the last to have held the mutex since;
/// so look at the condition again, or use [`wait_while`](Self::wait_while).
///
/// ```
/// use sisal::sync::{Condvar, Mutex};
/// use std::sync::Arc;
///
/// sisal::run(|| {
///     let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
///     let other = queue.clone();
///     let taker = sisal::spawn(move || {
///         let (list, filled) = &*other;
///         let mut list = list.lock();
///         filled.wait_while(&mut list, |list| list.is_empty()).unwrap();
///         list.pop()
///     });
///     queue.0.lock().push(7);
///     queue.1.notify_one();
///     assert_eq!(taker.join().unwrap(), Some(7));
/// });
/// ```
pub struct Condvar {
    waiting: Lock<WaitList<Who>>,
}

impl Watched for Condvar {
    fn sight(&self) -> Sight {
        Sight::new("condvar")
    }
}

impl Condvar {
    const_fn! {
        /// A condition nobody waits for.
        ///
        /// ```
        /// static CHANGED: sisal::sync::Condvar = sisal::sync::Condvar::new();
        /// CHANGED.notify_all();
        /// ```
        pub fn new() -> Condvar {
            Condvar { waiting: Lock::new(WaitList::new()) }
        }
    }

    /// Unlocks the mutex, waits to be notified, and locks it again.
    ///
    /// # Errors
    /// [`Cancelled`] if something from outside ended the wait: see [`Cause`](crate::Cause). The mutex is locked then, too.
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// static DOOR: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    /// let opener = std::thread::spawn(|| {
    ///     *DOOR.0.lock() = true;
    ///     DOOR.1.notify_one();
    /// });
    /// let mut is_open = DOOR.0.lock();
    /// while !*is_open {
    ///     DOOR.1.wait(&mut is_open)?;
    /// }
    /// # drop(is_open);
    /// # opener.join().unwrap();
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) -> Result<(), Cancelled> {
        self.wait_until(guard, None, Location::caller()).map(drop)
    }

    /// Waits as long as `condition` holds, which is looked at under the lock.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait). If the condition does not hold to begin with there is no wait, and no error.
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(7), Condvar::new());
    /// let mut number = mutex.lock();
    /// changed.wait_while(&mut number, |number| *number != 7)?;
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Result<(), Cancelled> {
        let place = Location::caller();
        while condition(guard) {
            self.wait_until(guard, None, place)?;
        }
        Ok(())
    }

    /// As [`wait`](Self::wait), for at most `timeout`. Locking the mutex again may take longer.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// let result = changed.wait_timeout(&mut mutex.lock(), std::time::Duration::from_millis(5))?;
    /// assert!(result.timed_out());
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait_timeout<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        self.wait_until(guard, Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`wait_while`](Self::wait_while), for at most `timeout`. Timed out means that the condition still holds.
    ///
    /// # Errors
    /// As for [`wait_while`](Self::wait_while).
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(0), Condvar::new());
    /// let timeout = std::time::Duration::from_millis(5);
    /// let result = changed.wait_timeout_while(&mut mutex.lock(), timeout, |number| *number == 0)?;
    /// assert!(result.timed_out());
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait_timeout_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        self.wait_while_until(guard, Moment::now().after(timeout), Location::caller(), condition)
    }

    /// As [`wait`](Self::wait), until this time at most. Locking the mutex again may take longer.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_deadline(&mut mutex.lock(), std::time::Instant::now())?.timed_out());
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait_deadline<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        self.wait_until(guard, Some(Moment::of(deadline)), Location::caller())
    }

    /// As [`wait_while`](Self::wait_while), until this time at most. Timed out means that the condition still holds.
    ///
    /// # Errors
    /// As for [`wait_while`](Self::wait_while).
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(0), Condvar::new());
    /// let now = std::time::Instant::now();
    /// assert!(changed.wait_deadline_while(&mut mutex.lock(), now, |number| *number == 0)?.timed_out());
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait_deadline_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
        condition: impl FnMut(&mut T) -> bool,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        self.wait_while_until(guard, Moment::of(deadline), Location::caller(), condition)
    }

    fn wait_while_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Moment,
        place: Place,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        let mut result = WaitTimeoutResult(false);
        while condition(guard) {
            if result.timed_out() {
                return Ok(result);
            }
            result = self.wait_until(guard, Some(deadline), place)?;
        }
        Ok(WaitTimeoutResult(false))
    }

    /// Wakes the first of those who wait, if anybody does.
    ///
    /// ```
    /// sisal::sync::Condvar::new().notify_one();
    /// ```
    pub fn notify_one(&self) {
        let first = self.waiting.lock().claim_first();
        if let Some(token) = first.map(Claimed::into_token) {
            park::unpark(token);
        }
    }

    /// Wakes all who wait.
    ///
    /// ```
    /// sisal::sync::Condvar::new().notify_all();
    /// ```
    pub fn notify_all(&self) {
        let all = self.waiting.lock().claim_all();
        all.for_each(park::unpark);
    }

    fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Option<Moment>,
        place: Place,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed by the list and unparked, or removed below.
        unsafe { self.waiting.lock().push(&waiter) };
        guard.unlocked(place, || self.park(&wait, &waiter, deadline, place))
    }

    fn park(
        &self,
        wait: &Wait<Who>,
        waiter: &Waiter<Who>,
        deadline: Option<Moment>,
        place: Place,
    ) -> Result<WaitTimeoutResult, Cancelled> {
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Condvar, object, place, deadline, cancellable: true };
        match park::park_or_leave(wait, &waiting, || self.waiting.lock().remove(waiter)) {
            Woken::Object(_) => Ok(WaitTimeoutResult(false)),
            Woken::Deadline => Ok(WaitTimeoutResult(true)),
            Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
        }
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// Whether a wait for a [`Condvar`] ended because its time was up.
///
/// ```
/// use sisal::sync::{Condvar, Mutex, WaitTimeoutResult};
/// let (mutex, changed) = (Mutex::new(()), Condvar::new());
/// let result: WaitTimeoutResult = changed.wait_timeout(&mut mutex.lock(), std::time::Duration::ZERO).unwrap();
/// assert!(result.timed_out());
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up; otherwise the wait was notified.
    ///
    /// ```
    /// use sisal::sync::{Condvar, Mutex};
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_timeout(&mut mutex.lock(), std::time::Duration::ZERO).unwrap().timed_out());
    /// ```
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check, give_up_or_park};
    use super::super::mutex::Mutex;
    use super::*;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// A condition that is watched for races, and its condvar.
    struct Flag {
        raised: Mutex<UnsafeCell<bool>>,
        changed: Condvar,
    }

    impl Flag {
        fn new() -> Arc<Flag> {
            Arc::new(Flag { raised: Mutex::new(UnsafeCell::new(false)), changed: Condvar::new() })
        }

        fn raise(&self) {
            // SAFETY: under the lock.
            self.raised.lock().with_mut(|raised| unsafe { *raised = true });
        }

        /// Waits until it is raised; says how many waits that took.
        fn wait(&self) -> usize {
            let mut raised = self.raised.lock();
            let mut waits = 0;
            // SAFETY: under the lock.
            while !raised.with(|raised| unsafe { *raised }) {
                self.changed.wait(&mut raised).unwrap();
                waits += 1;
            }
            waits
        }
    }

    /// One waits, one notifies: the notification is not lost, and nobody wakes without one. Reached: with a wait, and without.
    #[test]
    fn loom_condvar_loses_no_notification() {
        let waits = Outcomes::new();
        check(3, move || {
            let flag = Flag::new();
            let notifier = {
                let flag = flag.clone();
                thread::spawn(move || {
                    flag.raise();
                    flag.changed.notify_one();
                })
            };
            waits.note(flag.wait());
            notifier.join().unwrap();
        });
        waits.assert([0, 1]);
    }

    /// Two wait for one notification, and one of them gives up: either that one was notified, and passes it on, or the other one is.
    /// Reached: both, and that nobody had waited.
    #[test]
    fn loom_condvar_notifies_one_who_still_waits() {
        let seen = Outcomes::new();
        check(2, move || {
            let flag = Flag::new();
            let quitter = {
                let flag = flag.clone();
                thread::spawn(move || {
                    let wait = Wait::new(park::me());
                    let waiter = Waiter::solo(&wait);
                    // SAFETY: claimed and unparked, or removed.
                    unsafe { flag.changed.waiting.lock().push(&waiter) };
                    if give_up_or_park(&wait) {
                        flag.changed.waiting.lock().remove(&waiter);
                        seen.note("gave up");
                    } else {
                        flag.changed.notify_one();
                        seen.note("passed on");
                    }
                })
            };
            let waiter = {
                let flag = flag.clone();
                thread::spawn(move || seen.note(if flag.wait() == 0 { "raised before" } else { "notified" }))
            };
            flag.raise();
            flag.changed.notify_one();
            quitter.join().unwrap();
            waiter.join().unwrap();
        });
        seen.assert(["gave up", "passed on", "raised before", "notified"]);
    }

    /// Two wait, and all are notified.
    #[test]
    fn loom_condvar_notifies_all() {
        let waits = Outcomes::new();
        check(2, move || {
            let flag = Flag::new();
            let waiters = [(); 2].map(|()| {
                let flag = flag.clone();
                thread::spawn(move || flag.wait())
            });
            flag.raise();
            flag.changed.notify_all();
            waits.note(waiters.map(|waiter| waiter.join().unwrap()));
        });
        waits.assert([[0, 0], [0, 1], [1, 0], [1, 1]]);
    }
}
