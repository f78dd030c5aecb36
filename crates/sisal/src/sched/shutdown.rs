//! The end of a runtime.
//!
//! 1. *Stopping*: fresh fibers end as cancelled, when their turn comes. Every worker ends the cancellable waits of its
//!    fibers once; later ones return at once. Nobody waits to spawn any more.
//! 2. *Ended*: no unfinished fiber is left. Whoever sees that first says so, and the workers go.
//!
//! # How it is seen that none is left
//! Spawns and ends are counted by each worker for itself. Sum the ends first, then the spawns: if the sums are equal, there
//! was a moment between the two when no fiber was unfinished, since later spawns could only make the second sum larger. No
//! fiber can come after that moment: fibers spawn fibers, and there was none; threads outside count a spawn, fence, and look
//! at the phase, which was Stopping before we fenced and summed. The main fiber of `run` is no part of the counts: whether it has
//! ended is looked at first.
//!
//! A worker looks when it is about to sleep, after its fence; the last one to fall asleep sees the counts of all others.

use super::remote::Life;
use super::shared::{Phase, Shared};
use super::worker::{self, Worker};
use crate::fiber::info::Fiber;
use crate::prim::atomic::{AtomicU32, Ordering, fence};
use crate::prim::clock::Moment;
use crate::prim::futex;
use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Asks every worker which fibers live on it.
pub(crate) struct RollCall {
    number: AtomicU32,
    /// Held by whoever calls it: one at a time.
    caller: Mutex<()>,
    answers: Mutex<Answers>,
    answered: Condvar,
}

#[derive(Default)]
struct Answers {
    /// Of the call that these are for.
    number: u32,
    fibers: Vec<Fiber>,
    workers: Vec<usize>,
}

/// How long a worker may take to answer before it counts as stuck.
const ANSWER_WITHIN: Duration = Duration::from_millis(200);

impl RollCall {
    pub(crate) fn new() -> RollCall {
        RollCall {
            number: AtomicU32::new(0),
            caller: Mutex::default(),
            answers: Mutex::default(),
            answered: Condvar::new(),
        }
    }
}

/// The fibers that were still there.
pub(crate) struct Leftover {
    pub(crate) fibers: Vec<Fiber>,
    /// How many more there are on workers that did not answer.
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
        fence(Ordering::SeqCst);
        for (worker, remote) in self.remotes.iter().enumerate() {
            if remote.life() != Life::Absent {
                self.idle.wake_worker(worker, &remote.bed);
            }
        }
    }

    /// How many fibers have not ended, the main fiber among them.
    pub(crate) fn unfinished(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in `run_main`. Read first: what main has spawned is counted below.
        let main = u64::from(self.main.load(Ordering::Acquire));
        let counts = || self.remotes.iter().map(|remote| &remote.shown.counts).chain([&*self.outside]);
        let finished: u64 = counts().map(|counts| counts.finished.get()).sum();
        let spawned: u64 = counts().map(|counts| counts.spawned.get()).sum();
        main + spawned - finished
    }

    /// If the runtime is stopping and no fiber is left, it ends now; true if this call did it.
    pub(crate) fn end_if_quiescent(&self) -> bool {
        if self.phase() != Phase::Stopping {
            return false;
        }
        // ORDERING: pairs with the fence in `enqueue_outside`.
        fence(Ordering::SeqCst);
        if self.unfinished() > 0 {
            return false;
        }
        // ORDERING: AcqRel pairs with the Acquire in `phase`.
        let before = self.phase.swap(Phase::Ended as u32, Ordering::AcqRel);
        futex::wake_all(&self.phase);
        self.wake_all();
        self.watch.wake();
        before != Phase::Ended as u32
    }

    /// Waits until the runtime has ended; false if the time is up before.
    pub(crate) fn wait_for_end(&self, until: Moment) -> bool {
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

    /// Who is still there? Asks all workers; of one that does not answer, only what it runs and how many more.
    pub(crate) fn call_roll(&self) -> Leftover {
        let present = || {
            let remotes = self.remotes.iter().enumerate();
            remotes.filter(|(_, remote)| remote.life() != Life::Absent).map(|(worker, _)| worker)
        };
        let _caller = self.become_caller();
        let mut answers = self.roll_call.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.roll_call.number.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        *answers = Answers { number, ..Answers::default() };
        drop(answers);
        self.answer_for_ourselves();
        self.wake_all();
        let until = Moment::now().after(ANSWER_WITHIN);
        let mut answers = self.roll_call.answers.lock().unwrap_or_else(PoisonError::into_inner);
        while !present().all(|worker| answers.workers.contains(&worker)) {
            let left = until.since(Moment::now());
            if left.is_zero() {
                break;
            }
            let waited = self.roll_call.answered.wait_timeout(answers, left);
            answers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let Answers { mut fibers, workers, .. } = std::mem::take(&mut *answers);
        let mut unlisted = 0;
        for worker in present().filter(|worker| !workers.contains(worker)) {
            let shown = &self.remotes[worker].shown;
            fibers.extend(shown.running());
            unlisted += shown.homed_besides_running();
        }
        Leftover { fibers, unlisted }
    }
}

impl Shared {
    /// Waits until nobody else calls the roll. Whoever does may wait for the worker that we are on.
    fn become_caller(&self) -> MutexGuard<'_, ()> {
        loop {
            match self.roll_call.caller.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
                Err(TryLockError::WouldBlock) => self.answer_for_ourselves(),
            }
            thread::yield_now();
        }
    }

    /// Nobody else can answer for the worker that we are on.
    fn answer_for_ourselves(&self) {
        worker::with_current(|worker| {
            if let Some(worker) = worker.filter(|worker| ptr::eq(&*worker.shared, self))
                && worker.owes_roll_call()
            {
                worker.answer_roll_call();
            }
        });
    }
}

impl Worker {
    pub(super) fn owes_roll_call(&self) -> bool {
        self.shared.roll_call.number.load(Ordering::Relaxed) != self.roll_call.get()
    }

    pub(super) fn answer_roll_call(&self) {
        let number = self.shared.roll_call.number.load(Ordering::Relaxed);
        self.roll_call.set(number);
        let mut answers = self.shared.roll_call.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.number == number {
            answers.fibers.extend(self.list_started());
            answers.workers.push(self.index);
            self.shared.roll_call.answered.notify_all();
        }
    }

    /// Whether this worker's loop is to end.
    pub(super) fn may_leave(&self) -> bool {
        if self.shared.phase() == Phase::Ended {
            return true;
        }
        let nothing_homed = self.homed.get().is_none() && self.pinned.is_empty() && self.remote().inbox.is_empty();
        nothing_homed
            && (self.remote().life() == Life::Retiring
                || (self.leave_at.get() != Moment::NEVER && Moment::now() >= self.leave_at.get()))
    }
}
