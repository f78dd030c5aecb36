//! How a fiber's worker is made to look whether the fiber's wait is to end. The protocol is that of
//! [`poke_word`](crate::fiber::poke_word).
#![allow(unsafe_code, reason = "a fiber names its runtime by pointer")]

use super::shared::Shared;
use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::fiber::waiter::Woken;
use crate::fiber::who::Who;
use crate::prim::atomic::{AtomicU32, Ordering, fence};
use crate::prim::cancel::Cause;
use crate::prim::lock::Lock;
use std::sync::Arc;

/// The fibers a worker is to look at.
pub(crate) struct Pokes {
    /// How many there are.
    count: AtomicU32,
    fibers: Lock<Vec<FiberRef>>,
}

impl Pokes {
    pub(crate) fn new() -> Pokes {
        Pokes { count: AtomicU32::new(0), fibers: Lock::new(Vec::new()) }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn push(&self, fiber: FiberRef) {
        let mut fibers = self.fibers.lock();
        fibers.push(fiber);
        self.count.store(fibers.len() as u32, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<FiberRef> {
        let mut fibers = self.fibers.lock();
        let fiber = fibers.pop();
        self.count.store(fibers.len() as u32, Ordering::Relaxed);
        fiber
    }
}

/// Lets `who` look whether its wait is to end.
pub(crate) fn poke(who: &Who) {
    match who {
        Who::Thread(parker) => parker.poke(),
        Who::Task(_) => unreachable!("INVARIANT: a task enters no scope"),
        Who::Fiber(fiber) => poke_fiber(*fiber),
    }
}

fn poke_fiber(fiber: FiberRef) {
    if !fiber.poke.begin() {
        return;
    }
    let runtime = fiber.runtime.cast::<Shared>();
    // SAFETY: a fiber that is not done keeps its runtime alive, and it does not end before it was put on the list, which is done
    // below. The pointer is an `Arc`'s.
    let shared = unsafe {
        Arc::increment_strong_count(runtime);
        Arc::from_raw(runtime)
    };
    let home = fiber.home();
    let remote = &shared.remotes[home];
    remote.pokes.push(fiber);
    // ORDERING: pairs with the fence in `Idle::announce`: pushed before we look whether it sleeps.
    fence(Ordering::SeqCst);
    shared.idle.wake_worker(home, &remote.bed);
    remote.told.forks_to_look.rouse();
}

/// Asks for the end of a fiber. Its handle, or something else that keeps the block, is held by the caller.
pub(crate) fn request_cancel(fiber: FiberRef) {
    if !fiber.end.is_done() {
        fiber.poke.request();
        poke_fiber(fiber);
    }
}

impl Worker {
    /// Does now what is due: for a fiber that wants to know whether it is to end.
    pub(crate) fn catch_up(&self) {
        self.fire_timers(self.read_clock());
        self.heed_pokes();
    }

    /// Ends the waits of poked fibers that are to end; true if there were any such fibers.
    pub(super) fn heed_pokes(&self) -> bool {
        let pokes = &self.remote().pokes;
        if pokes.is_empty() {
            return false;
        }
        self.as_nobody(|| {
            while let Some(fiber) = pokes.pop() {
                fiber.poke.taken();
                self.cancel_if_due(fiber);
            }
        });
        true
    }

    fn cancel_if_due(&self, fiber: FiberRef) {
        if fiber.poke.is_requested()
            && let Some(node) = fiber.scopes().last().and_then(|outermost| outermost.node.as_ref())
        {
            node.cancel(Cause::Request, &poke);
        }
        if fiber.poke.is_requested() {
            fiber.cancel_exposed(&poke);
        }
        if let Some(wait) = fiber.cancellable_wait()
            && let Some(cause) = fiber.cancel_cause()
            && let Some(token) = wait.claim(Woken::Cancelled(cause))
        {
            self.unpark_to_the_end(token);
        }
    }
}
