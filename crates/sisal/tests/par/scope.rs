//! Scopes, forks of many, what is done on every worker, and prefix sums.

use super::common::flavours::Ledger;
use super::common::{background, in_main_fiber, shut_down, watchdog, with_workers};
use sisal::par::{self, Scope};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Spawns a tree of children into one scope.
fn grow<'s>(scope: Scope<'s, '_>, depth: u32, leaves: &'s AtomicUsize) {
    if depth == 0 {
        leaves.fetch_add(1, Ordering::Relaxed);
        return;
    }
    scope.spawn(move |scope| grow(scope, depth - 1, leaves));
    scope.spawn(move |scope| grow(scope, depth - 1, leaves));
}

#[test]
fn a_scope_ends_with_the_last_child() {
    let all = || {
        let leaves = AtomicUsize::new(0);
        let value = par::scope(|scope| {
            grow(scope, 10, &leaves);
            "done"
        });
        assert_eq!((value, leaves.into_inner()), ("done", 1 << 10));
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn a_fork_in_a_scope_in_a_callback_of_a_channel() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (sender, receiver) = sisal::chan::bounded(1);
            let producer = sisal::spawn(move || (0..100u64).for_each(|number| sender.send(number).unwrap()));
            let total = AtomicUsize::new(0);
            receiver.iter().for_each(|number| {
                par::scope(|scope| {
                    scope.spawn(|_| {
                        let (a, b) = par::join(|| par::iter(0..number).count(), || number as usize);
                        total.fetch_add(a + b, Ordering::Relaxed);
                    });
                });
            });
            producer.join().unwrap();
            assert_eq!(total.into_inner(), 9_900);
        });
    });
}

#[test]
fn the_panic_of_a_child_comes_out_when_all_have_ended() {
    let all = || {
        let ended = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            par::scope(|scope| {
                scope.spawn(|_| _ = ended.fetch_add(1, Ordering::Relaxed));
                scope.spawn(|_| panic!("on purpose"));
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
        assert!(ended.into_inner() <= 1);
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn forks_of_many_give_all_results() {
    let all = || {
        let text = String::from("borrowed");
        let (a, b, c) = par::join_many((|| 1, || text.len(), || text.clone()));
        assert_eq!((a, b, c.as_str()), (1, 8, "borrowed"));
        let eight = par::join_many((|| 1, || 2, || 3, || 4, || 5, || 6, || 7, || 8));
        assert_eq!(eight, (1, 2, 3, 4, 5, 6, 7, 8));
        assert_eq!(par::join_many((|| 1,)), (1,));
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn closures_of_forks_and_scopes_are_dropped_once_whatever_panics() {
    const COUNT: usize = 8;
    let round = |panics_at: usize| {
        let ledger = Ledger::of(COUNT);
        let make = |number: usize| {
            let item = ledger.make(number);
            move || {
                if number.is_multiple_of(3) {
                    sisal::yield_now();
                }
                assert_ne!(item.number, panics_at, "on purpose");
                item
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            let all = (make(0), make(1), make(2), make(3), make(4), make(5), make(6), make(7));
            assert_eq!(par::join_many(all).7.number, 7);
        }));
        assert_eq!(result.is_err(), panics_at < COUNT);
        ledger.check();

        let ledger = Ledger::of(COUNT);
        let result = catch_unwind(AssertUnwindSafe(|| {
            par::scope(|scope| {
                for number in 0..COUNT {
                    let item = ledger.make(number);
                    scope.spawn(move |_| assert_ne!(item.number, panics_at, "on purpose"));
                }
            });
        }));
        assert_eq!(result.is_err(), panics_at < COUNT);
        // Where a child is just called, those after it are never made.
        let made = if sisal::in_fiber() { COUNT } else { COUNT.min(panics_at + 1) };
        (made..COUNT).for_each(|number| drop(ledger.make(number)));
        ledger.check();

        let ledger = Ledger::of(2);
        let half = |number: usize| {
            let item = ledger.make(number);
            move || {
                assert_ne!(item.number, panics_at, "on purpose");
                if panics_at == 7 { Err(item) } else { Ok(item) }
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            let tried = par::try_join(half(0), half(1));
            assert_eq!(tried.err().map(|item| item.number), (panics_at == 7).then_some(0));
        }));
        assert_eq!(result.is_err(), panics_at < 2);
        ledger.check();
    };
    let all = || (0..=COUNT).for_each(round);
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn results_of_a_broadcast_that_panics_are_dropped_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for panics_at in 0..workers {
                let ledger = Ledger::of(workers);
                let result = catch_unwind(AssertUnwindSafe(|| {
                    par::broadcast(|worker| {
                        let item = ledger.make(worker);
                        assert_ne!(worker, panics_at, "on purpose");
                        item
                    })
                }));
                assert!(result.is_err());
                assert!(ledger.dropped() >= 1);
                // After the panic, those who have not started never run.
                assert!(ledger.each().all(|drops| drops <= 1));
            }
            let ledger = Ledger::of(workers);
            drop(par::broadcast(|worker| ledger.make(worker)));
            ledger.check();
        });
    });
}

