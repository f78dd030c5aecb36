//! Sleeping on a word: the kernel's futex, private to this process.

use super::atomic::AtomicU32;
use rustix::thread::futex;
use std::time::Duration;

/// Sleeps while `word` is `expected`, until woken or the timeout has passed. May return early.
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|d| futex::Timespec {
        tv_sec: i64::try_from(d.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: d.subsec_nanos().into(),
    });
    // Every error (changed meanwhile, interrupted, timed out) means: look again.
    let _ = futex::wait(word, futex::Flags::PRIVATE, expected, timeout.as_ref());
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}
