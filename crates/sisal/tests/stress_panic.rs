//! Storms of panics: every joiner learns of them, and no worker dies of one.

mod common;

use common::{background, rounds, until, with_workers};
use sisal::{Cause, JoinError, join_all, sleep, spawn, yield_now};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Calls `on_drop` when it is dropped, which is during unwinding.
struct Guard<F: FnMut()>(F);

impl<F: FnMut()> Drop for Guard<F> {
    fn drop(&mut self) {
        assert!(std::thread::panicking());
        (self.0)();
    }
}

#[test]
fn when_every_third_fiber_panics_all_others_return() {
    with_workers(|workers| {
        let runtime = background(workers);
        let count = rounds(6_000);
        let results = runtime.run(|| {
            let fibers = (0..count).map(|number| {
                spawn(move || {
                    (0..number % 4).for_each(|_| yield_now());
                    assert!(number % 3 != 0, "on purpose: {number}");
                    number
                })
            });
            join_all(fibers)
        });
        for (number, result) in results.into_iter().enumerate() {
            match result {
                Ok(returned) => assert_eq!(returned, number),
                Err(JoinError::Panicked(panic)) => assert_eq!(panic.message(), format!("on purpose: {number}")),
                Err(error) => panic!("{error}"),
            }
        }
        let stats = runtime.handle().stats();
        assert_eq!(stats.panicked as usize, count.div_ceil(3), "{stats}");
        assert_eq!(stats.detached_panics, 0, "{stats}");
        assert_eq!(stats.workers, workers, "{stats}");
        common::shut_down(runtime);
    });
}

/// Handles are dropped before the panic, after it, and at the same moment.
#[test]
fn panics_that_nobody_receives_are_each_counted_once() {
    with_workers(|workers| {
        let runtime = background(workers);
        let count = rounds(3_000) as u64;
        runtime.run(|| {
            let mut late = Vec::new();
            for number in 0..count {
                let panicker = spawn(move || {
                    (0..number % 2).for_each(|_| yield_now());
                    assert!(number % 3 != 0, "on purpose: {number}");
                });
                match number % 5 {
                    0 => drop(panicker),
                    1 => {
                        yield_now();
                        drop(panicker);
                    }
                    2 => {
                        panicker.wait().unwrap();
                        drop(panicker);
                    }
                    3 => late.push(panicker),
                    _ => drop(spawn(move || drop(panicker))),
                }
            }
        });
        let handle = runtime.handle();
        // One in five is dropped by another fiber, and `run` has one of its own.
        until(|| handle.stats().finished == count + count / 5 + 1);
        let stats = handle.stats();
        assert_eq!(stats.panicked, count.div_ceil(3), "{stats}");
        assert_eq!(stats.detached_panics, stats.panicked, "{stats}");
        common::shut_down(runtime);
    });
}

#[test]
fn fibers_panic_while_others_are_suspended_in_a_destructor_during_unwinding() {
    with_workers(|workers| {
        let runtime = background(workers);
        let count = rounds(3_000);
        let switches = Arc::new(AtomicUsize::new(0));
        let results = runtime.run(|| {
            let fibers = (0..count).map(|number| {
                let switches = Arc::clone(&switches);
                spawn(move || {
                    let _guard = Guard(|| {
                        for _ in 0..number % 7 {
                            yield_now();
                            switches.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                    (0..number % 3).for_each(|_| yield_now());
                    panic!("on purpose: {number}");
                })
            });
            join_all(fibers)
        });
        for (number, result) in results.into_iter().enumerate() {
            let Err(JoinError::Panicked(panic)) = result else { panic!("{number} has not panicked") };
            assert_eq!(panic.message(), format!("on purpose: {number}"));
        }
        assert_eq!(switches.load(Ordering::Relaxed), (0..count).map(|number| number % 7).sum());
        // The threads' counts of panics in progress are even again.
        let panicking = runtime.run(|| {
            let asked = (0..workers).map(|worker| sisal::spawn_on(worker, std::thread::panicking));
            join_all(asked).into_iter().any(Result::unwrap)
        });
        assert!(!panicking);
        common::shut_down(runtime);
    });
}

#[test]
fn waits_in_destructors_during_unwinding_end_and_those_of_neighbours_are_not_cancelled() {
    with_workers(|workers| {
        let runtime = background(workers);
        let waited = Arc::new(AtomicUsize::new(0));
        let panickers = rounds(1_000);
        runtime.run(|| {
            let fibers: Vec<_> = (0..2 * panickers)
                .map(|number| {
                    let waited = Arc::clone(&waited);
                    spawn(move || {
                        if number % 2 == 0 {
                            // A neighbour of those that unwind.
                            for _ in 0..5 {
                                sleep(Duration::from_micros(10)).unwrap();
                                yield_now();
                            }
                            return;
                        }
                        let _guard = Guard(|| {
                            yield_now();
                            // In a crowd of such fibers one can't always be told from another: then it really waits.
                            let slept = sleep(Duration::from_micros(10));
                            assert!(slept.is_ok() || slept.is_err_and(|error| error.cause == Cause::Unwinding));
                            waited.fetch_add(1, Ordering::Relaxed);
                            yield_now();
                        });
                        panic!("on purpose: {number}");
                    })
                })
                .collect();
            let results = join_all(fibers);
            for (number, result) in results.into_iter().enumerate() {
                match result {
                    Ok(()) => assert!(number % 2 == 0),
                    Err(JoinError::Panicked(panic)) => {
                        assert_eq!(panic.message(), format!("on purpose: {number}"));
                        assert!(number % 2 == 1);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        assert_eq!(waited.load(Ordering::Relaxed), panickers);
        common::shut_down(runtime);
    });
}

#[test]
fn panics_caught_inside_fibers_disturb_nobody() {
    with_workers(|workers| {
        let runtime = background(workers);
        runtime.run(|| {
            let fibers = (0..rounds(2_000)).map(|number| {
                spawn(move || {
                    let caught = catch_unwind(|| {
                        let _guard = Guard(yield_now);
                        panic!("on purpose: {number}");
                    });
                    assert!(caught.is_err());
                    assert!(sleep(Duration::from_micros(1)).is_ok(), "the panic is over");
                    number
                })
            });
            for (number, result) in join_all(fibers).into_iter().enumerate() {
                assert_eq!(result.unwrap(), number);
            }
        });
        assert_eq!(runtime.handle().stats().panicked, 0);
        common::shut_down(runtime);
    });
}

#[test]
fn runtimes_that_stop_amid_panics_end_cleanly() {
    with_workers(|workers| {
        for round in 0..rounds(100) as u64 {
            let runtime = background(workers);
            let handles: Vec<_> = (0..60)
                .map(|number| {
                    runtime.spawn(move || {
                        let _guard = Guard(|| {
                            yield_now();
                            let _ = sleep(Duration::from_micros(10));
                        });
                        (0..number % 5).for_each(|_| yield_now());
                        panic!("on purpose: {number}");
                    })
                })
                .collect();
            let handle = runtime.handle();
            until(|| handle.stats().finished >= round % 60);
            common::shut_down(runtime);
            for handle in handles {
                let result: Result<(), _> = handle.join();
                assert!(matches!(result, Err(JoinError::Panicked(_) | JoinError::Cancelled(_))));
            }
        }
    });
}
