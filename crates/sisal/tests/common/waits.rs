//! How waits end, in fibers and on threads.

use super::in_fiber_of_each;
use super::watchdog::guarded;
use sisal::{Cancelled, Cause};

/// What ended a wait from outside, if something did.
pub(crate) fn cause<T>(waited: Result<T, Cancelled>) -> Option<Cause> {
    waited.err().map(|cancelled| cancelled.cause)
}

/// Calls `body` on this thread, without a runtime, and in fibers of every kind of runtime.
pub(crate) fn in_fibers_and_a_thread<F: Fn() + Send + Sync>(body: F) {
    guarded(&body);
    in_fiber_of_each(body);
}
