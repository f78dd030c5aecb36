//! Channels of every kind, and things to send through them that count how often they are dropped.

use sisal::chan::{Receiver, Sender, bounded, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The kinds of channels that are meant to differ in nothing but their room.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Rendezvous,
    Bounded(usize),
    Unbounded,
}

/// One of each, and the smallest buffer besides a middling one.
pub(crate) const FLAVOURS: [Flavour; 4] =
    [Flavour::Rendezvous, Flavour::Bounded(1), Flavour::Bounded(3), Flavour::Unbounded];

impl Flavour {
    pub(crate) fn make<T>(self) -> (Sender<T>, Receiver<T>) {
        match self {
            Flavour::Rendezvous => bounded(0),
            Flavour::Bounded(capacity) => bounded(capacity),
            Flavour::Unbounded => unbounded(),
        }
    }

    /// How many items it takes while nobody receives.
    pub(crate) fn room(self) -> Option<usize> {
        match self {
            Flavour::Rendezvous => Some(0),
            Flavour::Bounded(capacity) => Some(capacity),
            Flavour::Unbounded => None,
        }
    }
}

/// Makes things and knows how often each of them was dropped.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<[AtomicUsize]>);

/// A thing that is to be dropped once.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: usize,
    ledger: Ledger,
}

impl Ledger {
    /// For things numbered from 0 to below `count`.
    pub(crate) fn of(count: usize) -> Ledger {
        Ledger((0..count).map(|_| AtomicUsize::new(0)).collect())
    }

    pub(crate) fn make(&self, number: usize) -> Counted {
        Counted { number, ledger: self.clone() }
    }

    /// How many have been dropped.
    pub(crate) fn dropped(&self) -> usize {
        self.each().sum()
    }

    /// How often each has been dropped.
    pub(crate) fn each(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|drops| drops.load(Ordering::Acquire))
    }

    /// Checks that every one was dropped, and none twice.
    #[track_caller]
    pub(crate) fn check(&self) {
        for (number, drops) in self.each().enumerate() {
            assert_eq!(drops, 1, "item {number} of {} was dropped {drops} times", self.0.len());
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} dropped", self.dropped(), self.0.len())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.0[self.number].fetch_add(1, Ordering::AcqRel);
    }
}
