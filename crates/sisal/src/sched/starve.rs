//! A worker without a stack for its loop: it stays on the frame of a fiber that waits, and resumes ready fibers from there.
//!
//! # Protocol
//! A starved worker raises its flag, counts itself in `starved`, asks those who sleep on hot stacks to give them back,
//! announces its sleep (which fences), and tries the depot once more. Whoever gives a stack to the depot fences and looks at the
//! flags. So either the worker finds the stack, or it is woken for it.
//!
//! With a limit on stacks all of them may be held by fibers that wait for fresh ones, which can't start without a stack. So it is exceeded in
//! three cases: a shortage slows, it does not fail.
//! - A starved worker without a timer that is due soon is *stuck*: it can't get on by itself. If fresh fibers wait that must start there,
//!   nobody else can get them on either, and it takes a stack beyond the limit.
//! - So it does for fresh fibers that any worker may start, when all workers that start any are stuck. Whoever publishes a fresh fiber
//!   fences, and wakes them if they are all stuck already; and so does one that no longer starts any.
//! - A worker that is not stuck may go on for ever with those who have stacks. If fresh fibers have waited for one since [`SOON`], it takes one.
#![allow(unsafe_code, reason = "a stack taken and not used is put back")]

use super::remote::{Life, Remote};
use super::shared::Shared;
use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use sisal_context::stack::Stack;
use std::time::Duration;

impl Shared {
    /// Fresh work was published. If no worker can get on by itself, one of them has to take a stack for it.
    #[cold]
    pub(super) fn wake_stuck(&self) {
        if self.all_are_stuck() {
            self.wake_starved();
        }
    }

    /// Whether no worker that starts fresh fibers can get on by itself.
    fn all_are_stuck(&self) -> bool {
        let starts_fresh = |remote: &&Remote| matches!(remote.life(), Life::Base | Life::Added);
        self.stuck.load(Ordering::Relaxed) >= self.remotes.iter().filter(starts_fresh).count()
    }
}

/// A timer that is due within this, in nanoseconds, may well get a worker on; and for so long fresh fibers wait for one that goes on.
const SOON: u64 = 10_000_000;

impl Worker {
    /// The next ready fiber, or none after a sleep: then there may be a stack.
    pub(super) fn wait_for_ready_or_stack(&self) -> Option<FiberRef> {
        self.begin_turn();
        if self.has_hungered() {
            // If there is none even beyond the limit, the others go on, and it is tried again after as long.
            self.hungry_since.set(self.now.get());
            if let Some(stack) = self.beyond_limit() {
                self.keep_stack(Some(stack));
                return None;
            }
        }
        if let Some(fiber) = self.pop_ready() {
            return Some(fiber);
        }
        if self.heed_calls() || self.fire_timers(self.read_clock()) {
            return self.pop_ready();
        }
        let is_stuck = self.timers.earliest() > self.now.get().0 + SOON;
        let stuck = usize::from(is_stuck && self.takes_fresh());
        self.remote().told.starved.store(1, Ordering::Relaxed);
        self.shared.starved.fetch_add(1, Ordering::Relaxed);
        self.shared.stuck.fetch_add(stuck, Ordering::Relaxed);
        self.shared.ask_for_stacks();
        let (idle, bed) = (&self.shared.idle, &self.remote().bed);
        self.show_prospects();
        bed.choose(self.awaited_driver().is_some());
        let epoch = idle.announce(self.index, bed, false, true);
        self.shared.announce_fresh_left();
        let is_needed = || {
            is_stuck && !self.pinned.is_empty() || stuck > 0 && self.shared.all_are_stuck() && self.shared.has_fresh()
        };
        let mut stack = self.stacks.take(&self.shared);
        let mut until = Moment::NEVER;
        if stack.is_none() && is_needed() {
            stack = self.beyond_limit();
            // The system tells nobody when it has memory again.
            until = self.now.get().after(Duration::from_nanos(SOON));
        }
        if stack.is_none() && self.remote().inbox.is_empty() && !self.is_called() {
            self.nap(epoch, until);
        }
        idle.withdraw(self.index, bed, epoch);
        self.remote().told.starved.store(0, Ordering::Relaxed);
        self.shared.starved.fetch_sub(1, Ordering::Relaxed);
        self.shared.stuck.fetch_sub(stuck, Ordering::Relaxed);
        self.keep_stack(stack);
        None
    }

    /// Whether fresh fibers have waited here for a stack since a while ago, in which none was to be had.
    fn has_hungered(&self) -> bool {
        let now = self.now.get();
        let waits = !self.pinned.is_empty() || (self.takes_fresh() && self.shared.has_fresh());
        let since = if waits { self.hungry_since.get().min(now) } else { Moment::NEVER };
        self.hungry_since.set(since);
        since != Moment::NEVER && now.0 >= since.0 + SOON
    }

    fn beyond_limit(&self) -> Option<Stack> {
        self.shared.depot.take_beyond_limit(self.shared.config.class)
    }

    /// Keeps a stack for the next who takes one here.
    fn keep_stack(&self, stack: Option<Stack>) {
        if let Some(stack) = stack {
            // SAFETY: it was taken from the depot by our caller.
            unsafe { self.stacks.keep(stack) };
        }
    }
}
