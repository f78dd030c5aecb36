//! Waiting for the first of several channel operations: [`select!`](crate::select!), and [`Select`] for arms known only at run time.
//!
//! # Protocol
//! One wait with a place for each arm, in three passes:
//! 1. *Try* every arm, in random order. The first that need not wait is done, and nothing else has happened.
//! 2. *Enlist* at every arm's channel, with one claim word for all. An arm that need not wait any more ends the pass: the select
//!    claims its own wait and begins again; if that fails, somebody has claimed it for an arm enlisted before, and it goes on to
//!    wait for the unpark. Nothing is moved in this pass: whoever moves a value for this select must have won its claim.
//! 3. *Park; then delist* everywhere. If the arm that ended the wait was handed what it wanted, that is it. If it was signalled, it is
//!    tried before all others, so that the signal is not lost; if somebody else was quicker, all begins again.
//!
//! So the decision is made, by one claim, before an item moves; exactly one arm runs. A deadline or a cancellation claims the wait
//! like a channel; then no channel has.
//!
//! A select with a default that is to be taken at once does the same, but does not park: when it is enlisted everywhere and ends its own
//! wait, there was a moment at which no arm was ready.
//!
//! Two selects that meet in pass 2, each enlisted where the other comes next, both begin again; the random order parts them.
#![allow(unsafe_code, reason = "records of this frame are linked to channels, and values moved through the arms")]

mod builder;
#[doc(hidden)]
pub mod hidden;
#[cfg(all(test, loom))]
mod loom_models;
mod order;

pub use self::builder::Select;

use self::order::Order;
use crate::chan::arm::{AnyArm, Arm, Chosen};
use crate::chan::port::Enlisted;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Here, Waiting, me, park, park_or_leave, pay_fuel};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};

/// For how long to wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    Until(Moment),
    Endless,
}

/// Pass 1: the first of `arms` that need not wait, which is then chosen.
#[inline]
fn try_any(here: Option<Here<'_>>, arms: &[AnyArm<'_>], place: Place) -> Option<usize> {
    let index = Order::random(arms.len()).indices().find(|&index| arms[index].0.choose_now(here))?;
    pay_fuel(place);
    Some(index)
}

