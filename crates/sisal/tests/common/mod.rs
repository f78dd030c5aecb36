//! What the tests share: a watchdog, runtimes of 1, 2, 4 and 8 workers, gates to park at, child processes, skips that are
//! counted, and what Linux says of this process.
//!
//! No test waits by the clock. It waits for a condition, with [`until`], and the watchdog ends a process whose condition
//! never comes true, saying which test it was and what its runtimes had done.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod actors;
pub(crate) mod child;
pub(crate) mod flavours;
pub(crate) mod gate;
pub(crate) mod late_server;
pub(crate) mod linux;
pub(crate) mod overheard;
pub(crate) mod places;
mod quiet;
pub(crate) mod skip;
pub(crate) mod storm;
pub(crate) mod traits;
pub(crate) mod waits;
pub(crate) mod watchdog;

use child::test_of;
use sisal::{Handle, Runtime, RuntimeBuilder};
use std::time::Duration;
use watchdog::Watchdog;

/// How many workers the storms are run with.
pub(crate) const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Longer than any test takes: what is to end in this time ends, or the watchdog has barked before.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// The number of rounds for this build: a debug build does a tenth, and so does one that is asked to.
pub(crate) fn rounds(release: usize) -> usize {
    let is_short = cfg!(debug_assertions) || std::env::var_os("SISAL_FEW_ROUNDS").is_some();
    if is_short { release.div_ceil(10) } else { release }
}

/// A runtime with so many workers, never more.
pub(crate) fn fixed(workers: usize) -> RuntimeBuilder {
    Runtime::builder().workers(workers).max_workers(workers)
}

/// Calls `body` with 1, 2, 4 and 8, each time under a watchdog of its own.
///
/// What a test does is called through a pointer, here and below, so that what is common to all tests is compiled once.
pub(crate) fn with_workers<F: Fn(usize)>(body: F) {
    let called: &dyn Fn(usize) = &body;
    for workers in WORKERS {
        let _watchdog = Watchdog::over(&body, &format!("{workers} workers"));
        called(workers);
    }
}

/// Starts a background runtime with so many workers, never more, for a test that is watched already.
pub(crate) fn background(workers: usize) -> Runtime {
    watched(fixed(workers).build().unwrap())
}

/// Shows a runtime to the watchdog of this test.
pub(crate) fn watched(runtime: Runtime) -> Runtime {
    watchdog::watch(runtime.handle());
    runtime
}

/// Runs `body` as a fiber in runtimes of 1, 2, 4 and 8 workers: as the main fiber on this thread, and in the background.
/// Afterwards nothing may be left: all fibers have ended, and all threads.
pub(crate) fn in_fiber_of_each<F: Fn() + Send + Sync>(body: F) {
    in_fiber_of_each_as(&test_of::<F>(), &body);
}

/// The same, for a test of that name.
pub(crate) fn in_fiber_of_each_as(test: &str, body: &(dyn Fn() + Sync)) {
    for workers in WORKERS {
        main_fiber(test, workers, body);
        background_fiber(test, workers, body);
    }
}

/// Runs `body` as the main fiber of a runtime with so many workers. Afterwards all fibers have ended.
pub(crate) fn in_main_fiber<F: Fn()>(workers: usize, body: F) {
    main_fiber(&test_of::<F>(), workers, &body);
}

fn main_fiber(test: &str, workers: usize, body: &dyn Fn()) {
    let _watchdog = Watchdog::over_test(test, &format!("{workers} workers, this thread among them"));
    let handle = fixed(workers)
        .run(|| {
            let handle = Handle::current().expect("the main fiber is in a runtime");
            watchdog::watch(&handle);
            body();
            handle
        })
        .unwrap();
    let stats = handle.stats();
    assert_eq!(stats.spawned, stats.finished, "all fibers have ended: {stats}");
}

/// Runs `body` as a fiber of a background runtime with so many workers.
pub(crate) fn in_background<F: Fn() + Send + Sync>(workers: usize, body: F) {
    background_fiber(&test_of::<F>(), workers, &body);
}

fn background_fiber(test: &str, workers: usize, body: &(dyn Fn() + Sync)) {
    let _watchdog = Watchdog::over_test(test, &format!("{workers} workers in the background"));
    let runtime = background(workers);
    runtime.run(body);
    shut_down(runtime);
}

/// Ends a runtime in which nothing may be left behind.
pub(crate) fn shut_down(runtime: Runtime) {
    let report = runtime.shutdown(LONG);
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.stats.spawned, report.stats.finished, "all fibers have ended: {report}");
    assert_eq!(report.stats.workers, 0, "all workers have ended: {report}");
}

/// Waits for a condition by giving way: in a fiber to other fibers, on a thread to other threads.
pub(crate) fn until(condition: impl Fn() -> bool) {
    while !condition() {
        sisal::yield_now();
    }
}
