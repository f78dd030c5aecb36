//! A state under a lock, and those who wait for it to change: what [`broadcast`](super::broadcast) and [`watch`](super::watch) are
//! made of.
//!
//! # Protocol
//! One lock guards the state and the list of those who wait.
//! - *Change*: under the lock, change the state and claim all who wait; unpark them when the lock is free again.
//! - *Wait*: under the lock, look at the state; if it is not as wanted, join the list. Whoever is unparked looks again.
//! - *Give up* (time or cancel): leave the list, under the lock.
//! - *Poll* (as a task): as wait, with the record of a [task](TaskRecord), and without the park. When it is polled again and was not unparked,
//!   the waker is exchanged; else it looks again.
//! - *A future is dropped while it waits*: leave the list, under the lock. If a change was quicker with the claim, the record is
//!   [left behind](crate::prim::task_parker) for its unpark to drop. There is nothing to pass on: a change wakes all.
//!
//! Nobody is forgotten: whoever joins the list has seen, under the lock, the state as it is, and is found by the next change.
//!
//! What looks at the state or changes it runs under the lock, so it does no more than a few instructions, and values of users are
//! neither made, cloned nor dropped there.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

mod arm;

pub(super) use self::arm::ObservedArm;

use crate::fiber::task_record::TaskRecord;
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Waiting, gives_way, me, park_or_leave, pay_fuel, unpark_all};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::sync::Arc;
use std::task::{Context, Poll};

/// See the [module](self).
pub(super) struct Observed<S> {
    inner: Lock<Inner<S>>,
}

struct Inner<S> {
    state: S,
    waiting: WaitList<Who>,
}

/// What ended a wait before the state was as wanted.
pub(super) enum Ended {
    TimedOut,
    Cancelled(Cancelled),
}

impl<S> Observed<S> {
    pub(super) fn new(state: S) -> Observed<S> {
        Observed { inner: Lock::new(Inner { state, waiting: WaitList::new() }) }
    }

    /// Does something that nobody waits for.
    #[inline]
    pub(super) fn quietly<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        f(&mut self.inner.lock().state)
    }

    /// Changes the state, and lets everybody look who waits.
    #[inline]
    pub(super) fn change<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = f(&mut inner.state);
        let all = inner.waiting.claim_all();
        drop(inner);
        unpark_all(all);
        result
    }

    /// Waits until `look` finds what it wants.
    #[inline]
    pub(super) fn wait<R>(
        &self,
        mut look: impl FnMut(&mut S) -> Option<R>,
        deadline: impl FnOnce() -> Option<Moment>,
        place: Place,
    ) -> Result<R, Ended> {
        if let Some(found) = self.quietly(&mut look) {
            pay_fuel(place);
            return Ok(found);
        }
        self.wait_until(look, deadline(), place)
    }

    fn wait_until<R>(
        &self,
        mut look: impl FnMut(&mut S) -> Option<R>,
        deadline: Option<Moment>,
        place: Place,
    ) -> Result<R, Ended> {
        let who = me();
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Receive, object, place, deadline, cancellable: true };
        loop {
            let wait = Wait::new(who.clone());
            let waiter = Waiter::solo(&wait);
            // SAFETY: the waiter is claimed by the list and unparked, or leaves it, before this turn of the loop is over.
            if let Some(found) = unsafe { self.look_or_enlist(&mut look, &waiter) } {
                return Ok(found);
            }
            match park_or_leave(&wait, &waiting, || self.leave(&waiter)) {
                Woken::Object(_) => {}
                Woken::Deadline => return Err(Ended::TimedOut),
                Woken::Cancelled(cause) => return Err(Ended::Cancelled(Cancelled::by(cause))),
            }
        }
    }

    /// Joins the list if `look` does not find what it wants.
    ///
    /// # Safety
    /// Then the waiter stays where it is until it was claimed by the list and unparked, or [left](Self::leave) it.
    unsafe fn look_or_enlist<R>(&self, look: &mut impl FnMut(&mut S) -> Option<R>, waiter: &Waiter<Who>) -> Option<R> {
        let mut inner = self.inner.lock();
        let found = look(&mut inner.state);
        if found.is_none() {
            // SAFETY: the caller's promise.
            unsafe { inner.waiting.push(waiter) };
        }
        found
    }

    fn leave(&self, waiter: &Waiter<Who>) {
        self.inner.lock().waiting.remove(waiter);
    }
}

/// One wait after the other of a task, for the same state.
pub(super) struct Observing {
    record: Option<TaskRecord<()>>,
    /// Whether the record stands for a wait that has not been found to be over.
    waits: bool,
}

impl Observing {
    pub(super) fn new() -> Observing {
        Observing { record: None, waits: false }
    }

    /// Ready when `look` finds what it wants.
    pub(super) fn poll<S, R>(
        &mut self,
        observed: &Observed<S>,
        mut look: impl FnMut(&mut S) -> Option<R>,
        context: &mut Context<'_>,
    ) -> Poll<R> {
        if gives_way(context) {
            return Poll::Pending;
        }
        if let Some(record) = self.record.as_ref().filter(|_| self.waits) {
            if record.parker().set_waker(context.waker()) {
                return Poll::Pending;
            }
            self.waits = false;
        }
        if let Some(found) = observed.quietly(&mut look) {
            return Poll::Ready(found);
        }
        let record = TaskRecord::prepare(&mut self.record, context.waker().clone(), || ());
        // SAFETY: the record stays until it is found to be unparked, or is abandoned, which takes it off or leaves it to the unpark.
        match unsafe { observed.look_or_enlist(&mut look, record.waiter()) } {
            Some(found) => {
                record.parker().withdraw();
                Poll::Ready(found)
            }
            None => {
                self.waits = true;
                Poll::Pending
            }
        }
    }

