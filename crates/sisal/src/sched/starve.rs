//! A worker without a stack for its loop: it stays on the frame of a fiber that waits, and resumes ready fibers from there.
//!
//! # Protocol
//! A starved worker raises its flag, counts itself in `starved`, asks those who sleep on hot stacks to give them back,
//! announces its sleep (which fences), and tries the depot once more. Whoever gives a stack to the depot fences and looks at the
//! flags. So either the worker finds the stack, or it is woken for it.
//!
//! With a limit on stacks all of them may be held by fibers that wait for fresh ones, which can't start without a stack. A
//! starved worker without a timer that is due soon is *stuck*: it can't get on by itself. When all workers are stuck and fresh fibers wait, one that
//! has use for it takes a stack beyond the limit: a shortage slows, it does not fail. Whoever publishes a fresh fiber fences, and wakes them if they
//! are all stuck already. If only others have use for one, because
//! their fresh fibers are pinned, the last to get stuck wakes them, and they do it.
#![allow(unsafe_code, reason = "a stack taken and not used is put back")]

use super::shared::Shared;
use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::Ordering;
use sisal_context::stack::Stack;

impl Shared {
    /// Fresh work was published. If no worker can get on by itself, one of them has to take a stack for it.
    #[cold]
    pub(super) fn wake_stuck(&self) {
        if self.stuck.load(Ordering::Relaxed) >= self.workers() {
            self.wake_starved();
        }
    }
}

/// A timer that is due within this, in nanoseconds, may well get a worker on.
const SOON: u64 = 10_000_000;

impl Worker {
    /// The next ready fiber, or none after a sleep: then there may be a stack.
    pub(super) fn wait_for_ready_or_stack(&self) -> Option<FiberRef> {
        self.begin_turn();
        if let Some(fiber) = self.pop_ready() {
            return Some(fiber);
        }
        if self.heed_calls() || self.fire_timers(self.read_clock()) {
            return self.pop_ready();
        }
        let stuck = usize::from(self.timers.earliest() > self.now.get().0 + SOON);
        self.set_starved(1);
        self.shared.starved.fetch_add(1, Ordering::Relaxed);
        self.shared.stuck.fetch_add(stuck, Ordering::Relaxed);
        self.shared.ask_for_stacks();
        let (idle, bed) = (&self.shared.idle, &self.remote().bed);
        self.show_prospects();
        bed.choose(self.awaited_driver().is_some());
        let epoch = idle.announce(self.index, bed, false, true);
        self.shared.announce_fresh_left();
        let stack = self.stacks.take(&self.shared).or_else(|| self.take_beyond_limit());
        if stack.is_none() && self.remote().inbox.is_empty() && !self.is_called() {
            self.nap(epoch);
        }
        idle.withdraw(self.index, bed, epoch);
        self.set_starved(0);
        self.shared.starved.fetch_sub(1, Ordering::Relaxed);
        self.shared.stuck.fetch_sub(stuck, Ordering::Relaxed);
        if let Some(stack) = stack {
            // SAFETY: taken just now.
            unsafe { self.stacks.keep(stack) };
        }
        None
    }

    fn set_starved(&self, starved: u8) {
        let pinned = starved * u8::from(!self.pinned.is_empty());
        self.remote().told.starved.store(starved, Ordering::Relaxed);
        self.remote().told.starved_with_pinned.store(pinned, Ordering::Relaxed);
    }

    /// If nothing moves otherwise: a stack beyond the limit.
    fn take_beyond_limit(&self) -> Option<Stack> {
        if self.shared.stuck.load(Ordering::Relaxed) < self.shared.workers() {
            return None;
        }
        if !self.pinned.is_empty() || self.shared.has_fresh() {
            return self.shared.depot.take_beyond_limit(self.shared.config.class);
        }
        for (worker, remote) in self.shared.remotes.iter().enumerate() {
            if remote.told.starved_with_pinned.load(Ordering::Relaxed) != 0 {
                self.shared.idle.wake_worker(worker, &remote.bed);
            }
        }
        None
    }
}
