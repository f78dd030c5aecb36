//! The end of a runtime.
//!
//! 1. *Stopping*: fresh fibers end as cancelled, when their turn comes, but for parts of what a fiber of the runtime does that waits for them: halves of
//!    forks, and children inside of its shield. Every worker ends the cancellable waits of its fibers once, unless they are inside of one; later ones return
//!    at once. Nobody waits to spawn any more.
//! 2. *Ended*: no unfinished fiber is left. Whoever sees that first says so, and the workers go.
//!
//! # How it is seen that none is left
//! Spawns, and fibers that nothing is left of, are counted by each worker for itself. Sum the latter first, then the spawns: if the sums are equal, there
//! was a moment between the two when no fiber was left, since later spawns could only make the second sum larger. No
//! fiber can come after that moment: fibers spawn fibers, and there was none; threads outside count a spawn, fence, and look
//! at the phase, which was Stopping before we fenced and summed. (Parts are not asked for the phase: whoever waits for them is a fiber that is left.) The main fiber of `run` is no part of the counts: whether it has
//! ended is looked at first.
//!
//! A worker looks when it is about to sleep, after its fence; the last one to fall asleep sees the counts of all others.

use super::counts::Counts;
use super::remote::Life;
use super::shared::{Phase, Shared};
use super::worker::Worker;
use crate::fiber::info::Fiber;
use crate::prim::atomic::{Ordering, fence};
use crate::prim::clock::Moment;
use crate::prim::futex;
use std::time::Duration;

/// How long it takes workers at most to see that no fiber is left, unless the last one drops something that waits.
const LAST_STEPS: Duration = Duration::from_secs(1);

/// The fibers that were still there.
pub(crate) struct Leftover {
    pub(crate) fibers: Vec<Fiber>,
    /// How many more there are, which have not started.
    pub(crate) unlisted: usize,
}

impl Shared {
    /// The runtime stops, if it does not already.
    pub(crate) fn request_stop(&self) {
        // ORDERING: AcqRel pairs with the Acquire in `phase`.
        let stopped = self.phase.compare_exchange(
            Phase::Running as u32,
            Phase::Stopping as u32,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if stopped.is_ok() {
            if let Some(limit) = &self.limit {
                limit.open(super::unpark::unpark);
            }
            self.wake_all();
        }
    }

    /// Says something to all workers: those who sleep are woken.
    pub(crate) fn wake_all(&self) {
        // ORDERING: pairs with the fence in `Idle::announce`: what is said (a phase, a worker's life, a recall of memory) was written before;
        // a worker announces its sleep, fences, and looks for it in `is_called`. So either we see that it sleeps, or it sees what is said.
        fence(Ordering::SeqCst);
        for (worker, remote) in self.remotes.iter().enumerate() {
            if remote.life() != Life::Absent {
                self.idle.wake_worker(worker, &remote.bed);
            }
        }
        self.rouse_forkers();
    }

    /// How many fibers have not ended, the main fiber among them.
    pub(crate) fn unfinished(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in `run_main`. Read first: what main has spawned is counted below.
        let main = u64::from(self.main.load(Ordering::Acquire));
        let finished = self.finished();
        main + self.spawned() - finished
    }

    /// Whether nothing is left of any fiber.
    pub(super) fn are_all_gone(&self) -> bool {
        // ORDERING: Acquire, as in `unfinished`.
        let main = u64::from(self.main.load(Ordering::Acquire));
        let gone: u64 = self.counts().map(|counts| counts.gone.get()).sum();
        main + self.spawned() == gone
    }

    /// Whether there is a main fiber that has not ended.
    pub(crate) fn has_main(&self) -> bool {
        self.main.load(Ordering::Relaxed) != 0
    }

    fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.remotes.iter().map(|remote| &remote.shown.counts).chain([&*self.outside])
    }

    /// How many fibers have ended. To be summed before [`spawned`](Self::spawned): then that is not less.
    pub(crate) fn finished(&self) -> u64 {
        self.counts().map(|counts| counts.finished.get()).sum()
    }

    /// How many fibers were spawned.
    pub(crate) fn spawned(&self) -> u64 {
        self.counts().map(|counts| counts.spawned.get()).sum()
    }

    /// If the runtime is stopping and no fiber is left, it ends now; true if this call did it.
    pub(crate) fn end_if_quiescent(&self) -> bool {
        if self.phase() != Phase::Stopping {
            return false;
        }
        // ORDERING: pairs with the fence in `enqueue_outside`.
        fence(Ordering::SeqCst);
        if !self.are_all_gone() {
            return false;
        }
        // ORDERING: AcqRel pairs with the Acquire in `phase`.
        let before = self.phase.swap(Phase::Ended as u32, Ordering::AcqRel);
        futex::wake_all(&self.phase);
        self.wake_all();
        self.watch.nudge();
        before != Phase::Ended as u32
    }

    /// Waits until the runtime has ended; false if the time is up before.
    fn wait_for_end(&self, until: Moment) -> bool {
        loop {
            let phase = self.phase();
            if phase == Phase::Ended {
                return true;
            }
            let left = until.since(Moment::now());
            if left.is_zero() {
                return false;
            }
            futex::wait(&self.phase, phase as u32, (until != Moment::NEVER).then_some(left));
        }
    }

    /// As [`wait_for_end`](Self::wait_for_end); but if all fibers have ended, the workers are given the time to see that.
    pub(crate) fn wait_for_fibers(&self, until: Moment) -> bool {
        self.wait_for_end(until) || (self.unfinished() == 0 && self.wait_for_end(Moment::now().after(LAST_STEPS)))
    }

    /// Who is still there?
    pub(crate) fn leftover(&self) -> Leftover {
        let mut fibers = Vec::new();
        for remote in &self.remotes {
            remote.presence.look(|sighted| fibers.push(Fiber::with_wait(sighted.fiber)));
        }
        let unlisted = (self.unfinished() as usize).saturating_sub(fibers.len());
        Leftover { fibers, unlisted }
    }
}

impl Worker {
    /// Whether this worker's loop is to end.
    pub(super) fn may_leave(&self) -> bool {
        if self.shared.phase() == Phase::Ended {
            return true;
        }
        let nothing_homed =
            self.remote().presence.is_empty() && self.pinned.is_empty() && self.remote().inbox.is_empty();
        nothing_homed
            && (self.remote().life() == Life::Retiring
                || (self.leave_at.get() != Moment::NEVER && Moment::now() >= self.leave_at.get()))
    }
}
