//! Waiting as a fiber; and who is one.
#![allow(unsafe_code, reason = "timers and scopes reach the wait by pointer")]

use super::Waiting;
use super::thread;
use crate::fiber::current;
use crate::fiber::header::FiberRef;
use crate::fiber::waiter::{ClaimToken, Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::fork;
use crate::prim::object::{Object, Owner};
use crate::prim::reason::{Place, Reason};
use crate::prim::thread_number::{self, ThreadNumber};
use crate::queue::timers::Timer;
use crate::sched::alarm::Alarm;
use crate::sched::fuel::give_way_now;
use crate::sched::poke::poke;
use crate::sched::shared::Phase;
use crate::sched::worker::{self, Worker};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

/// Whoever calls this: the running fiber, or the thread if there is none.
#[inline]
pub(crate) fn me() -> Who {
    worker::with_fiber(|running| match running {
        Some((_, fiber)) => Who::Fiber(fiber),
        None => {
            fork::refuse_in_child();
            Who::Thread(thread::parker())
        }
    })
}

/// Whoever calls this, as an owner of things.
#[inline]
pub(crate) fn myself() -> Owner {
    let (fiber, runtime) = current::with(|current| (current.fiber.get(), current.runtime.get()));
    match fiber {
        Some(fiber) => Owner::Fiber { runtime, id: fiber.id },
        None => Owner::Thread(thread_number::current()),
    }
}

/// Waits until `wait`, which was made for [`me`], is ended; returns by what.
///
/// One function for all, with everything down to the switch inlined: see [`Worker::park`].
#[inline(never)]
pub(crate) fn park(wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    match wait.who() {
        Who::Thread(parker) => thread::park(wait, parker, waiting),
        Who::Task(_) => unreachable!("INVARIANT: a task does not park, it is polled"),
        Who::Fiber(_) => worker::with_fiber(|running| match running {
            Some((worker, me)) => park_fiber(worker, me, wait, waiting),
            None => unreachable!("INVARIANT: a wait made in a fiber is waited for in that fiber"),
        }),
    }
}

/// The fiber that runs, and its worker, for a call that has to do with both several times: it need not ask the thread each time.
#[derive(Copy, Clone)]
pub(crate) struct Here<'w> {
    worker: &'w Worker,
    me: FiberRef,
}

/// Calls `f` with the fiber that runs, if one does.
#[inline(always)]
pub(crate) fn with_here<R>(f: impl FnOnce(Option<Here<'_>>) -> R) -> R {
    worker::with_fiber(|running| f(running.map(|(worker, me)| Here { worker, me })))
}

impl Here<'_> {
    /// As [`me`].
    #[inline(always)]
    pub(crate) fn who(self) -> Who {
        Who::Fiber(self.me)
    }

    /// That of the thread.
    #[inline(always)]
    pub(crate) fn thread(self) -> ThreadNumber {
        self.worker.thread_number()
    }

    /// As [`unpark`](crate::sched::unpark::unpark).
    pub(crate) fn unpark(self, token: ClaimToken<Who>) {
        self.worker.unpark(token);
    }

    /// As [`unpark`](Self::unpark), of a fiber of this thread.
    #[inline(always)]
    pub(crate) fn unpark_near(self, token: ClaimToken<Who>) {
        self.worker.unpark_near(token);
    }

    /// As [`pay_fuel`](crate::sched::fuel::pay_fuel).
    #[inline(always)]
    pub(crate) fn pay_fuel(self, place: Place) {
        if self.spend_fuel() {
            give_way_now(place);
        }
    }

    /// As [`spend_fuel`](crate::sched::fuel::spend_fuel).
    #[inline(always)]
    pub(crate) fn spend_fuel(self) -> bool {
        self.worker.spend(1)
    }

    /// Whether there is nothing better to do than to [stand](Self::stand) somewhere for a moment. Takes no lock: the caller may have one, which
    /// those who cancel take while they have that of a node.
    #[inline]
    pub(crate) fn may_stand(self) -> bool {
        self.worker.may_stand() && (is_shielded(self.me) || is_calm(self.worker, self.me))
    }

    /// Looks for a moment whether what the fiber would wait for has come.
    #[inline]
    pub(crate) fn stand(self, is_over: impl Fn() -> bool) {
        self.worker.stand(is_over);
    }

    /// As [`park`], for a wait that has no time limit of its own, can be cancelled, and is not counted. The wait itself says what has ended it.
    #[inline(always)]
    pub(crate) fn park(self, wait: &Wait<Who>, reason: Reason, object: Object, place: Place) {
        debug_assert!(!reason.is_counted(), "INVARIANT: such a wait says nothing about who is stuck");
        let Here { worker, me } = self;
        let cancellable = !is_shielded(me);
        if cancellable
            && let Some(cause) = ambient_end(worker, me)
            && wait.claim_own(Woken::Cancelled(cause))
        {
            return;
        }
        me.wait.write(reason, object, place, worker.coarse_now());
        leave(worker, me, wait, cancellable, false);
    }

    /// As [`park`](Self::park), not in line.
    #[inline(never)]
    pub(crate) fn park_apart(self, wait: &Wait<Who>, reason: Reason, object: Object, place: Place) {
        self.park(wait, reason, object, place);
    }
}

