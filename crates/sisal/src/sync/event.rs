//! An event.
//!
//! # Protocol
//! The word says whether it is set; it is changed under the lock of the list of those who wait.
//! - *Wait*: if the word is set there is nothing to wait for. Else lock, look again, join the list, park.
//! - *Set*: lock, set the word, claim all who wait; unpark them when the lock is free again. They need not look again: the event was
//!   set while they waited, even if it has been reset since.
//! - *Give up* (time or cancel): leave the list, under the lock.
//!
//! Nobody is forgotten: whoever joins the list has seen, under the lock, that the event is not set, and is found by the next to set it.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting, pay_fuel};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Something that happens once for all who wait for it, and for all who come later, until it is reset.
///
/// Who waits for it parks its fiber, or blocks its thread outside of fibers.
///
/// ```
/// use sisal::sync::Event;
/// use std::sync::Arc;
///
/// sisal::run(|| {
///     let ready = Arc::new(Event::new());
///     let waiters: Vec<_> = (0..3)
///         .map(|_| {
///             let ready = ready.clone();
///             sisal::spawn(move || ready.wait())
///         })
///         .collect();
///     ready.set();
///     waiters.into_iter().for_each(|waiter| waiter.join().unwrap().unwrap());
/// });
/// ```
pub struct Event {
    /// 1 while it is set.
    set: AtomicU32,
    waiting: Lock<WaitList<Who>>,
}

impl Watched for Event {
    fn sight(&self) -> Sight {
        Sight::new("event")
    }
}

impl Event {
    const_fn! {
        /// An event that is not set.
        ///
        /// ```
        /// static STARTED: sisal::sync::Event = sisal::sync::Event::new();
        /// assert!(!STARTED.is_set());
        /// ```
        pub fn new() -> Event {
            Event { set: AtomicU32::new(0), waiting: Lock::new(WaitList::new()) }
        }
    }

    /// Lets everybody go on who waits, and everybody who comes until the next [`reset`](Self::reset).
    ///
    /// ```
    /// let event = sisal::sync::Event::new();
    /// event.set();
    /// event.set();
    /// assert!(event.is_set());
    /// ```
    pub fn set(&self) {
        let mut waiting = self.waiting.lock();
        // ORDERING: Release pairs with the Acquire in `is_set`: what was done before is seen by those who go on.
        self.set.store(1, Ordering::Release);
        let all = waiting.claim_all();
        drop(waiting);
        all.for_each(park::unpark);
    }

    /// From now on it has to be waited for again. Those who go on because of an earlier [`set`](Self::set) are not stopped.
    ///
    /// ```
    /// let event = sisal::sync::Event::new();
    /// event.set();
    /// event.reset();
    /// assert!(!event.is_set());
    /// ```
    pub fn reset(&self) {
        let _waiting = self.waiting.lock();
        self.set.store(0, Ordering::Relaxed);
    }

    /// Whether it is set.
    ///
    /// ```
    /// assert!(!sisal::sync::Event::new().is_set());
    /// ```
    #[inline]
    pub fn is_set(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `set`.
        self.set.load(Ordering::Acquire) != 0
    }

    /// Waits until it is set.
    ///
    /// # Errors
    /// [`Cancelled`] if it had to wait and something from outside ended the wait: see [`Cause`](crate::Cause).
    ///
    /// ```
    /// let event = sisal::sync::Event::new();
    /// event.set();
    /// event.wait()?;
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait(&self) -> Result<(), Cancelled> {
        self.wait_for(Reason::Event, Location::caller())
    }

    /// As [`wait`](Self::wait), for something that sets the event for this reason.
    pub(crate) fn wait_for(&self, reason: Reason, place: Place) -> Result<(), Cancelled> {
        self.wait_at(|| None, reason, place).map_err(|error| match error {
            WaitTimeoutError::Cancelled(cancelled) => cancelled,
            WaitTimeoutError::TimedOut => unreachable!("INVARIANT: this wait has no deadline"),
        })
    }

