//! What a fiber is doing.
//!
//! ```text
//!            1 start             2 park
//!   Fresh ───────────▶ Running ────────────▶ Parked
//!                         ▲        3 resume     │
//!                         └─────────────────────┘
//! ```
//! All three are steps of its home worker (1: of the worker that becomes that), so they are plain stores; others may look, and get
//! a guess. A fiber that *yields* stays Running. That a fiber is Done is said by its end word ([`end`](super::end)), which also
//! says who may still touch it.
//!
//! Nobody asks whether a fiber is parked: what it waits for says so ([`wait_note`](super::wait_note)). So steps 2 and 3 are taken in debug
//! builds only, where they are checked.
//!
//! Waking needs no state. Every wait is ended by exactly one claim ([`waiter`](super::waiter)), whose winner puts the fiber into a
//! queue of its home worker exactly once; and since only that worker resumes it, it does no harm if it stands there before it has
//! left its stack: its worker can't look before it has.

use crate::prim::atomic::{AtomicU8, Ordering};

const FRESH: u8 = 0;
const RUNNING: u8 = 1;
const PARKED: u8 = 2;

/// See the [module](self).
pub(crate) struct State(AtomicU8);

impl State {
    pub(crate) fn fresh() -> State {
        State(AtomicU8::new(FRESH))
    }

    /// The state of a fiber that is made while it already runs: the main fiber.
    pub(crate) fn running() -> State {
        State(AtomicU8::new(RUNNING))
    }

    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FRESH
    }

    /// 1. Fresh → Running, by the worker that took the fiber from a queue.
    #[inline]
    pub(crate) fn start(&self) {
        self.step(FRESH, RUNNING);
    }

    /// 2. Running → Parked: the worker is about to leave its stack.
    #[inline]
    pub(crate) fn park(&self) {
        if cfg!(debug_assertions) {
            self.step(RUNNING, PARKED);
        }
    }

    /// 3. Parked → Running: the worker is back on its stack.
    #[inline]
    pub(crate) fn resume(&self) {
        if cfg!(debug_assertions) {
            self.step(PARKED, RUNNING);
        }
    }

    #[inline]
    fn step(&self, from: u8, to: u8) {
        debug_assert_eq!(
            self.0.load(Ordering::Relaxed),
            from,
            "INVARIANT: a fiber starts once, parks running, resumes parked"
        );
        self.0.store(to, Ordering::Relaxed);
    }
}
