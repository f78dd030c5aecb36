//! Counters with one writer each, summed by whoever wants to know.

use super::latency::Histogram;
use crate::fiber::body::Ended;
use crate::prim::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A counter that one thread increments and any may read.
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) const fn new() -> Count {
        Count(AtomicU64::new(0))
    }

    /// Adds one. For the one writer only: a load and a store, no exchange.
    #[inline]
    pub(crate) fn increment(&self) {
        // ORDERING: Release pairs with the Acquire of `get`: who sees an end counted sees its spawn counted.
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// As [`increment`](Self::increment), for what nothing follows from.
    #[inline]
    pub(crate) fn tally(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
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
    /// Fibers that have ended: counted before anybody is told so.
    pub(crate) finished: Count,
    /// Of these, those that nothing is left of: counted last.
    pub(crate) gone: Count,
    pub(crate) panicked: Count,
    pub(crate) cancelled: Count,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        let [spawned, finished, gone, panicked, cancelled] = [const { Count::new() }; 5];
        Counts { spawned, finished, gone, panicked, cancelled }
    }

    /// Counts an end of this kind. For the one writer only.
    #[inline]
    pub(crate) fn note(&self, ended: Ended) {
        match ended {
            Ended::Returned => {}
            Ended::Cancelled => self.cancelled.increment(),
            Ended::Panicked => self.panicked.increment(),
        }
    }
}

/// How a worker gets on. Written by that worker alone.
pub(crate) struct Activity {
    /// Waits that fibers have begun there, and those that have ended.
    pub(crate) parks: Count,
    /// How often it took fresh fibers from another worker.
    pub(crate) steals: Count,
    /// What it has heard from outside.
    pub(crate) events: Count,
    /// How long ready fibers wait for their turn.
    pub(crate) latency: Histogram,
    /// How many of its fibers are ready, as of the last change that it made itself.
    pub(crate) ready: AtomicUsize,
    /// How many timers are armed there.
    pub(crate) timers: AtomicUsize,
    /// How many descriptors its driver listens to, as of its last turn.
    pub(crate) descriptors: AtomicUsize,
}

impl Activity {
    pub(crate) fn new() -> Activity {
        Activity {
            parks: Count::new(),
            steals: Count::new(),
            events: Count::new(),
            latency: Histogram::new(),
            ready: AtomicUsize::new(0),
            timers: AtomicUsize::new(0),
            descriptors: AtomicUsize::new(0),
        }
    }
}
