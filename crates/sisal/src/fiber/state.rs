//! The state word of a fiber.
//!
//! ```text
//!            1 start             2 commit_park
//!   Fresh ───────────▶ Running ────────────────▶ Parked
//!                       ▲  ▲                       │
//!                       │  │ 4 resume              │ 3 unpark
//!                       │  └──────── Ready ◀───────┘
//!                       └─ 2' commit_park finds Notified: clears it and goes on
//! ```
//! That a fiber is Done is not said here but by its end word ([`end`](super::end)), which also says who may still touch
//! it: once it is done, its home worker may not.
//!
//! Besides, the Notified bit: an unpark that comes while the fiber is Running or Ready is kept there, and the next
//! `commit_park` consumes it.
//!
//! | state   | who may leave it | how |
//! |---------|------------------|-----|
//! | Fresh   | the worker that took it from a queue | 1 |
//! | Running | the fiber itself, on its home worker | 2 |
//! | Parked  | anyone, once: the winner of 3 puts it in a queue of its home worker | 3 |
//! | Ready   | the home worker | 4 |
//!
//! Notified is set only with Running and Ready. A fiber that *yields* stays Running: nobody may unpark it into a queue,
//! since it stands in one already, and saving the two exchanges halves the price of a yield.
//!
//! Why no wake is lost: an unparker publishes what it has to say, then exchanges the word (3); the fiber exchanges the
//! word (2), and if an unpark came first, it finds Notified, returns at once and looks again. Both are exchanges of one
//! word, so one of them comes first, and the later sees what the earlier published.

use crate::prim::atomic::{AtomicU32, Ordering};

const FRESH: u32 = 0;
const RUNNING: u32 = 1;
const PARKED: u32 = 2;
const READY: u32 = 3;
const NOTIFIED: u32 = 4;

/// See the [module](self).
pub(crate) struct State(AtomicU32);

/// How an attempt to park went.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Parking {
    /// The fiber is Parked: its worker must leave it now.
    Parked,
    /// An unpark had come already; it is used up, and the fiber goes on.
    Notified,
}

/// What an unpark has to do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Unparking {
    /// The fiber became Ready by this call: put it into a queue of its home worker.
    Enqueue,
    /// The fiber has been told: there is nothing to do, and it must not be touched any more.
    Nothing,
}

impl State {
    pub(crate) fn fresh() -> State {
        State(AtomicU32::new(FRESH))
    }

    /// The state of a fiber that is made while it already runs: the main fiber.
    #[cfg(not(loom))]
    pub(crate) fn running() -> State {
        State(AtomicU32::new(RUNNING))
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FRESH
    }