#[test]
fn both_sides_end_before_the_first_error_comes_back() {
    let all = || {
        let ended = AtomicUsize::new(0);
        let end = |result: Result<u32, u32>| {
            let ended = &ended;
            move || {
                sisal::yield_now();
                ended.fetch_add(1, Ordering::Relaxed);
                result
            }
        };
        assert_eq!(par::try_join(end(Ok(1)), end(Ok(2))), Ok((1, 2)));
        assert_eq!(par::try_join(end(Err(1)), end(Ok(2))), Err(1));
        assert_eq!(par::try_join(end(Ok(1)), end(Err(2))), Err(2));
        assert_eq!(par::try_join(end(Err(1)), end(Err(2))), Err(1));
        assert_eq!(ended.load(Ordering::Relaxed), 8);
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn a_broadcast_reaches_each_worker_once() {
    with_workers(|workers| {
        let runtime = background(workers);
        let ran = runtime.run(|| par::broadcast(|worker| (worker, std::thread::current().id())));
        assert!(ran.iter().map(|(worker, _)| *worker).eq(0..workers));
        let threads: std::collections::HashSet<_> = ran.into_iter().map(|(_, thread)| thread).collect();
        assert_eq!(threads.len(), workers);
        shut_down(runtime);
    });
    watchdog::guarded(|| assert_eq!(par::broadcast(|worker| worker), [0]));
}

#[test]
fn prefixes_are_those_of_a_sequential_scan() {
    let all = || {
        for len in [0, 1, 2, 3, 255, 256, 257, 1_000, 20_001] {
            for grain in [None, Some(1), Some(2), Some(7), Some(100_000)] {
                // Not commutative: the first and the last of what was put together, and how many.
                let mut items: Vec<(usize, usize, usize)> = (0..len).map(|at| (at, at, 1)).collect();
                let par = par::iter(&mut items);
                let par = if let Some(grain) = grain { par.grain(grain) } else { par };
                par.scan_in_place(|a, b| {
                    assert_eq!(a.1 + 1, b.0, "not neighbours");
                    (a.0, b.1, a.2 + b.2)
                });
                assert!(items.into_iter().enumerate().all(|(at, item)| item == (0, at, at + 1)));
            }
        }
        let sums: Vec<u64> = par::iter(0..10_000u64).map(|number| number * number).scan(|a, b| a + b);
        let mut sum = 0;
        assert!(sums.into_iter().zip(0..).all(|(prefix, number)| {
            sum += number * number;
            prefix == sum
        }));
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn a_scope_in_a_fiber_that_was_cancelled_is_whole() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (started, wait) = sisal::chan::bounded::<()>(0);
            let computing = sisal::spawn(move || {
                let _ = sisal::shield(|| started.send(()));
                while sisal::check_cancelled().is_ok() {
                    sisal::yield_now();
                }
                let mut numbers = [0; 100];
                par::scope(|scope| numbers.iter_mut().for_each(|number| scope.spawn(|_| *number = 1)));
                numbers
            });
            wait.recv().unwrap();
            computing.cancel();
            assert_eq!(computing.join().unwrap(), [1; 100]);
        });
    });
}

#[test]
fn a_scope_in_a_runtime_that_stops_is_whole() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        let computing = runtime.spawn(move || {
            let mut numbers = [0; 100];
            par::scope(|scope| {
                handle.request_stop();
                numbers.iter_mut().for_each(|number| scope.spawn(|_| *number = 1));
            });
            numbers
        });
        assert_eq!(computing.join().unwrap(), [1; 100]);
        shut_down(runtime);
    });
}

#[test]
fn what_a_thread_spawns_into_a_scope_of_a_runtime_that_stops_runs_too() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        let computing = runtime.spawn(move || {
            let mut number = 0;
            par::scope(|scope| {
                handle.request_stop();
                std::thread::scope(|threads| threads.spawn(|| scope.spawn(|_| number = 1)).join().unwrap());
            });
            number
        });
        assert_eq!(computing.join().unwrap(), 1);
        shut_down(runtime);
    });
}

#[test]
fn a_scope_beside_a_failure_is_whole() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (computed, started) = (AtomicUsize::new(0), sisal::sync::Event::new());
            let failed = sisal::nursery(|n| {
                n.spawn(|| {
                    started.set();
                    // It goes on when the nursery has failed.
                    while sisal::check_cancelled().is_ok() {
                        sisal::yield_now();
                    }
                    let mut numbers = [0; 100];
                    par::scope(|scope| numbers.iter_mut().for_each(|number| scope.spawn(|_| *number = 1)));
                    computed.fetch_add(numbers.iter().sum(), Ordering::Relaxed);
                });
                n.spawn(|| {
                    started.wait().unwrap();
                    Err::<(), _>("failed")
                });
                Ok(())
            });
            assert_eq!((failed, computed.load(Ordering::Relaxed)), (Err("failed"), 100));
        });
    });
}

#[test]
fn a_broadcast_reaches_each_worker_whatever_is_cancelled() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        let numbers = runtime.spawn(move || {
            let token = sisal::CancelToken::new();
            token.cancel();
            let cancelled = token.run(|| par::broadcast(|worker| worker));
            handle.request_stop();
            (cancelled, par::broadcast(|worker| (worker, std::thread::current().id())))
        });
        let all: Vec<usize> = (0..workers).collect();
        let (cancelled, stopping) = numbers.join().unwrap();
        let threads: std::collections::HashSet<_> = stopping.iter().map(|(_, thread)| *thread).collect();
        let stopping: Vec<usize> = stopping.into_iter().map(|(worker, _)| worker).collect();
        assert_eq!((cancelled, stopping, threads.len()), (all.clone(), all, workers));
        shut_down(runtime);
    });
}
