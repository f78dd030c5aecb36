//! Where a spawned fiber is queued, and who is told of it.
#![allow(unsafe_code, reason = "fibers are put into intrusive queues")]

use super::events::Kind;
use super::idle::Found;
use super::remote::{Life, NO_TURN};
use super::search::FreshDue;
use super::shared::{Phase, Shared};
use super::worker::Worker;
use crate::fiber::current;
use crate::fiber::end::Freeing;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::{Ordering, fence, full_fence};
use crate::prim::cancel::Cause;
use crate::prim::reason::Place;

/// How much of a full deque goes to the injector.
const SPILL: usize = 4_096;

/// So many fibers for accepted connections may wait for their start.
const MOST_UNSERVED: usize = 16;

impl Worker {
    /// Queues a fresh fiber made on this worker.
    #[inline]
    pub(crate) fn enqueue_fresh(&self, fiber: FiberRef) {
        self.remote().shown.counts.spawned.increment();
        self.keep(fiber);
        // ORDERING: sched/README, waking for fresh work.
        full_fence();
        self.shared.announce_fresh_of(self.remote());
    }

    /// Queues a fresh fiber that must start here.
    pub(crate) fn enqueue_pinned(&self, fiber: FiberRef) {
        self.remote().shown.counts.spawned.increment();
        // SAFETY: fresh from its allocation.
        unsafe { self.pinned.push(fiber.as_ptr()) };
        self.expect_something();
    }

    /// Queues a fresh fiber with the worker that homes fewest; others may still take it.
    pub(crate) fn enqueue_spread(&self, fiber: FiberRef) {
        self.remote().shown.counts.spawned.increment();
        self.shared.push_to_least_loaded(fiber);
    }

    /// Queues a fresh fiber that will compute for long.
    pub(crate) fn enqueue_hog(&self, fiber: FiberRef) {
        self.remote().shown.counts.spawned.increment();
        self.shared.enqueue_hog(fiber);
    }

    /// Queues a fresh fiber that must start on `worker`.
    pub(crate) fn enqueue_on(&self, worker: usize, fiber: FiberRef) {
        if worker == self.index {
            self.enqueue_pinned(fiber);
        } else if self.shared.phase() != Phase::Running && !fiber.flags.is_job() {
            // It will only be cancelled, which any worker can do; that one may have gone.
            self.enqueue_fresh(fiber);
        } else {
            self.remote().shown.counts.spawned.increment();
            self.shared.send(worker, fiber);
        }
    }

    /// The running fiber has accepted a connection: what it spawns next is for that. It gives way to those that it has spawned, if many of
    /// them have not started yet: else one that always finds another connection would take more than can be served.
    pub(crate) fn note_accepted(&self, place: Place) {
        let Some(me) = current::fiber() else { return };
        if self.remote().lane.len() > MOST_UNSERVED {
            self.fresh_due.set(FreshDue::ByTurns);
            self.yield_now(me, place);
        }
        self.accepted.set(Some(me));
    }

    /// Whether the running fiber, which spawns, has accepted a connection since it last did.
    #[inline]
    pub(crate) fn spawns_for_accepted(&self) -> bool {
        let accepted = self.accepted.get();
        let spawns = accepted.is_some() && accepted == current::fiber();
        if spawns {
            self.accepted.set(None);
        }
        spawns
    }

    /// Puts a fresh fiber into the own deque, or what is too much into the injector. Published, but not fenced.
    #[inline]
    pub(super) fn keep(&self, fiber: FiberRef) {
        if self.remote().ring.push(fiber.as_ptr()).is_err() {
            self.spill(fiber);
        }
    }

    #[cold]
    fn spill(&self, fiber: FiberRef) {
        let ring = &self.remote().ring;
        let oldest = (0..SPILL).map_while(|_| ring.pop_oldest());
        // SAFETY: out of the deque just now, and never in a queue yet.
        unsafe { self.shared.injector.push(oldest.chain([fiber.as_ptr()])) };
    }

    /// A fresh fiber can't be started now: it goes to the end of its queue.
    pub(super) fn postpone(&self, fiber: FiberRef) {
        if fiber.flags.is_pinned() {
            // SAFETY: out of a queue just now.
            unsafe { self.pinned.push(fiber.as_ptr()) };
        } else {
            // SAFETY: as above.
            unsafe { self.shared.injector.push([fiber.as_ptr()]) };
        }
    }
}