    /// Nobody polls any more. For the same state as the polls were.
    pub(super) fn abandon<S>(&mut self, observed: &Observed<S>) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let Some(record) = self.record.take() else { return };
        observed.leave(record.waiter());
        if record.wait().woken().is_some() {
            let parker = Arc::clone(record.parker());
            // If the unpark has come meanwhile, it is dropped here.
            let _ = parker.leave_behind(Box::new(record));
        }
    }
}

impl<S> Watched for Observed<S> {
    fn sight(&self) -> Sight {
        Sight::new("channel")
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::park::park;
    use crate::prim::atomic::{AtomicUsize, Ordering};
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::panic::Location;
    use std::sync::Mutex;
    use std::task::{Wake, Waker};

    /// Waits for a number of at least `least`; says whether it had to wait, and was told something else in between.
    fn await_number(observed: &Observed<usize>, least: usize) -> usize {
        let mut looks = 0;
        let look = |number: &mut usize| {
            looks += 1;
            (*number >= least).then_some(())
        };
        assert!(observed.wait(look, || None, Location::caller()).is_ok(), "nothing else ends the wait");
        looks
    }

    /// Two who wait, for the first change and for the second: each sees its own, and what was done before it. Reached: at once, by the
    /// second look, woken once, woken twice.
    #[test]
    fn loom_observed_changes_reach_all_who_wait() {
        let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let shared = Arc::new((Observed::new(0), AtomicUsize::new(0)));
            let others: Vec<_> = (1..=2)
                .map(|least| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let looks = await_number(&shared.0, least);
                        assert!(shared.1.load(Ordering::Relaxed) >= least, "what was done before is seen");
                        looks
                    })
                })
                .collect();
            for number in 1..=2 {
                shared.1.store(number, Ordering::Relaxed);
                shared.0.change(|state| *state = number);
            }
            let looks: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
            seen.lock().unwrap().extend(looks);
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([1, 2, 3, 4]));
    }

    /// One gives up while a change claims all: it leaves the list or was claimed, and the other is woken in any case.
    #[test]
    fn loom_observed_one_who_gives_up_leaves_the_others() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let observed = Arc::new(Observed::new(0));
            let patient = {
                let observed = observed.clone();
                loom::thread::spawn(move || await_number(&observed, 1))
            };
            let hasty = {
                let observed = observed.clone();
                loom::thread::spawn(move || {
                    let place = Location::caller();
                    let wait = Wait::new(me());
                    let waiter = Waiter::solo(&wait);
                    // SAFETY: it leaves the list, or is claimed by it and unparked, below.
                    if unsafe { observed.look_or_enlist(&mut |number| (*number > 0).then_some(()), &waiter) }.is_some()
                    {
                        return;
                    }
                    let gave_up = wait.claim_own(Woken::Deadline);
                    if gave_up {
                        observed.leave(&waiter);
                    } else {
                        let waiting = Waiting {
                            reason: Reason::Receive,
                            object: Object::NONE,
                            place,
                            deadline: None,
                            cancellable: true,
                        };
                        assert_eq!(park(&wait, &waiting), Woken::Object(0));
                    }
                    seen.lock().unwrap().insert(gave_up);
                })
            };
            observed.change(|state| *state = 1);
            patient.join().unwrap();
            hasty.join().unwrap();
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }

    /// Counts its wakes.
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: std::sync::Arc<Counter>) {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A task polls and is dropped, while a change claims all and another waits: nobody is forgotten, and the record goes once. Reached: found,
    /// dropped before it was woken, dropped after.
    #[test]
    fn loom_observed_by_a_task_that_goes() {
        let seen: &'static Mutex<HashSet<(bool, bool)>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let observed = Arc::new(Observed::new(0));
            let patient = {
                let observed = observed.clone();
                loom::thread::spawn(move || await_number(&observed, 1))
            };
            let change = {
                let observed = observed.clone();
                loom::thread::spawn(move || observed.change(|state| *state = 1))
            };
            let counter = std::sync::Arc::new(Counter(AtomicUsize::new(0)));
            let waker = Waker::from(std::sync::Arc::clone(&counter));
            let mut context = Context::from_waker(&waker);
            let look = |number: &mut usize| (*number > 0).then_some(());
            let mut observing = Observing::new();
            let found = observing.poll(&observed, look, &mut context).is_ready();
            observing.abandon(&observed);
            drop(observing);
            let was_woken = counter.0.load(Ordering::Acquire) > 0;
            change.join().unwrap();
            patient.join().unwrap();
            drop(waker);
            assert_eq!(std::sync::Arc::strong_count(&counter), 1, "the record is gone, and the waker with it");
            seen.lock().unwrap().insert((found, was_woken));
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([(true, false), (false, false), (false, true)]));
    }
}
