//! The ways to end a runtime: by a drop, by a request, from inside, from another.

use crate::cancelled;
use crate::common::watchdog::guarded;
use crate::common::{LONG, WORKERS, background, child, linux, shut_down, until, with_workers};
use sisal::{Cause, Handle, JoinError, Runtime, sleep, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn dropping_a_runtime_stops_it() {
    with_workers(|workers| {
        let runtime = background(workers);
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        let sleeper = runtime.spawn(move || {
            flag.store(true, Ordering::Relaxed);
            sleep(LONG)
        });
        until(|| started.load(Ordering::Relaxed));
        let handle = runtime.handle().clone();
        drop(runtime);
        assert!(sleeper.is_finished());
        assert_eq!(sleeper.join().unwrap().unwrap_err().cause, Cause::Shutdown);
        assert_eq!(handle.stats().workers, 0);
        assert_eq!(cancelled(handle.spawn(|| ()).join()), Cause::Shutdown, "a handle outlives its runtime");
    });
}

#[test]
fn request_stop_returns_at_once_and_is_heeded() {
    with_workers(|workers| {
        let runtime = background(workers);
        let sleepers: Vec<_> = (0..20).map(|_| runtime.spawn(|| sleep(LONG))).collect();
        runtime.request_stop();
        runtime.request_stop();
        for sleeper in sleepers {
            match sleeper.join() {
                Ok(slept) => assert_eq!(slept.unwrap_err().cause, Cause::Shutdown),
                Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "{error}"),
            }
        }
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_may_stop_its_own_runtime() {
    with_workers(|workers| {
        let runtime = background(workers);
        let stopper = runtime.spawn(|| {
            Handle::current().unwrap().request_stop();
            (sleep(LONG), spawn(|| ()).join())
        });
        let (slept, joined) = stopper.join().unwrap();
        assert_eq!(slept.unwrap_err().cause, Cause::Shutdown);
        assert!(matches!(joined, Err(JoinError::Interrupted(_) | JoinError::Cancelled(_))));
        shut_down(runtime);
    });
}

#[test]
fn shutting_down_or_dropping_a_runtime_inside_itself_does_not_wait_for_itself() {
    with_workers(|workers| {
        for by_drop in [false, true] {
            let runtime = background(workers);
            let handle = runtime.handle().clone();
            let end = handle.spawn(move || {
                if by_drop {
                    drop(runtime);
                } else {
                    assert!(!runtime.shutdown(LONG).is_clean(), "this very fiber is left");
                }
                sleep(LONG)
            });
            assert_eq!(end.join().unwrap().unwrap_err().cause, Cause::Shutdown);
            until(|| handle.stats().workers == 0);
        }
    });
}

#[test]
fn a_runtime_may_be_shut_down_in_a_fiber_of_another() {
    with_workers(|workers| {
        let (outer, inner) = (background(workers), background(workers));
        let clean = outer.run(move || {
            let sleeper = inner.spawn(|| sleep(LONG));
            let report = inner.shutdown(LONG);
            let _ = sleeper.join();
            report.is_clean()
        });
        assert!(clean);
        shut_down(outer);
    });
}

#[test]
fn run_on_a_runtime_that_is_stopping_panics_with_a_clear_message() {
    guarded(|| {
        let runtime = background(1);
        runtime.request_stop();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.run(|| 7)));
        let message = caught.unwrap_err().downcast_ref::<String>().unwrap().clone();
        assert!(message.contains("the runtime is stopping"), "{message}");
        shut_down(runtime);
    });
}

#[test]
fn ended_runtimes_have_no_threads() {
    let ended = child::run(|| {
        for workers in WORKERS {
            let runtime = Runtime::builder().workers(workers).name("crew").build().unwrap();
            until(|| linux::threads_named("crew") >= workers);
            runtime.run(|| sisal::join_all((0..100).map(|_| spawn(yield_now))));
            shut_down(runtime);
            until(|| linux::threads_named("crew") == 0);
        }
    });
    ended.well();
}
