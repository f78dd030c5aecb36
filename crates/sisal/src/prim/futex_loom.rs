//! The futex as the models see it: a thread that sleeps is one that looks again when another has run.

use super::atomic::{AtomicU32, Ordering, yield_now};
use std::time::Duration;

/// Sleeps while `word` is `expected`. In a model nobody comes to help: a lost wake is a wait without end, which fails it.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    while word.load(Ordering::Relaxed) == expected {
        yield_now();
    }
}

pub(crate) fn wake_one(_word: &AtomicU32) {}
