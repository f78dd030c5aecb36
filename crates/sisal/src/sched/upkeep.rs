//! When memory that nobody needs any more is given back: that of free stacks, and of control blocks.
//!
//! The monitor sees to it every [`EVERY`] while there is much. Only what was free all that time is given back, since the rest may be
//! needed as soon again. If there was any of what workers keep at hand, they are *recalled*: they give theirs to the depots. That goes too
//! if nobody needs it for as long, however little it is. A runtime that does nothing has nothing left to trim after a few recalls.
//!
//! Control blocks are those of all runtimes of the process: what the monitor of one finds idle may have been another's, and it recalls
//! its own workers only.

use super::shared::Shared;
use crate::fiber::pool::{self, Which};
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use std::time::Duration;

/// So many free stacks with memory in them are worth giving back.
pub(super) const TRIM_FROM: usize = 64;
/// How long memory stays as it is.
pub(super) const EVERY: Duration = Duration::from_millis(500);
/// Rounds after a recall: one that sees what came back, and one that finds it still there.
const AFTER_RECALL: u8 = 2;

/// What the monitor remembers of it.
pub(super) struct Upkeep {
    last: Moment,
    /// How many rounds there are to come, whether there is much or not.
    to_come: u8,
}

impl Upkeep {
    pub(super) fn new(now: Moment) -> Upkeep {
        Upkeep { last: now, to_come: 0 }
    }

    /// How long the monitor may look away, if there is something to look after.
    pub(super) fn interval(&self, shared: &Shared) -> Option<Duration> {
        (self.to_come > 0 || shared.has_much_to_release()).then_some(EVERY)
    }

    /// Looks, if it is time to.
    pub(super) fn go(&mut self, shared: &Shared, now: Moment) {
        if self.interval(shared).is_none_or(|interval| now.since(self.last) < interval) {
            return;
        }
        self.to_come = if shared.has_anything_to_release() { self.to_come.saturating_sub(1) } else { 0 };
        if shared.release_idle_memory() {
            shared.recall.fetch_add(1, Ordering::Relaxed);
            shared.wake_all();
            self.to_come = AFTER_RECALL;
        }
        self.last = Moment::now();
    }
}

impl Shared {
    /// Gives back the memory that nobody uses.
    pub(crate) fn release_memory(&self) {
        self.depot.trim();
        self.others.trim();
        pool::trim(Which::All);
    }

    /// Gives back as much of it as nobody has needed since the last time; whether there was any of what workers keep at hand.
    fn release_idle_memory(&self) -> bool {
        self.others.trim_idle();
        let stacks = self.depot.trim_idle().stacks;
        let blocks = pool::trim(Which::Idle);
        stacks > 0 || blocks
    }

    fn has_much_to_release(&self) -> bool {
        self.depot.dirty() >= TRIM_FROM || self.others.dirty() > 0 || pool::has_spilled()
    }

    fn has_anything_to_release(&self) -> bool {
        self.depot.dirty() > 0 || self.others.dirty() > 0 || pool::has_spilled()
    }
}
