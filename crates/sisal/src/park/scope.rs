//! Entering and leaving the scopes that end waits from outside: see [`ambient`](crate::fiber::ambient).
#![allow(unsafe_code, reason = "scopes lie in the frames of whoever is inside them")]

use super::{fiber, me, poke, thread};
use crate::fiber::ambient::Scope;
use crate::fiber::cancel_node::CancelNode;
use crate::fiber::who::Who;
use crate::prim::cancel::{Cancelled, Cause};
use crate::prim::clock::Moment;
use crate::queue::timers::Timer;
use crate::sched::alarm::Alarm;
use crate::sched::worker;
use std::ptr::NonNull;

/// How a scope begins.
#[derive(Copy, Clone)]
pub(crate) enum Entry<'a> {
    /// Below the caller's own scopes, and ended by this node as well, if there is one.
    Below(Option<&'a CancelNode>),
    /// As the first of a new fiber, below this node. It is not followed before the fiber waits.
    Child(&'a CancelNode),
}

/// Calls `f` in a scope of its own, which ends at `expiry`; `f` gets the scope's node.
pub(crate) fn within<R>(entry: Entry<'_>, expiry: Moment, f: impl FnOnce(&CancelNode) -> R) -> R {
    let who = me();
    let outer = current(&who);
    let parents = match entry {
        Entry::Child(nursery) => [Some(NonNull::from(nursery)), None],
        Entry::Below(token) => {
            // SAFETY: the scope around us is not left before we are.
            let around = outer.and_then(|outer| unsafe { outer.as_ref() }.node.as_ref());
            [around.map(NonNull::from), token.map(NonNull::from)]
        }
    };
    if let Some(outer) = outer {
        // SAFETY: as above. What it follows has to reach us.
        unsafe { outer.as_ref().follow(&poke) };
    }
    let scope = Scope::new(who, outer, parents, expiry != Moment::NEVER);
    let _inside = Inside::enter(&scope, outer);
    let node = scope.node.as_ref().unwrap_or_else(|| unreachable!("INVARIANT: made with a node"));
    if let Entry::Below(_) = entry {
        // SAFETY: the scope stays in this frame until `_inside` has left it.
        unsafe { scope.follow(&poke) };
        heed_request();
    }
    if expiry == Moment::NEVER {
        return f(node);
    }
    let timer = Timer::new(Alarm::Scope(NonNull::from(&scope)));
    let _armed = Armed::new(&timer, &scope, expiry);
    f(node)
}

/// If the end of the running fiber has been asked for, its outermost scope ends. From now on its worker hears of it, so that what is
/// inside its scopes ends as well, even if the fiber itself does not wait.
fn heed_request() {
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

/// Calls `f` in a scope that nothing from outside ends.
pub(crate) fn shielded<R>(f: impl FnOnce() -> R) -> R {
    let outer = current(&me());
    let scope = Scope::shield(outer);
    let _inside = Inside::enter(&scope, outer);
    f()
}

/// Whether a cancellable wait would end at once, here and now.
pub(crate) fn check() -> Result<(), Cancelled> {
    let cause = worker::with_fiber(|running| match running {
        Some((_, me)) if fiber::is_shielded(me) => None,
        Some((worker, me)) => {
            if me.scope.get().is_some() {
                // Nobody else looks at the clock while the fiber computes.
                worker.catch_up();
            }
            fiber::ambient_end(worker, me)
        }
        None => thread::ambient_end(),
    });
    cause.map_or(Ok(()), |cause| Err(Cancelled::by(cause)))
}

fn current(who: &Who) -> Option<NonNull<Scope>> {
    match who {
        Who::Fiber(fiber) => fiber.scope.get(),
        Who::Thread(_) | Who::Task(_) => thread::scope(),
    }
}

fn set_current(scope: Option<NonNull<Scope>>) {
    worker::with_fiber(|running| match running {
        Some((_, me)) => me.scope.set(scope),
        None => thread::set_scope(scope),
    });
}

/// Takes its scope off when it goes.
struct Inside<'a> {
    scope: &'a Scope,
    outer: Option<NonNull<Scope>>,
}

impl<'a> Inside<'a> {
    fn enter(scope: &'a Scope, outer: Option<NonNull<Scope>>) -> Inside<'a> {
        set_current(Some(NonNull::from(scope)));
        Inside { scope, outer }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        set_current(self.outer);
        self.scope.leave();
    }
}

/// Ends its scope when the time comes; takes the timer off when it goes.
struct Armed<'a>(&'a Timer<Alarm>);

impl<'a> Armed<'a> {
    fn new(timer: &'a Timer<Alarm>, scope: &Scope, expiry: Moment) -> Armed<'a> {
        worker::with_fiber(|running| match running {
            Some((worker, _)) => {
                let now = worker.read_clock();
                // SAFETY: the timer is in its caller's frame, and removed when the guard goes.
                unsafe { worker.arm(timer, expiry, now) };
            }
            None => scope.expiry.set(expiry),
        });
        Armed(timer)
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        worker::with_fiber(|running| {
            if let Some((worker, _)) = running {
                worker.disarm(self.0);
            }
        });
    }
}