    /// As [`wait`](Self::wait), for at most `timeout`.
    ///
    /// # Errors
    /// See [`WaitTimeoutError`].
    ///
    /// ```
    /// use sisal::sync::{Event, WaitTimeoutError};
    /// let event = Event::new();
    /// assert_eq!(event.wait_timeout(std::time::Duration::from_millis(5)), Err(WaitTimeoutError::TimedOut));
    /// ```
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), WaitTimeoutError> {
        self.wait_at(|| Some(Moment::now().after(timeout)), Reason::Event, Location::caller())
    }

    /// As [`wait`](Self::wait), until this time at most.
    ///
    /// # Errors
    /// See [`WaitTimeoutError`].
    ///
    /// ```
    /// use sisal::sync::{Event, WaitTimeoutError};
    /// use std::time::Instant;
    /// let event = Event::new();
    /// assert_eq!(event.wait_deadline(Instant::now()), Err(WaitTimeoutError::TimedOut));
    /// event.set();
    /// assert_eq!(event.wait_deadline(Instant::now()), Ok(()));
    /// ```
    #[track_caller]
    pub fn wait_deadline(&self, deadline: Instant) -> Result<(), WaitTimeoutError> {
        self.wait_at(|| Some(Moment::of(deadline)), Reason::Event, Location::caller())
    }

    fn wait_at(
        &self,
        deadline: impl FnOnce() -> Option<Moment>,
        reason: Reason,
        place: Place,
    ) -> Result<(), WaitTimeoutError> {
        if self.is_set() {
            pay_fuel(place);
            return Ok(());
        }
        self.wait_until(deadline(), reason, place)
    }

    fn wait_until(&self, deadline: Option<Moment>, reason: Reason, place: Place) -> Result<(), WaitTimeoutError> {
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        {
            let mut waiting = self.waiting.lock();
            if self.is_set() {
                return Ok(());
            }
            // SAFETY: claimed by the list and unparked, or removed below.
            unsafe { waiting.push(&waiter) };
        }
        let object = Object::of(self);
        let waiting = Waiting { reason, object, place, deadline, cancellable: true };
        match park::park_or_leave(&wait, &waiting, || self.waiting.lock().remove(&waiter)) {
            Woken::Object(_) => Ok(()),
            Woken::Deadline => Err(WaitTimeoutError::TimedOut),
            Woken::Cancelled(cause) => Err(WaitTimeoutError::Cancelled(Cancelled::by(cause))),
        }
    }
}

impl Default for Event {
    fn default() -> Event {
        Event::new()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("is_set", &self.is_set()).finish()
    }
}

/// Why [`Event::wait_timeout`] returned before the event was set.
///
/// ```
/// use sisal::sync::WaitTimeoutError;
/// assert_eq!(WaitTimeoutError::TimedOut.to_string(), "the event was not set in time");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WaitTimeoutError {
    /// The time was up.
    TimedOut,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

impl fmt::Display for WaitTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitTimeoutError::TimedOut => f.write_str("the event was not set in time"),
            WaitTimeoutError::Cancelled(cancelled) => cancelled.fmt(f),
        }
    }
}

impl std::error::Error for WaitTimeoutError {}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check, give_up_or_park};
    use super::*;
    use crate::prim::atomic::AtomicU32;
    use loom::sync::Arc;
    use loom::thread;

    /// Two wait, one of which may give up, and one sets the event. Who waited sees what was done before it was set.
    /// Reached: gave up, and did not.
    #[test]
    fn loom_event_wakes_all_who_wait() {
        let gave_up = Outcomes::new();
        check(3, move || {
            let shared = Arc::new((Event::new(), AtomicU32::new(0)));
            let waiter = {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.wait().unwrap();
                    assert_eq!(shared.1.load(Ordering::Relaxed), 7);
                })
            };
            let quitter = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let wait = Wait::new(park::me());
                    let waiter = Waiter::solo(&wait);
                    {
                        let mut waiting = shared.0.waiting.lock();
                        if shared.0.is_set() {
                            return;
                        }
                        // SAFETY: claimed and unparked, or removed.
                        unsafe { waiting.push(&waiter) };
                    }
                    let quits = give_up_or_park(&wait);
                    if quits {
                        shared.0.waiting.lock().remove(&waiter);
                    } else {
                        assert_eq!(shared.1.load(Ordering::Relaxed), 7);
                    }
                    gave_up.note(quits);
                })
            };
            shared.1.store(7, Ordering::Relaxed);
            shared.0.set();
            waiter.join().unwrap();
            quitter.join().unwrap();
        });
        gave_up.assert([false, true]);
    }

    /// It is set and reset at once: who waited goes on all the same, and who came later waits for the next time.
    #[test]
    fn loom_event_reset_stops_nobody_who_waited() {
        let last = Outcomes::new();
        check(3, move || {
            let event = Arc::new(Event::new());
            let waiter = {
                let event = event.clone();
                thread::spawn(move || {
                    event.wait().unwrap();
                    last.note(event.is_set());
                })
            };
            event.set();
            event.reset();
            event.set();
            waiter.join().unwrap();
        });
        last.assert([false, true]);
    }
}