/// As [`park`], for a wait that stands in the list of a descriptor, as its object 0. A thread also ends it itself when the descriptor is
/// readable, or writable.
pub(crate) fn park_for_descriptor(wait: &Wait<Who>, waiting: &Waiting, fd: BorrowedFd<'_>, writable: bool) -> Woken {
    match wait.who() {
        Who::Thread(parker) => thread::park_for_descriptor(wait, parker, waiting, fd, writable),
        Who::Fiber(_) | Who::Task(_) => park(wait, waiting),
    }
}

#[inline(always)]
fn park_fiber(worker: &Worker, me: FiberRef, wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    let cancellable = waiting.cancellable && !is_shielded(me);
    if cancellable
        && let Some(cause) = ambient_end(worker, me)
        && wait.claim_own(Woken::Cancelled(cause))
    {
        return Woken::Cancelled(cause);
    }
    let mut timer = None;
    let deadline = waiting.deadline.filter(|&deadline| deadline != Moment::NEVER);
    let now = match deadline {
        Some(deadline) => {
            let now = worker.read_clock();
            let timer = timer.insert(Timer::new(Alarm::Wait(NonNull::from(wait))));
            // SAFETY: the timer is in this frame, and removed below.
            unsafe { worker.arm(timer, deadline, now) };
            now
        }
        None => worker.coarse_now(),
    };
    me.wait.write(waiting.reason, waiting.object, waiting.place, now);
    let is_counted = waiting.reason.is_counted();
    if is_counted {
        worker.count_wait(waiting.reason);
    }
    leave(worker, me, wait, cancellable, deadline.is_some());
    if is_counted {
        worker.count_end_of_wait(waiting.reason);
    }
    if let Some(timer) = &timer {
        worker.disarm(timer);
    }
    wait.woken().unwrap_or_else(|| unreachable!("INVARIANT: an unpark comes after the claim"))
}

/// Leaves the fiber, which has written down what it waits for; returns when it has been unparked.
#[inline(always)]
fn leave(worker: &Worker, me: FiberRef, wait: &Wait<Who>, cancellable: bool, limited: bool) {
    me.parked_by.set(Some(NonNull::from(wait)));
    me.flags.set_wait(cancellable, limited);
    // Even if the wait was claimed already: whoever did so unparks us, and until then this frame and this fiber have to stay.
    worker.park(me);
    me.parked_by.set(None);
    worker.note_resumed(me);
}

/// Whether nothing from outside is to end the fiber's waits.
#[inline]
pub(super) fn is_shielded(me: FiberRef) -> bool {
    // SAFETY: the scope lies in a frame of this fiber that has not been left.
    me.scope.get().is_some_and(|scope| unsafe { scope.as_ref() }.node.is_none())
}

/// What ends every cancellable wait of this fiber, which runs and is not shielded, right now, if anything does. From now on it can
/// be poked.
#[inline(always)]
pub(super) fn ambient_end(worker: &Worker, me: FiberRef) -> Option<Cause> {
    // Mostly it has waited before, is inside of nothing, and was not asked for anything.
    if (me.scope.get().is_some() || !me.poke.is_calm())
        && let Some(cause) = own_end(me)
    {
        return Some(cause);
    }
    if worker.shared().phase() == Phase::Running && !worker.is_unwinding() {
        return None;
    }
    common_end(worker, me)
}

/// Whether it is certain, without a lock, that nothing ends the fiber's cancellable waits right now, and that it could be poked. Of one that has not
/// waited yet it is not.
#[inline]
fn is_calm(worker: &Worker, me: FiberRef) -> bool {
    // SAFETY: as in `is_shielded`.
    let is_following = me.scope.get().is_none_or(|scope| unsafe { scope.as_ref() }.is_following());
    let is_asked = !me.poke.is_calm() || me.cancel_cause().is_some();
    is_following && !is_asked && worker.shared().phase() == Phase::Running && !worker.is_unwinding()
}

/// What is asked of the fiber itself, or of one of its scopes.
#[inline(never)]
fn own_end(me: FiberRef) -> Option<Cause> {
    me.poke.make_reachable();
    // SAFETY: as in `is_shielded`; scopes stay until they are left.
    if let Some(scope) = me.scope.get().map(|scope| unsafe { &*scope.as_ptr().cast_const() })
        && !scope.is_following()
    {
        // It may stand in lists already: nothing else may be done in its name.
        // SAFETY: as above.
        current::with(|current| current.as_nobody(|| unsafe { scope.follow(&poke) }));
    }
    me.cancel_cause()
}

/// What is asked of all fibers, or comes of a panic.
#[cold]
#[inline(never)]
fn common_end(worker: &Worker, me: FiberRef) -> Option<Cause> {
    let cause = if worker.is_unwinding() { Cause::Unwinding } else { Cause::Shutdown };
    // A shield somewhere around keeps these off as well.
    (!me.is_inside_shield()).then_some(cause)
}
