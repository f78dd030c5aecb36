//! The fibers that live on a worker: those that have waited there and are not done.

use super::shared::Phase;
use super::worker::Worker;
use crate::fiber::current;
use crate::fiber::header::FiberRef;
use crate::fiber::info::Fiber;
use crate::fiber::waiter::Woken;
use crate::prim::atomic::Ordering;
use crate::prim::cancel::Cause;

impl Worker {
    /// A fiber waits for the first time.
    pub(super) fn home(&self, fiber: FiberRef) {
        let first = self.homed.replace(Some(fiber));
        fiber.previous_homed.set(None);
        fiber.next_homed.set(first);
        if let Some(first) = first {
            first.previous_homed.set(Some(fiber));
        }
        fiber.is_homed.set(true);
        let homed = &self.remote().shown.homed;
        homed.store(homed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A fiber that has waited here is done.
    pub(super) fn unhome(&self, fiber: FiberRef) {
        let (previous, next) = (fiber.previous_homed.get(), fiber.next_homed.get());
        match previous {
            Some(previous) => previous.next_homed.set(next),
            None => self.homed.set(next),
        }
        if let Some(next) = next {
            next.previous_homed.set(previous);
        }
        fiber.is_homed.set(false);
        let homed = &self.remote().shown.homed;
        homed.store(homed.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    pub(super) fn homed_fibers(&self) -> impl Iterator<Item = FiberRef> {
        std::iter::successors(self.homed.get(), |fiber| fiber.next_homed.get())
    }

    /// Whether something was said to this worker that it has not heeded yet.
    pub(super) fn is_called(&self) -> bool {
        let phase = self.shared.phase();
        phase == Phase::Ended
            || (phase == Phase::Stopping && !self.swept.get())
            || self.owes_roll_call()
            || self.owes_stacks()
            || !self.remote().pokes.is_empty()
            || self.may_leave()
    }

    /// Does what was said to this worker or to all: ends waits that are cancelled, or all when the runtime stops, gives stacks
    /// back, and answers who is there. True if fibers may have become ready by it.
    pub(super) fn heed_calls(&self) -> bool {
        if self.owes_roll_call() {
            self.answer_roll_call();
        }
        if self.owes_stacks() {
            self.recall.set(self.shared.recall.load(Ordering::Relaxed));
            self.stacks.give_all(&self.shared);
        }
        let sweeps = self.shared.phase() != Phase::Running && !self.swept.replace(true);
        if sweeps {
            self.cancel_waits();
        }
        self.heed_pokes() || sweeps
    }

    fn owes_stacks(&self) -> bool {
        self.shared.recall.load(Ordering::Relaxed) != self.recall.get()
    }

    fn cancel_waits(&self) {
        for fiber in self.homed_fibers().filter(|fiber| !fiber.is_inside_shield()) {
            if let Some(token) = fiber.cancellable_wait().and_then(|wait| wait.claim(Woken::Cancelled(Cause::Shutdown)))
            {
                self.unpark_to_the_end(token);
            }
        }
    }

    /// All fibers that have started here, and what they wait for: those that have waited, and the one that runs.
    pub(super) fn list_started(&self) -> Vec<Fiber> {
        let running = current::with(|current| current.fiber.get()).filter(|fiber| !fiber.is_homed.get());
        self.homed_fibers().chain(running).map(|fiber| Fiber::with_wait(&fiber)).collect()
    }
}