/// Waits for the first of `arms`, which is then chosen, and returns its number; none if the patience is over first. All were tried just now.
/// `waiters` are the records of `wait`, one for each arm.
#[cold]
fn select(
    arms: &[AnyArm<'_>],
    wait: &Wait<Who>,
    waiters: &[Waiter<Who>],
    patience: Patience,
    place: Place,
) -> Option<usize> {
    debug_assert_eq!(arms.len(), waiters.len(), "INVARIANT: a record for each arm");
    loop {
        match wait_for_any(arms, wait, waiters, patience, place) {
            None => {}
            Some(Ended { woken: Woken::Object(number), .. }) => {
                let index = number as usize;
                if waiters[index].was_handed() {
                    // SAFETY: its channel has handed it what it wanted.
                    unsafe { arms[index].0.choose(Chosen::Done) };
                    return Some(index);
                }
                if arms[index].0.choose_now(None) {
                    return Some(index);
                }
            }
            Some(Ended { woken: Woken::Deadline, due }) => {
                // Perhaps the time of an arm: then it is due, or somebody else has what came.
                let is_over = match patience {
                    Patience::None => true,
                    Patience::Until(deadline) => due.is_none_or(|due| deadline < due),
                    Patience::Endless => false,
                };
                if is_over {
                    pay_fuel(place);
                    return None;
                }
            }
            Some(Ended { woken: Woken::Cancelled(cause), .. }) => {
                pay_fuel(place);
                let AnyArm(first) = arms.first()?;
                // SAFETY: it is not said to be done.
                unsafe { first.choose(Chosen::Cancelled(Cancelled::by(cause))) };
                return Some(0);
            }
        }
        if let Some(index) = try_any(None, arms, place) {
            return Some(index);
        }
        wait.renew();
    }
}

/// How a wait for several arms ended.
struct Ended {
    woken: Woken,
    /// When the first of them was to be ready, as the wait knew it: a moment later it may have been another's.
    due: Option<Moment>,
}

/// Passes 2 and 3. None if an arm turned out to be ready, so that the wait did not take place.
fn wait_for_any(
    arms: &[AnyArm<'_>],
    wait: &Wait<Who>,
    waiters: &[Waiter<Who>],
    patience: Patience,
    place: Place,
) -> Option<Ended> {
    let order = Order::random(arms.len());
    // SAFETY: the records stay until they are delisted below, or the one that ended the wait was taken off by its channel.
    let enlist = |&index: &usize| unsafe { arms[index].0.enlist(&waiters[index]) } == Enlisted::Yes;
    let linked = order.indices().take_while(enlist).count();
    let ready = linked < arms.len();
    let ended = if ready && wait.claim_own(Woken::Object(linked as u32)) {
        None
    } else if patience == Patience::None && wait.claim_own(Woken::Deadline) {
        Some(Ended { woken: Woken::Deadline, due: None })
    } else {
        let own = match patience {
            Patience::Until(deadline) => Some(deadline),
            Patience::None | Patience::Endless => None,
        };
        let due = earliest(arms);
        let deadline = [own, due].into_iter().flatten().min();
        let arms = Arms(arms);
        let object = Object::of(&arms);
        let woken = park(wait, &Waiting { reason: Reason::Select, object, place, deadline, cancellable: true });
        Some(Ended { woken, due })
    };
    let ended_by = match ended {
        Some(Ended { woken: Woken::Object(number), .. }) => Some(number as usize),
        _ => None,
    };
    order
        .indices()
        .take(linked)
        .filter(|&index| Some(index) != ended_by)
        .for_each(|index| arms[index].0.delist(&waiters[index]));
    ended
}

/// The arms of a select that waits, for those who look.
struct Arms<'a>(&'a [AnyArm<'a>]);

impl Watched for Arms<'_> {
    fn sight(&self) -> Sight {
        Sight { parts: self.0.iter().map(|arm| arm.0.awaits()).collect(), ..Sight::new("select") }
    }
}

/// When the first of the arms will be ready, as far as that is known.
fn earliest(arms: &[AnyArm<'_>]) -> Option<Moment> {
    arms.iter().filter_map(|arm| arm.0.due()).min()
}

/// Waits for one arm: there is nothing to choose from, so it is tried and enlisted in one step.
#[inline]
fn select_one(here: Option<Here<'_>>, arm: &dyn Arm, patience: Patience, place: Place) -> Option<usize> {
    if arm.choose_now(here) {
        match here {
            Some(here) => here.pay_fuel(place),
            None => pay_fuel(place),
        }
        return Some(0);
    }
    wait_for_only(arm, patience, place)
}

/// Apart from the attempt without a wait, which would have to make room for all that this needs.
#[inline(never)]
fn wait_for_only(arm: &dyn Arm, patience: Patience, place: Place) -> Option<usize> {
    if patience == Patience::None {
        pay_fuel(place);
        return None;
    }
    let wait = Wait::new(me());
    loop {
        wait.renew();
        let waiters = [Waiter::solo(&wait)];
        // SAFETY: the record stays until its wait is over, and is delisted if the channel did not end it.
        if let Some(chosen) = Chosen::after(unsafe { arm.attempt_or_enlist(&waiters[0]) }) {
            // SAFETY: the attempt has said so just now.
            unsafe { arm.choose(chosen) };
            return Some(0);
        }
        let own = match patience {
            Patience::Until(deadline) => Some(deadline),
            Patience::None | Patience::Endless => None,
        };
        let due = arm.due();
        let deadline = [own, due].into_iter().flatten().min();
        let arms = [AnyArm(arm)];
        let arms = Arms(&arms);
        let object = Object::of(&arms);
        let waiting = Waiting { reason: Reason::Select, object, place, deadline, cancellable: true };
        match park_or_leave(&wait, &waiting, || arm.delist(&waiters[0])) {
            Woken::Object(_) if waiters[0].was_handed() => {
                // SAFETY: its channel has handed it what it wanted.
                unsafe { arm.choose(Chosen::Done) };
                return Some(0);
            }
            Woken::Object(_) => {}
            Woken::Deadline => {
                if due.is_none_or(|due| own.is_some_and(|own| own < due)) {
                    return None;
                }
            }
            Woken::Cancelled(cause) => {
                // SAFETY: it is not said to be done.
                unsafe { arm.choose(Chosen::Cancelled(Cancelled::by(cause))) };
                return Some(0);
            }
        }
    }
}
