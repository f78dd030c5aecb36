//! Counters with one writer each, summed by whoever wants to know.

use crate::fiber::body::Ended;
use crate::prim::atomic::{AtomicU64, Ordering};

/// A counter that one thread increments and any may read.
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn new() -> Count {
        Count(AtomicU64::new(0))
    }

    /// Adds one. For the one writer only: a load and a store, no exchange.
    #[inline]
    pub(crate) fn increment(&self) {
        // ORDERING: Release pairs with the Acquire of `get`: who sees an end counted sees its spawn counted.
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Adds one, from any of several writers.
    pub(crate) fn increment_shared(&self) {
        // ORDERING: as in `increment`.
        self.0.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release of the increments.
        self.0.load(Ordering::Acquire)
    }
}

/// What one worker, or the outside, has done.
pub(crate) struct Counts {
    pub(crate) spawned: Count,
    pub(crate) finished: Count,
    pub(crate) panicked: Count,
    pub(crate) detached_panics: Count,
    pub(crate) cancelled: Count,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts {
            spawned: Count::new(),
            finished: Count::new(),
            panicked: Count::new(),
            detached_panics: Count::new(),
            cancelled: Count::new(),
        }
    }

    /// Counts an end of this kind. For the one writer only.
    #[inline]
    pub(crate) fn note(&self, ended: Ended, detached: bool) {
        match ended {
            Ended::Returned => {}
            Ended::Cancelled => self.cancelled.increment(),
            Ended::Panicked => {
                self.panicked.increment();
                if detached {
                    self.detached_panics.increment();
                }
            }
        }
    }
}
