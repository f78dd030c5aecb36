//! The futex as the models see it: a thread that sleeps is one that looks again when another has run.

use super::atomic::{AtomicU32, Ordering, yield_now};
use std::time::Duration;

/// Sleeps while `word` is `expected`. In a model nobody comes to help: a lost wake is a wait without end, which fails it.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    // The kernel looks at the word itself, never at an old value of it: a read-modify-write.
    while word.fetch_add(0, Ordering::Relaxed) == expected {
        yield_now();
    }
}

pub(crate) fn wake_one(_word: &AtomicU32) {}
