//! Staying with a fiber that waits, for a moment, when its worker has nothing else to do.
//!
//! If the answer comes from another worker at once, as it does where two fibers talk, then the fiber goes on where it stands: without a
//! stack for a loop, the search, and the way back (`pingpong-cross`). Whoever wakes it tells it so
//! by its own [state](crate::fiber::state). Meanwhile the worker looks at that and its mail only. It takes no work from others
//! and hears nothing from outside, so it tries this only as long as it succeeds: after a time in vain it goes on at once, for twice as many
//! waits as the last time, up to [`MOST`]; then it tries again.
//!
//! To everybody else the fiber waits as always, and the worker is one that runs a fiber.

use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::spin_loop;

/// How often it looks: about two microseconds.
const LOOKS: u32 = 48;

/// After how many waits it tries again at the latest.
const MOST: u32 = 4096;

/// Whether it is worth it.
#[derive(Copy, Clone)]
pub(super) struct Lingers {
    /// How many waits are to pass.
    left: u32,
    /// How many were, the last time.
    gap: u32,
}

impl Lingers {
    pub(super) fn new() -> Lingers {
        Lingers { left: 0, gap: 1 }
    }
}

impl Worker {
    /// For `me`, which waits, when no fiber is ready: one that becomes so within a moment.
    #[cold]
    pub(super) fn linger(&self, me: FiberRef) -> Option<FiberRef> {
        let Lingers { left, gap } = self.lingers.get();
        if left > 0 {
            self.lingers.set(Lingers { left: left - 1, gap });
            return None;
        }
        if self.fresh_due.get() || self.has_fresh_here() {
            return None;
        }
        me.state.linger();
        let came = (0..LOOKS).any(|_| {
            spin_loop();
            me.state.is_told() || !self.remote().inbox.is_empty()
        });
        let was_told = me.state.stop_lingering();
        let came = came || was_told;
        let gap = if came { 1 } else { (gap * 2).min(MOST) };
        self.lingers.set(Lingers { left: if came { 0 } else { gap }, gap });
        if was_told {
            Some(me)
        } else if came {
            self.pop_ready()
        } else {
            None
        }
    }

    /// Whether there are fresh fibers that this worker would start.
    fn has_fresh_here(&self) -> bool {
        !self.pinned.is_empty() || self.remote().has_fresh() || !self.shared.injector.is_empty()
    }
}
