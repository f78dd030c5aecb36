//! Staying with a fiber that waits, for a moment, when its worker has nothing else to do.
//!
//! If the answer comes from another worker at once, as it does where two fibers talk, then the fiber goes on where it stands: without a
//! stack for a loop, the search, and the way back (`pingpong-cross`). Whoever wakes it tells it so by its [state](crate::fiber::state).
//!
//! Meanwhile the worker looks at that and at its mail only. If that was in vain, it goes on at once for twice as many waits as the last time,
//! up to [`MOST`]; then it tries again. If it was not, it tries again the next time, but now and then it looks for other work all the
//! same ([`MOST_IN_A_ROW`]), and at once if it is called.
//!
//! Where the two meet in one line of memory, the fiber does not even begin to wait: it [stands](Worker::stand) there, as long and as often as a
//! worker would linger.
//!
//! Whoever looks at the worker from outside sees it run the fiber. While a trace is recorded it does not linger: the fiber would never be seen
//! to wait.

#[cfg(test)]
mod tests;

use super::no_park;
use super::search::FreshDue;
use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::spin_loop;

/// How often it looks: about two microseconds, where a pause of the processor takes 40 nanoseconds.
const LOOKS: u32 = 48;

/// After how many waits it tries again at the latest.
const MOST: u32 = 4096;

/// After how many times it looks for other work (`pingpong-cross`).
const MOST_IN_A_ROW: u32 = 128;

/// Whether it is worth it.
#[derive(Copy, Clone)]
pub(super) struct Lingers {
    /// How many waits are to pass.
    left: u32,
    /// How many were, after the last time in vain.
    gap: u32,
    /// How often it was not in vain since then.
    row: u32,
}

impl Lingers {
    pub(super) fn new() -> Lingers {
        Lingers { left: 0, gap: 1, row: 0 }
    }

    /// After one time more.
    fn next(self, in_vain: bool) -> Lingers {
        if in_vain {
            let gap = (self.gap * 2).min(MOST);
            Lingers { left: gap, gap, row: 0 }
        } else if self.row < MOST_IN_A_ROW {
            Lingers { left: 0, gap: 1, row: self.row + 1 }
        } else {
            Lingers { left: 1, gap: 1, row: 0 }
        }
    }
}

impl Worker {
    /// For `me`, which waits, when no fiber is ready: one that becomes so within a moment.
    #[cold]
    pub(super) fn linger(&self, me: FiberRef) -> Option<FiberRef> {
        if self.has_more_to_do() {
            return None;
        }
        let lingers = self.lingers.get();
        if lingers.left > 0 {
            self.lingers.set(Lingers { left: lingers.left - 1, ..lingers });
            return None;
        }
        me.state.linger();
        let came = (0..LOOKS).any(|_| {
            spin_loop();
            me.state.is_told() || !self.remote().inbox.is_empty()
        });
        let was_told = me.state.stop_lingering();
        self.lingers.set(lingers.next(!came && !was_told));
        if was_told {
            Some(me)
        } else if came {
            self.pop_ready()
        } else {
            None
        }
    }

    /// Whether the running fiber, before it waits, may [stand](Self::stand) somewhere for a moment. Where a guard forbids it to wait, the wait is to
    /// say so.
    pub(crate) fn may_stand(&self) -> bool {
        self.lingers.get().left == 0 && self.nothing_to_resume() && !self.has_more_to_do() && !no_park::is_guarded()
    }

    /// Looks for a moment whether what the running fiber would wait for has come. That is a turn as every wait is: timers and what comes from outside
    /// are looked at now and then.
    #[inline]
    pub(crate) fn stand(&self, is_over: impl Fn() -> bool) {
        self.begin_turn();
        if self.fresh_due.get() != FreshDue::No || !self.nothing_to_resume() {
            return;
        }
        let came = (0..LOOKS).any(|_| {
            spin_loop();
            is_over() || !self.remote().inbox.is_empty()
        });
        self.lingers.set(self.lingers.get().next(!came));
    }

    /// Whether there is something to do beside those who are ready.
    fn has_more_to_do(&self) -> bool {
        self.fresh_due.get() != FreshDue::No || self.recording.get() || self.has_fresh_here() || self.is_called()
    }

    /// Whether there are fresh fibers that this worker would start.
    fn has_fresh_here(&self) -> bool {
        !self.pinned.is_empty() || self.remote().has_fresh() || !self.shared.injector.is_empty()
    }
}