/// A fiber that blocks its worker on purpose.
impl Worker {
    /// `me`, the running fiber, is about to block this worker: what is fresh here goes to where others take it at once, and the monitor need
    /// not see for itself that the worker is stuck. It is so until the turn that is returned ends or is [retracted](Self::retract_blocked).
    pub(crate) fn declare_blocked(&self, me: FiberRef) -> u64 {
        self.expose_all(me);
        let turn = self.tick.get();
        let remote = self.remote();
        remote.shown.blocked_turn.store(turn, Ordering::Relaxed);
        if remote.has_fresh() {
            let mut placed = Vec::new();
            let first = remote.lane.take_share(1, usize::MAX, |fiber| placed.push(fiber));
            let own = std::iter::from_fn(|| remote.ring.pop_oldest());
            // SAFETY: out of their queues just now, and never started.
            unsafe { self.shared.injector.push(first.into_iter().chain(placed).chain(own)) };
        }
        // ORDERING: sched/README, waking for fresh work.
        full_fence();
        self.shared.announce_fresh_left();
        turn
    }

    /// The fiber has not blocked for longer than it ran.
    pub(crate) fn retract_blocked(&self, turn: u64) {
        let blocked_turn = &self.remote().shown.blocked_turn;
        if blocked_turn.load(Ordering::Relaxed) == turn {
            blocked_turn.store(NO_TURN, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Queues a fresh fiber made on a thread outside of the runtime.
    pub(crate) fn enqueue_outside(&self, fiber: FiberRef, to: Placement) {
        self.outside.spawned.increment_shared();
        // ORDERING: pairs with the fence in `end_if_quiescent`: counted before we look at the phase, which is set before the
        // counts are summed.
        fence(Ordering::SeqCst);
        // Part of what a fiber computes that has not ended: it may be what that waits for.
        if self.phase() != Phase::Running && !fiber.flags.is_job() {
            return self.cancel_outside(fiber);
        }
        self.events.note_outside(Kind::Spawn, fiber);
        match to {
            Placement::Worker(worker) => self.send(worker, fiber),
            Placement::Spread => self.push_to_least_loaded(fiber),
            Placement::Alone => self.enqueue_hog(fiber),
            Placement::Anywhere => {
                // SAFETY: fresh from its allocation.
                unsafe { self.injector.push([fiber.as_ptr()]) };
                // ORDERING: sched/README, waking for fresh work.
                fence(Ordering::SeqCst);
                self.announce_fresh();
            }
        }
    }

    /// A fiber that comes too late ends at once.
    fn cancel_outside(&self, fiber: FiberRef) {
        // SAFETY: it was never queued, and spawning from outside asks for closures that may go to any thread.
        let ended = unsafe { fiber.cancel(Cause::Shutdown, &self.unseen_panics) };
        if ended == crate::fiber::body::Ended::Cancelled {
            self.outside.cancelled.increment_shared();
        } else {
            self.outside.panicked.increment_shared();
        }
        self.outside.finished.increment_shared();
        // The handle is being made right now, so nobody has detached, and nobody waits.
        let freeing = fiber.end.finish(|_| unreachable!("INVARIANT: nobody has the handle yet"));
        debug_assert_eq!(freeing, Freeing::Theirs);
        self.outside.gone.increment_shared();
        self.end_if_quiescent();
    }

    fn push_to_least_loaded(&self, fiber: FiberRef) {
        let load = |worker: &usize| {
            let remote = &self.remotes[*worker];
            remote.presence.homed() + remote.lane.len()
        };
        let exists = |worker: &usize| matches!(self.remotes[*worker].life(), Life::Base | Life::Added);
        let worker = (0..self.remotes.len()).filter(exists).min_by_key(load).unwrap_or(0);
        self.push_to_lane(worker, fiber);
    }

    /// Queues a fresh fiber with `worker`, from where others may take it if that one does not come for it.
    pub(super) fn push_to_lane(&self, worker: usize, fiber: FiberRef) {
        // SAFETY: fresh from its allocation, or out of a queue just now.
        unsafe { self.remotes[worker].lane.push([fiber.as_ptr()]) };
        // ORDERING: sched/README; as mail for that worker if it sleeps, and else as fresh work for all.
        fence(Ordering::SeqCst);
        if self.idle.wake_worker(worker, self.bed(worker)) != Found::Asleep {
            self.announce_fresh();
        }
    }

    /// Puts a fiber into the inbox of the only worker that may run it.
    pub(crate) fn send(&self, worker: usize, fiber: FiberRef) {
        let remote = &self.remotes[worker];
        // SAFETY: the fiber is in no queue: it is fresh, or was made ready by whoever calls this.
        if unsafe { remote.inbox.push(fiber.as_ptr()) } {
            let found = self.idle.wake_worker(worker, &remote.bed);
            // Also if it slept: one that has no stack to sleep on goes on with who forked before.
            remote.told.forks_to_look.rouse();
            if found == Found::Awake && self.watch.is_asleep() {
                // It is busy, perhaps for long: whoever runs there has to be asked to yield then.
                self.watch.wake();
            }
        }
    }
}

/// Where a fiber spawned from outside is to start.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Placement {
    Anywhere,
    /// With the worker that homes fewest.
    Spread,
    /// Where it delays nobody.
    Alone,
    Worker(usize),
}
