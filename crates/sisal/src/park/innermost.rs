//! Where the innermost scope of whoever runs is kept, and what else a scope of a fiber needs of it and of its worker.
#![allow(unsafe_code, reason = "timers and scopes lie in the frames of whoever is inside them")]

use super::{fiber, poke, thread};
use crate::fiber::ambient::Scope;
use crate::fiber::who::Who;
use crate::prim::cancel::{Cancelled, Cause};
use crate::prim::clock::Moment;
use crate::queue::timers::Timer;
use crate::sched::alarm::Alarm;
use crate::sched::worker;
use std::ptr::NonNull;

/// The innermost scope of `who`, which calls this.
pub(super) fn current(who: &Who) -> Option<NonNull<Scope>> {
    match who {
        Who::Fiber(fiber) => fiber.scope.get(),
        Who::Thread(_) | Who::Task(_) => thread::scope(),
    }
}

/// Changes the innermost scope of the caller.
pub(super) fn set_current(scope: Option<NonNull<Scope>>) {
    worker::with_fiber(|running| match running {
        Some((_, me)) => me.scope.set(scope),
        None => thread::set_scope(scope),
    });
}

/// If the end of the running fiber has been asked for, its outermost scope ends. From now on its worker hears of it, so that what is
/// inside its scopes ends as well, even if the fiber itself does not wait.
pub(super) fn heed_request() {
    worker::with_fiber(|running| {
        let Some((_, me)) = running else { return };
        me.poke.make_reachable();
        if me.poke.is_requested()
            && let Some(node) = me.scopes().last().and_then(|outermost| outermost.node.as_ref())
        {
            node.cancel(Cause::Request, &poke);
        }
    });
}

/// Whether a cancellable wait would end at once, here and now.
pub(crate) fn check() -> Result<(), Cancelled> {
    let cause = worker::with_fiber(|running| match running {
        Some((_, me)) if fiber::is_shielded(me) => None,
        Some((worker, me)) => {
            if let Some(scope) = me.scopes().next() {
                // Nobody else looks at the clock while the fiber computes. The timer of a nursery is that of its opener's worker.
                worker.catch_up();
                scope.node.iter().for_each(|node| node.heed_time(&poke));
            }
            fiber::ambient_end(worker, me)
        }
        None => thread::ambient_end(),
    });
    cause.map_or(Ok(()), |cause| Err(Cancelled::by(cause)))
}

/// A timer that ends this scope. Not armed yet.
pub(super) fn timer_of(scope: &Scope) -> Timer<Alarm> {
    Timer::new(Alarm::Scope(NonNull::from(scope)))
}

/// Ends its scope when the time comes, if there is one; takes the timer off when it goes.
pub(super) struct Armed<'a>(Option<&'a Timer<Alarm>>);

impl<'a> Armed<'a> {
    /// The timer is that of the scope.
    pub(super) fn new(timer: &'a Timer<Alarm>, scope: &Scope, expiry: Moment) -> Armed<'a> {
        if expiry == Moment::NEVER {
            return Armed(None);
        }
        worker::with_fiber(|running| match running {
            Some((worker, _)) => {
                let now = worker.read_clock();
                // SAFETY: the timer is in its caller's frame, and removed when the guard goes.
                unsafe { worker.arm(timer, expiry, now) };
                worker.expect_something();
            }
            None => scope.expiry.set(expiry),
        });
        Armed(Some(timer))
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        let Some(timer) = self.0 else { return };
        worker::with_fiber(|running| {
            if let Some((worker, _)) = running {
                worker.disarm(timer);
            }
        });
    }
}
