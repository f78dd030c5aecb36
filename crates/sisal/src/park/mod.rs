//! The one way to wait, for fibers and plain threads alike.
//!
//! A primitive that wants to wait
//! 1. makes a [`Wait`] for [`me`] and a [`Waiter`](crate::fiber::waiter::Waiter) for each object, in its own frame,
//! 2. links them to the objects, under their locks,
//! 3. calls [`park`], which returns what ended the wait,
//! 4. takes them off the objects that did not end it, under their locks.
//!
//! Steps 2 and 4 are the primitive's, everything about waking, deadlines and cancelling is here and in
//! [`waiter`](crate::fiber::waiter), where the protocol is written down.
//!
//! - *Deadline*: a fiber's is a timer of its worker, a thread's the timeout of its sleep. Either claims the wait.
//! - *Cancel*: when the runtime stops, each worker claims the cancellable waits of its own fibers; a wait that begins later
//!   claims itself. Both happen on the fiber's own thread, so they can't miss each other.
//! - *Unwinding*: a cancellable wait of a fiber that is unwinding from a panic of its own returns at once. (While another fiber
//!   of the worker is suspended in its unwinding, one can't tell; then it waits, which is as sound.)
#![allow(unsafe_code, reason = "timers and the sweep at shutdown reach the wait by pointer")]

use crate::fiber::header::{FiberRef, Who};
use crate::fiber::waiter::{Wait, Woken};
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::fork;
use crate::prim::parker::ThreadParker;
use crate::prim::reason::{Place, Reason};
use crate::queue::timers::Timer;
use crate::sched::shared::Phase;
use crate::sched::worker::{self, Worker};
use std::ptr::NonNull;
use std::sync::Arc;

/// What is waited for, and for how long.
#[derive(Copy, Clone)]
pub(crate) struct Waiting {
    pub(crate) reason: Reason,
    /// The object, as a number that tells it from others.
    pub(crate) object: usize,
    pub(crate) place: Place,
    pub(crate) deadline: Option<Moment>,
    /// Whether something that ends all waits of the fiber ends this one.
    pub(crate) cancellable: bool,
}

thread_local! {
    static PARKER: Arc<ThreadParker> = Arc::new(ThreadParker::new());
}

/// Whoever calls this: the running fiber, or the thread if there is none.
pub(crate) fn me() -> Who {
    worker::with_fiber(|running| match running {
        Some((_, fiber)) => Who::Fiber(fiber),
        None => {
            fork::refuse_in_child();
            // A thread that is ending has no thread-locals any more.
            Who::Thread(PARKER.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(ThreadParker::new())))
        }
    })
}

/// Waits until `wait`, which was made for [`me`], is ended; returns by what.
pub(crate) fn park(wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    match wait.who() {
        Who::Thread(parker) => park_thread(wait, parker, waiting.deadline),
        Who::Fiber(_) => worker::with_fiber(|running| match running {
            Some((worker, me)) => park_fiber(worker, me, wait, waiting),
            None => unreachable!("INVARIANT: a wait made in a fiber is waited for in that fiber"),
        }),
    }
}

fn park_thread(wait: &Wait<Who>, parker: &ThreadParker, deadline: Option<Moment>) -> Woken {
    let mut remaining = deadline;
    while !parker.park(|| remaining.map(|deadline| deadline.since(Moment::now()))) {
        if wait.claim(Woken::Deadline).is_some() {
            // We claimed ourselves, and are awake: nobody owes us an unpark.
            return Woken::Deadline;
        }
        // Somebody else has claimed us: the unpark is on its way.
        remaining = None;
    }
    ended(wait)
}

fn park_fiber(worker: &Worker, me: FiberRef, wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    if waiting.cancellable
        && let Some(cause) = ambient_end(worker)
        && wait.claim(Woken::Cancelled(cause)).is_some()
    {
        return Woken::Cancelled(cause);
    }
    let timer = Timer::new(NonNull::from(wait));
    let now = match waiting.deadline.filter(|&deadline| deadline != Moment::NEVER) {
        Some(deadline) => {
            let now = worker.read_clock();
            // SAFETY: the timer is in this frame, and removed below.
            unsafe { worker.timers().insert(NonNull::from(&timer), deadline.0, now.0) };
            now
        }
        None => worker.coarse_now(),
    };
    me.wait.write(waiting.reason, waiting.object, waiting.place, now);
    me.cancellable.set(waiting.cancellable.then(|| NonNull::from(wait)));
    // Even if the wait was claimed already: whoever did so still has to unpark us, and until then this frame and this fiber have
    // to stay.
    loop {
        worker.park(me);
        if wait.woken().is_some() {
            break;
        }
    }
    me.cancellable.set(None);
    me.wait.clear();
    worker.timers().remove(&timer);
    ended(wait)
}

/// What ends every cancellable wait of this fiber right now, if anything does.
fn ambient_end(worker: &Worker) -> Option<Cause> {
    if worker.is_unwinding() {
        return Some(Cause::Unwinding);
    }
    (worker.shared().phase() != Phase::Running).then_some(Cause::Shutdown)
}

fn ended(wait: &Wait<Who>) -> Woken {
    wait.woken().unwrap_or_else(|| unreachable!("INVARIANT: an unpark comes after the claim"))
}
