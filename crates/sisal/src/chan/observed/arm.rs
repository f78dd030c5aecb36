//! A look at an observed state as an arm of a select.
//!
//! Nothing is handed over: a change ends the select's wait like any other, and then the arm looks again. Enlisting looks, too, and leaves what
//! it finds where it is, since another arm may be chosen. What it has seen it lets go under the lock, where the state has it still: it must not
//! be the one that drops a message, whose code would run while the select stands in other lists.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use super::Observed;
use crate::chan::arm::{Arm, Chosen};
use crate::chan::port::{Attempt, Enlisted};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::Here;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use std::cell::Cell;

/// See the [module](self).
pub(in crate::chan) struct ObservedArm<'a, S, N> {
    observed: &'a Observed<S>,
    /// Up to where its receiver has seen.
    position: &'a Cell<u64>,
    /// What there is for one who has seen that far, who has seen it then.
    next: fn(&S, &mut u64) -> Option<N>,
    outcome: Cell<Option<Result<N, Cancelled>>>,
}

impl<'a, S, N> ObservedArm<'a, S, N> {
    pub(in crate::chan) fn new(
        observed: &'a Observed<S>,
        position: &'a mut u64,
        next: fn(&S, &mut u64) -> Option<N>,
    ) -> ObservedArm<'a, S, N> {
        ObservedArm { observed, position: Cell::from_mut(position), next, outcome: Cell::new(None) }
    }

    /// What came of it. It must have been chosen, and is asked once.
    pub(in crate::chan) fn take(&self) -> Result<N, Cancelled> {
        self.outcome.take().unwrap_or_else(|| unreachable!("INVARIANT: only the chosen arm is asked, and once"))
    }

    fn look(&self, state: &S) -> Option<N> {
        let mut position = self.position.get();
        let found = (self.next)(state, &mut position);
        self.position.set(position);
        found
    }

    fn note(&self, found: Option<N>) -> Attempt {
        match found {
            Some(found) => {
                self.outcome.set(Some(Ok(found)));
                Attempt::Done
            }
            None => Attempt::Waits,
        }
    }
}

impl<S, N> Arm for ObservedArm<'_, S, N> {
    fn choose_now(&self, _here: Option<Here<'_>>) -> bool {
        let found = self.observed.quietly(|state| self.look(state));
        self.note(found) == Attempt::Done
    }

    unsafe fn attempt_or_enlist(&self, waiter: &Waiter<Who>) -> Attempt {
        // SAFETY: the caller's promise.
        let found = unsafe { self.observed.look_or_enlist(&mut |state: &mut S| self.look(state), waiter) };
        self.note(found)
    }

    unsafe fn enlist(&self, waiter: &Waiter<Who>) -> Enlisted {
        let mut peek = |state: &mut S| (self.next)(state, &mut self.position.get()).map(drop);
        // SAFETY: the caller's promise.
        match unsafe { self.observed.look_or_enlist(&mut peek, waiter) } {
            Some(()) => Enlisted::No,
            None => Enlisted::Yes,
        }
    }

    fn delist(&self, waiter: &Waiter<Who>) {
        self.observed.leave(waiter);
    }

    fn awaits(&self) -> (Reason, Object) {
        (Reason::Receive, Object::of(self.observed))
    }

    fn due(&self) -> Option<Moment> {
        None
    }

    unsafe fn choose(&self, chosen: Chosen) {
        if let Chosen::Cancelled(cancelled) = chosen {
            self.outcome.set(Some(Err(cancelled)));
        }
    }
}
