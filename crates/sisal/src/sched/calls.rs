//! What is said to a worker, or to all, and heeded between two fibers.

use super::shared::Phase;
use super::worker::Worker;
use crate::fiber::current;
use crate::fiber::pool::Pool;
use crate::fiber::waiter::Woken;
use crate::prim::atomic::Ordering;
use crate::prim::cancel::Cause;

impl Worker {
    /// Whether something was said to this worker that it has not heeded yet.
    pub(super) fn is_called(&self) -> bool {
        let phase = self.shared.phase();
        phase == Phase::Ended
            || (phase == Phase::Stopping && !self.swept.get())
            || self.is_recalled()
            || !self.remote().pokes.is_empty()
            || self.may_leave()
    }

    /// Does what was said to this worker or to all: ends waits that are cancelled, or all when the runtime stops, and gives memory
    /// back. True if fibers may have become ready by it.
    pub(super) fn heed_calls(&self) -> bool {
        if self.is_recalled() {
            self.recall.set(self.shared.recall.load(Ordering::Relaxed));
            self.stacks.give_all(&self.shared);
            current::with(|current| current.pool().map(Pool::spill));
        }
        let sweeps = self.shared.phase() != Phase::Running && !self.swept.replace(true);
        if sweeps {
            self.cancel_waits();
        }
        self.heed_pokes() || sweeps
    }

    /// Whether what it keeps at hand is wanted back: see [upkeep](super::upkeep).
    fn is_recalled(&self) -> bool {
        self.shared.recall.load(Ordering::Relaxed) != self.recall.get()
    }

    fn cancel_waits(&self) {
        for fiber in self.remote().presence.fibers().filter(|fiber| !fiber.is_inside_shield()) {
            if let Some(token) = fiber.cancellable_wait().and_then(|wait| wait.claim(Woken::Cancelled(Cause::Shutdown)))
            {
                self.unpark_to_the_end(token);
            }
        }
    }
}
