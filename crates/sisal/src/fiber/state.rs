//! What a fiber is doing.
//!
//! ```text
//!            1 start             2 park
//!   Fresh ───────────▶ Running ────────────▶ Parked ◀─────────────┐
//!                         ▲        3 resume     │                 │ 5 stop lingering
//!                         └─────────────────────┤      6 tell     │
//!                                      4 linger └▶ Lingers ──▶ Told (or Lingers)
//! ```
//! 1 to 3 are steps of its home worker (1: of the worker that becomes that), so they are plain stores; others may look, and get
//! a guess. A fiber that *yields* stays Running. That a fiber is Done is said by its end word ([`end`](super::end)), which also
//! says who may still touch it.
//!
//! Nobody asks whether a fiber is parked: what it waits for says so ([`wait_note`](super::wait_note)). So steps 2 and 3 are taken in debug
//! builds only, where they are checked; in others Running and Parked mean the same, and 4 begins at either.
//!
//! Waking needs no state, as a rule. Every wait is ended by exactly one claim ([`waiter`](super::waiter)), whose winner puts the fiber into a
//! queue of its home worker exactly once; and since only that worker resumes it, it does no harm if it stands there before it has
//! left its stack: its worker can't look before it has.
//!
//! # Lingering
//! A worker that has nothing else to do may stay with a fiber that it has parked for a moment. It says so (4), looks again and again
//! whether the fiber was told to go on, and whether there is mail, and says that it is over (5). Whoever has won the claim on the
//! fiber's wait, and so owes it one unpark, first tries to tell it (6), if it is of another worker. If that succeeds, the debt is paid, and the
//! fiber is touched no more, since it may go on and be gone. Else it is put into the inbox of its worker.
//!
//! Why no wake is lost: 5 and 6 are both exchanges, so either 5 finds that the fiber was told, or 6 fails and the inbox is used. Why none
//! comes twice: one claim is won, and its winner does one of the two. If 4 comes after the fiber has been put into the inbox, nobody tells
//! it, and its worker finds it there.

use crate::prim::atomic::{AtomicU8, Ordering};

const FRESH: u8 = 0;
const RUNNING: u8 = 1;
const PARKED: u8 = 2;
const LINGERS: u8 = 3;
const TOLD: u8 = 4;

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

    /// 4. Parked → Lingers: the worker stays with the fiber until it [stops](Self::stop_lingering).
    #[inline]
    pub(crate) fn linger(&self) {
        debug_assert_eq!(self.0.load(Ordering::Relaxed), PARKED, "INVARIANT: only a parked fiber lingers");
        self.0.store(LINGERS, Ordering::Relaxed);
    }

    /// Whether a fiber that lingers has been told to go on, as far as can be seen. For its worker.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed) == TOLD
    }

    /// 5. Lingers or Told → Parked; whether the fiber was told to go on.
    #[must_use = "a fiber that was told is in no queue"]
    #[inline]
    pub(crate) fn stop_lingering(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `tell`: the fiber sees what was done for it.
        self.0.swap(PARKED, Ordering::Acquire) == TOLD
    }

    /// 6. Lingers → Told, by whoever owes the fiber an unpark; whether this was one.
    #[must_use = "a fiber that was not told is still to be unparked"]
    #[inline]
    pub(crate) fn tell(&self) -> bool {
        // ORDERING: Release pairs with the Acquire of `stop_lingering`.
        self.0.load(Ordering::Relaxed) == LINGERS
            && self.0.compare_exchange(LINGERS, TOLD, Ordering::Release, Ordering::Relaxed).is_ok()
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

#[cfg(all(test, loom))]
#[allow(unsafe_code, reason = "plain memory stands for what is handed over")]
mod loom_models {
    use super::*;
    use crate::prim::atomic::AtomicUsize;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    struct Fiber {
        state: State,
        queued: AtomicUsize,
        /// Plain memory, which is written before the fiber is woken: whether that is seen is checked by the model itself.
        handed: UnsafeCell<usize>,
    }

    // SAFETY: the protocol under test sees to it.
    unsafe impl Sync for Fiber {}

    /// One unparks a fiber whose worker lingers for a look, and waits for the inbox then. The fiber is told or queued, once, and sees what
    /// was done for it. Reached: told before the look, told after it, queued.
    #[test]
    fn loom_state_of_one_that_lingers() {
        let seen: &'static Mutex<HashSet<&str>> = Box::leak(Box::default());
        loom::model(move || {
            let (queued, handed) = (AtomicUsize::new(0), UnsafeCell::new(0));
            let fiber = Arc::new(Fiber { state: State::running(), queued, handed });
            let waker = {
                let fiber = fiber.clone();
                loom::thread::spawn(move || {
                    // SAFETY: the fiber does not look before it is woken.
                    fiber.handed.with_mut(|handed| unsafe { *handed = 7 });
                    if !fiber.state.tell() {
                        assert_eq!(fiber.queued.fetch_add(1, Ordering::Release), 0, "queued once");
                    }
                })
            };
            fiber.state.park();
            fiber.state.linger();
            loom::hint::spin_loop();
            let was_told_early = fiber.state.is_told();
            let how = match (fiber.state.stop_lingering(), was_told_early) {
                (true, true) => "told before the look",
                (true, false) => "told after it",
                (false, early) => {
                    assert!(!early, "what was told stays told");
                    while fiber.queued.load(Ordering::Acquire) == 0 {
                        loom::thread::yield_now();
                    }
                    "queued"
                }
            };
            fiber.state.resume();
            // SAFETY: whoever woke us touches it no more.
            assert_eq!(fiber.handed.with(|handed| unsafe { *handed }), 7, "what was done for it is seen");
            waker.join().unwrap();
            assert_eq!(fiber.queued.load(Ordering::Relaxed), usize::from(how == "queued"), "one or the other");
            seen.lock().unwrap().insert(how);
        });
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 3, "reached: {seen:?}");
    }
}
