//! The poke word of a fiber: how others make its worker look whether its wait is to end.
//!
//! Cancellation comes from anywhere, but a wait in a fiber's frame may be touched only under its object's lock or by the fiber's
//! own worker. So whoever cancels does not touch it: it writes the cause down, and *pokes* the fiber, which puts it on its worker's
//! list of fibers to look at.
//!
//! # The word
//! - REACHABLE: the fiber has waited in a way that can be cancelled, so its worker is known. Set by the fiber.
//! - REQUESTED: the fiber itself is to be cancelled, by its handle. Stays.
//! - QUEUED: it stands on its worker's list, or is being put there.
//! - CLOSED: it is about to end: nobody may put it there any more. Set by its worker.
//!
//! # Protocol
//! - *Poke*: the cause is written. Read the word by an exchange. If QUEUED is there, somebody else's poke serves for both. If CLOSED is
//!   there, or REACHABLE is not, nothing is to be done. Else exchange QUEUED in and put the fiber on the list.
//! - *Wait*: before it first waits, the fiber exchanges REACHABLE in, and only then looks for a cause. If the poke's exchange came
//!   first, the fiber sees the cause; if it came later, the poke sees REACHABLE.
//! - *Heed* (its worker): take it off the list, exchange QUEUED out, then look for a cause.
//! - *End* (its worker): exchange CLOSED in. While QUEUED is set, heed: it may not be freed while it stands on the list. The list of
//!   its worker and the runtime outlast a poke for the same reason.

use crate::prim::atomic::{AtomicU32, Backoff, Ordering};

const REACHABLE: u32 = 1;
const REQUESTED: u32 = 2;
const QUEUED: u32 = 4;
const CLOSED: u32 = 8;

/// See the [module](self).
pub(crate) struct PokeWord(AtomicU32);

impl PokeWord {
    pub(crate) fn new() -> PokeWord {
        PokeWord(AtomicU32::new(0))
    }

    /// Whether the fiber's handle has asked for its end.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `request`.
        self.0.load(Ordering::Acquire) & REQUESTED != 0
    }

    /// Whether it can be poked, and nothing has been asked of it. For the fiber.
    #[inline(always)]
    pub(crate) fn is_calm(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `request`.
        self.0.load(Ordering::Acquire) == REACHABLE
    }

    /// Asks for the fiber's end. A poke has to follow.
    pub(crate) fn request(&self) {
        // ORDERING: Release pairs with the Acquire in `is_requested` and in `make_reachable`.
        self.0.fetch_or(REQUESTED, Ordering::Release);
    }

    /// The fiber is about to wait: from now on it can be poked.
    #[inline]
    pub(crate) fn make_reachable(&self) {
        if self.0.load(Ordering::Relaxed) & REACHABLE == 0 {
            // ORDERING: AcqRel; see the module: pairs with that in `begin`.
            self.0.fetch_or(REACHABLE, Ordering::AcqRel);
        }
    }

    /// Begins a poke; true if the fiber is to be put on its worker's list, which it then waits for.
    #[must_use]
    pub(crate) fn begin(&self) -> bool {
        // Read by an exchange, so that one of the two sees the other's even if nothing is changed.
        // ORDERING: AcqRel; see the module: pairs with that in `make_reachable`, `taken` and `close`.
        let mut word = self.0.fetch_or(0, Ordering::AcqRel);
        while word & (REACHABLE | QUEUED | CLOSED) == REACHABLE {
            // ORDERING: as above.
            match self.0.compare_exchange(word, word | QUEUED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// The fiber was taken off the list.
    pub(crate) fn taken(&self) {
        // ORDERING: AcqRel: pairs with `begin`: what the poke is about is seen.
        self.0.fetch_and(!QUEUED, Ordering::AcqRel);
    }

    /// The fiber that was about to end does not yet. Only its worker knows of it by now.
    pub(crate) fn reopen(&self) {
        self.0.fetch_and(!CLOSED, Ordering::Relaxed);
    }

    /// The fiber is about to end. `heed` takes all fibers off the list.
    #[inline]
    pub(crate) fn close(&self, heed: impl FnMut()) {
        // Set by this very thread, if it is set: a fiber that nobody could poke pays nothing.
        if self.0.load(Ordering::Relaxed) & REACHABLE != 0 {
            self.close_reachable(heed);
        }
    }

    fn close_reachable(&self, mut heed: impl FnMut()) {
        // ORDERING: AcqRel; pairs with `begin`.
        let mut before = self.0.fetch_or(CLOSED, Ordering::AcqRel);
        let mut backoff = Backoff::new();
        while before & QUEUED != 0 {
            heed();
            // A read-modify-write, so that it can't be an old value.
            before = self.0.fetch_or(0, Ordering::AcqRel);
            if before & QUEUED != 0 {
                backoff.pause();
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// A fiber that waits once and ends, and its canceller: the fiber sees the cause or is poked, and never ends while it stands on
    /// the list. Reached: seen before the wait, poked in it, came too late.
    #[test]
    fn loom_poke_reaches_a_fiber_that_waits() {
        let seen: &'static Mutex<HashSet<&str>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            // The word, the cause, how many stand on the list, whether the fiber is gone; and whether it has begun to go.
            let shared = Arc::new((PokeWord::new(), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
            let ending = Arc::new(AtomicUsize::new(0));
            let canceller = {
                let (shared, ending) = (shared.clone(), ending.clone());
                loom::thread::spawn(move || {
                    shared.1.store(1, Ordering::Relaxed);
                    let poked = shared.0.begin();
                    if poked {
                        assert_eq!(shared.3.fetch_add(0, Ordering::Relaxed), 0, "it waits until it is on the list");
                        shared.2.fetch_add(1, Ordering::Release);
                    }
                    (poked, ending.load(Ordering::Relaxed) == 1)
                })
            };
            let heed = || {
                if shared.2.swap(0, Ordering::Acquire) == 1 {
                    shared.0.taken();
                }
            };
            shared.0.make_reachable();
            let told = shared.1.load(Ordering::Relaxed) == 1;
            // The wait is ended by its object as well: one look at the list, then on.
            heed();
            ending.store(1, Ordering::Relaxed);
            shared.0.close(heed);
            shared.3.fetch_add(1, Ordering::Relaxed);
            let (poked, was_ending) = canceller.join().unwrap();
            seen.lock().unwrap().insert(match (told, poked) {
                (true, _) => "told",
                (false, true) => "poked",
                (false, false) => {
                    assert!(was_ending, "a fiber that waits, was not told and is not poked");
                    "late"
                }
            });
        });
        assert_eq!(seen.lock().unwrap().len(), 3);
    }
}