    /// Whether it left its worker by a yield, if it has left it at all.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.0.load(Ordering::Relaxed) & !NOTIFIED == RUNNING
    }

    /// 1. Fresh → Running, by the worker that took the fiber from a queue.
    #[inline]
    pub(crate) fn start(&self) {
        debug_assert!(self.is_fresh(), "INVARIANT: a fiber starts once");
        // ORDERING: Relaxed, and no exchange: nobody unparks a fiber that has not waited yet.
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// 2. Running → Parked, by the fiber on its home worker, which afterwards leaves its stack.
    #[inline]
    pub(crate) fn commit_park(&self) -> Parking {
        // ORDERING: Release pairs with the Acquire of `unpark`; Acquire on failure pairs with its Release, so that the
        // fiber sees what the unparker published.
        match self.0.compare_exchange(RUNNING, PARKED, Ordering::Release, Ordering::Acquire) {
            Ok(_) => Parking::Parked,
            Err(found) => {
                assert_eq!(found, RUNNING | NOTIFIED, "INVARIANT: only a running fiber parks");
                // ORDERING: Acquire pairs with the Release of every unpark up to here.
                self.0.swap(RUNNING, Ordering::Acquire);
                Parking::Notified
            }
        }
    }

    /// 3. Parked → Ready, or a notice for later. By anyone who has a right to wake the fiber.
    #[inline]
    pub(crate) fn unpark(&self) -> Unparking {
        let mut found = self.0.load(Ordering::Relaxed);
        loop {
            let (next, then) = match found {
                PARKED => (READY, Unparking::Enqueue),
                FRESH => unreachable!("INVARIANT: a fresh fiber has nothing to be woken from"),
                running_or_ready => (running_or_ready | NOTIFIED, Unparking::Nothing),
            };
            // ORDERING: Release pairs with the Acquire of `commit_park` (Notified) and `resume` (Ready); exchanged even
            // if Notified is set already, so that this unparker's words are seen too. Acquire pairs with the Release of
            // `commit_park`.
            match self.0.compare_exchange_weak(found, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return then,
                Err(seen) => found = seen,
            }
        }
    }

    /// 4. Ready → Running, by the home worker, which then switches to the fiber.
    #[inline]
    pub(crate) fn resume(&self) {
        // ORDERING: Acquire pairs with the Release of `unpark`. Notified, if set, stays.
        let found = self.0.fetch_sub(READY - RUNNING, Ordering::Acquire);
        debug_assert_eq!(found & !NOTIFIED, READY, "INVARIANT: only a ready fiber is resumed");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_notice_given_while_running_or_ready_is_kept_for_the_next_park() {
        let state = State::fresh();
        state.start();
        assert_eq!(state.unpark(), Unparking::Nothing);
        assert_eq!(state.commit_park(), Parking::Notified);
        assert_eq!(state.commit_park(), Parking::Parked);
        assert_eq!(state.unpark(), Unparking::Enqueue);
        assert_eq!(state.unpark(), Unparking::Nothing);
        state.resume();
        assert_eq!(state.commit_park(), Parking::Notified);
    }

    #[test]
    #[should_panic(expected = "only a running fiber parks")]
    fn a_fiber_that_does_not_run_cannot_park() {
        let _ = State::fresh().commit_park();
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// A fiber that waits for two flags, raised by two unparkers. It parks at most until each was raised: a lost wake
    /// would leave it Parked with nobody in charge. Reached: woken from Parked, and notified before the park.
    #[test]
    fn loom_state_loses_no_wake_and_enqueues_once() {
        let seen: &'static Mutex<HashSet<(bool, usize)>> = Box::leak(Box::default());
        loom::model(move || {
            let fiber = Arc::new((State::fresh(), AtomicBool::new(false), AtomicBool::new(false)));
            fiber.0.start();
            let raise = |which: fn(&(State, AtomicBool, AtomicBool)) -> &AtomicBool| {
                let fiber = fiber.clone();
                loom::thread::spawn(move || {
                    which(&fiber).store(true, Ordering::Relaxed);
                    usize::from(fiber.0.unpark() == Unparking::Enqueue)
                })
            };
            let (one, two) = (raise(|fiber| &fiber.1), raise(|fiber| &fiber.2));
            let both = || fiber.1.load(Ordering::Relaxed) && fiber.2.load(Ordering::Relaxed);
            let mut notified = false;
            let mut parked = false;
            while !parked && !both() {
                match fiber.0.commit_park() {
                    Parking::Parked => parked = true,
                    Parking::Notified => notified = true,
                }
            }
            let enqueued = one.join().unwrap() + two.join().unwrap();
            assert_eq!(enqueued, usize::from(parked), "queued exactly once per park");
            if parked {
                fiber.0.resume();
                // The later unpark left a notice, if it came after the enqueueing one.
                assert!(both() || fiber.0.commit_park() == Parking::Notified);
            }
            seen.lock().unwrap().insert((notified, enqueued));
        });
        let seen = seen.lock().unwrap();
        assert!(seen.contains(&(false, 1)) && seen.contains(&(true, 1)) && seen.iter().any(|s| s.1 == 0), "{seen:?}");
    }
}
