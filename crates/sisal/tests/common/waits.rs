//! How waits end, in fibers and on threads.

use super::child::test_of;
use super::places::{Place, settle};
use super::watchdog::Watchdog;
use super::{in_fiber_of_each_as, until};
use sisal::{CancelToken, Cancelled, Cause};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What ended a wait from outside, if something did.
pub(crate) fn cause<T>(waited: Result<T, Cancelled>) -> Option<Cause> {
    waited.err().map(|cancelled| cancelled.cause)
}

/// Calls `body` on this thread, without a runtime, and in fibers of every kind of runtime.
pub(crate) fn in_fibers_and_a_thread<F: Fn() + Send + Sync>(body: F) {
    let test = test_of::<F>();
    let called: &(dyn Fn() + Sync) = &body;
    {
        let _watchdog = Watchdog::over_test(&test, "no runtime");
        called();
    }
    in_fiber_of_each_as(&test, called);
}

/// Has an actor wait under a token that is cancelled, and another under one that is cancelled during the wait. Returns how both waits
/// ended.
pub(crate) fn cancel_before_and_during<T: Send + 'static>(
    place: &Place,
    wait: impl Fn() -> T + Send + Sync + 'static,
) -> [T; 2] {
    let wait = Arc::new(wait);
    [true, false].map(|before| {
        let (token, has_started) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        if before {
            token.cancel();
        }
        let actor = {
            let (token, has_started, wait) = (token.clone(), Arc::clone(&has_started), Arc::clone(&wait));
            place.spawn(move || {
                token.run(|| {
                    has_started.store(true, Ordering::Release);
                    wait()
                })
            })
        };
        until(|| has_started.load(Ordering::Acquire));
        settle();
        token.cancel();
        actor.join()
    })
}
