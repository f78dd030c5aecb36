//! The one way to wait, for fibers and plain threads alike.
//!
//! A primitive that wants to wait
//! 1. makes a [`Wait`] for [`me`] and a [`Waiter`](crate::fiber::waiter::Waiter) for each object, in its own frame,
//! 2. links them to the objects, under their locks,
//! 3. calls [`park`], which returns what ended the wait,
//! 4. takes them off the objects, under their locks (the one that ended the wait has done so itself),
//! 5. calls [`pay_fuel`] if it was cancelled: perhaps the fiber has not left its stack, and whoever goes on all the same has to let others
//!    have a turn. Not before step 4: nobody stands in a list who does not wait.
//!
//! With one object, [`park_or_leave`] does the last three.
//!
//! Steps 2 and 4 are the primitive's, everything about waking, deadlines and cancelling is here and in
//! [`waiter`](crate::fiber::waiter), where the protocol is written down. Whoever ends the wait of another passes its token to
//! [`unpark`]. An operation that need not wait calls [`pay_fuel`], also if it is in vain, or
//! [`pay_fuel_for_system_call`](crate::sched::fuel::pay_fuel_for_system_call).
//!
//! - *Deadline*: a fiber's is a timer of its worker, a thread's the timeout of its sleep. Either claims the wait.
//! - *Cancel*: a wait that begins in a cancelled [`scope`] claims itself. One that is cancelled later is claimed on its own
//!   thread, too: the thread is *poked*, or the fiber's worker is, and looks. So the two can't miss each other.
//! - *Shutdown*: each worker claims the cancellable waits of its own fibers; a wait that begins later claims itself.
//! - *Unwinding*: a cancellable wait of a fiber that is unwinding from a panic of its own returns at once. (While another fiber
//!   of the worker is suspended in its unwinding, one can't tell; then it waits, which is as sound.)

#[cfg(not(modelled))]
mod fiber;
#[cfg_attr(modelled, path = "innermost_model.rs")]
mod innermost;
#[cfg(modelled)]
mod model;
pub(crate) mod scope;
#[cfg(all(test, loom))]
mod tests;
mod thread;
#[cfg(not(modelled))]
pub(crate) mod waiting_threads;

#[cfg(not(modelled))]
pub(crate) use self::fiber::{Here, me, myself, park, park_for_descriptor, with_here};
#[cfg(all(test, loom))]
pub(crate) use self::model::and_whether_it_waited;
#[cfg(modelled)]
pub(crate) use self::model::{Here, give_way_now, me, myself, park, pay_fuel, poke, spend_fuel, unpark, with_here};
#[cfg(not(modelled))]
pub(crate) use crate::sched::{
    fuel::{give_way_now, pay_fuel, pay_fuel_for_system_call, spend_fuel},
    poke::poke,
    unpark::unpark,
};

#[cfg(modelled)]
use self::model::burn_fuel;
use crate::fiber::waiter::{ClaimToken, Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::prim::task_parker::later;
#[cfg(not(modelled))]
use crate::sched::fuel::burn_fuel;
use std::task::Context;

/// What is waited for, and for how long.
#[derive(Copy, Clone)]
pub(crate) struct Waiting {
    pub(crate) reason: Reason,
    pub(crate) object: Object,
    pub(crate) place: Place,
    pub(crate) deadline: Option<Moment>,
    /// Whether something that ends all waits of the fiber ends this one.
    pub(crate) cancellable: bool,
}

/// Unparks waiters that were claimed together. Tasks come last: until all are unparked nothing else can end their waits, and a waker, which is foreign
/// code, may wait for one of them.
#[inline]
pub(crate) fn unpark_all(claimed: impl Iterator<Item = ClaimToken<Who>>) {
    later(|| claimed.for_each(unpark));
}

/// As [`park`], and if something else than its object ends the wait, `leave` takes it off that.
#[inline]
pub(crate) fn park_or_leave<R>(wait: &Wait<Who>, waiting: &Waiting, leave: impl FnOnce() -> R) -> Woken {
    let woken = park(wait, waiting);
    match woken {
        Woken::Object(_) => {}
        Woken::Deadline => {
            leave();
        }
        Woken::Cancelled(_) => {
            leave();
            pay_fuel(waiting.place);
        }
    }
    woken
}

/// Whether it is another's turn before this poll. Then whoever polls is told that there is more, and gives way when it pays next.
#[inline]
pub(crate) fn gives_way(context: &Context<'_>) -> bool {
    gives_way_for(1, context)
}

/// As [`gives_way`], before a poll that calls into the system.
#[cfg(all(not(modelled), any(feature = "futures", feature = "hyper", feature = "tokio")))]
pub(crate) fn gives_way_for_system_call(context: &Context<'_>) -> bool {
    gives_way_for(crate::sched::fuel::SYSTEM_CALL, context)
}

#[inline(always)]
fn gives_way_for(cost: u32, context: &Context<'_>) -> bool {
    let is_anothers_turn = burn_fuel(cost);
    if is_anothers_turn {
        context.waker().wake_by_ref();
    }
    is_anothers_turn
}
