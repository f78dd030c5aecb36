//! Corners where ends meet: a stop under a running main fiber, results dropped while their fiber ends, shortages at the end,
//! and a fresh fiber behind workers that have just been taken.

mod common;

use common::watchdog::guarded;
use common::{LONG, fixed, in_fiber_of_each, rounds, until, watched, with_workers};
use sisal::{Builder, Cause, Handle, sleep, spawn, spawn_on, yield_now};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_stop_requested_by_the_main_fiber_does_not_end_the_runtime_under_it() {
    guarded(|| {
        let other = fixed(1).build().unwrap();
        for workers in common::WORKERS {
            let run = fixed(workers).run(|| {
                Handle::current().unwrap().request_stop();
                // Not to be cancelled: the main fiber waits in a runtime that is stopping and has no other fiber.
                let seven = other.run(|| 7);
                // Neither this fiber nor the wait for it has a future.
                (seven, spawn(|| 1).join().is_err(), sleep(LONG).unwrap_err().cause)
            });
            assert_eq!(run.unwrap(), (7, true, Cause::Shutdown));
        }
    });
}

#[test]
fn a_stop_from_another_thread_finds_the_main_fiber_wherever_it_is() {
    guarded(|| {
        for _ in 0..rounds(300) {
            let slept = fixed(2).run(|| {
                let handle = Handle::current().unwrap();
                let stopper = std::thread::spawn(move || handle.request_stop());
                let slept = sleep(LONG);
                stopper.join().unwrap();
                slept
            });
            assert_eq!(slept.unwrap().unwrap_err().cause, Cause::Shutdown);
        }
    });
}

/// A result whose drop waits, and makes a fiber-local whose drop waits too.
struct Waits(Arc<AtomicUsize>);

struct WaitsToo(RefCell<Option<Arc<AtomicUsize>>>);

sisal::fiber_local! { static LATE: WaitsToo = WaitsToo(RefCell::new(None)); }

impl Drop for Waits {
    fn drop(&mut self) {
        yield_now();
        LATE.with(|late| *late.0.borrow_mut() = Some(Arc::clone(&self.0)));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for WaitsToo {
    fn drop(&mut self) {
        yield_now();
        if let Some(count) = self.0.borrow_mut().take() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn results_whose_drop_waits_are_dropped_once_whenever_the_handle_goes() {
    in_fiber_of_each(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let many = rounds(3_000);
        for number in 0..many {
            let waits = Waits(Arc::clone(&count));
            let fiber = Builder::new().name(format!("number {number}")).spawn(move || {
                (0..number % 3).for_each(|_| yield_now());
                waits
            });
            // Before it starts, while it runs, while it ends, after it.
            (0..number % 5).for_each(|_| yield_now());
            drop(fiber);
        }
        until(|| count.load(Ordering::Relaxed) >= many);
    });
}

#[test]
fn where_all_stacks_are_held_a_fiber_from_outside_starts_nevertheless() {
    guarded(|| {
        for _ in 0..rounds(100) {
            let runtime = watched(fixed(1).max_stacks(2).build().unwrap());
            let (sender, receiver) = sisal::chan::bounded(0);
            let began = Arc::new(AtomicUsize::new(0));
            let wait = |_| {
                let (receiver, began) = (receiver.clone(), Arc::clone(&began));
                runtime.spawn(move || {
                    began.fetch_add(1, Ordering::Relaxed);
                    receiver.recv()
                })
            };
            let waiting: Vec<_> = (0..2).map(wait).collect();
            until(|| began.load(Ordering::Relaxed) == 2);
            runtime.spawn(move || (0..2).for_each(|number| sender.send(number).unwrap())).join().unwrap();
            waiting.into_iter().for_each(|fiber| assert!(fiber.join().unwrap().is_ok()));
        }
    });
}

/// Another worker rests, but what must start here it can't start.
#[test]
fn where_all_stacks_are_held_a_fiber_that_must_start_here_does() {
    guarded(|| {
        let runtime = watched(fixed(2).max_stacks(3).build().unwrap());
        let (sender, receiver) = sisal::chan::bounded::<()>(0);
        let began = Arc::new(AtomicBool::new(false));
        let here = || runtime.handle().builder();
        let holder = {
            let began = Arc::clone(&began);
            here().spawn_on(0, move || (began.store(true, Ordering::Relaxed), receiver.recv()).1)
        };
        until(|| began.load(Ordering::Relaxed));
        let seven = here().spawn_on(0, || sisal::spawn_local(|| 7).join().unwrap());
        assert_eq!(seven.join().unwrap(), 7);
        drop(sender);
        assert!(holder.join().unwrap().is_err());
    });
}

/// Fibers that have stacks and go on all the time, in their sleeps or by giving way, don't keep others from starting.
#[test]
fn where_all_stacks_are_held_by_busy_fibers_others_start_nevertheless() {
    guarded(|| {
        let busy: [fn(); 2] = [|| sleep(Duration::from_millis(1)).unwrap(), yield_now];
        for (gives_way, times) in busy.into_iter().zip([2, 100]) {
            let run = fixed(1).max_stacks(2).run(move || {
                let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
                let one = {
                    let (stop, turns) = (Arc::clone(&stop), Arc::clone(&turns));
                    spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            turns.fetch_add(1, Ordering::Relaxed);
                            gives_way();
                        }
                    })
                };
                until(|| turns.load(Ordering::Relaxed) > times);
                let seven = spawn(move || {
                    let seven = spawn(|| 7).join().unwrap();
                    stop.store(true, Ordering::Relaxed);
                    seven
                });
                (seven.join().unwrap(), one.join().is_ok())
            });
            assert_eq!(run.unwrap(), (7, true));
        }
    });
}

#[test]
fn a_run_whose_stacks_are_all_asleep_when_main_returns_ends() {
    guarded(|| {
        let run = fixed(1).max_stacks(2).run(|| {
            let asleep = Arc::new(AtomicUsize::new(0));
            for _ in 0..2 {
                let asleep = Arc::clone(&asleep);
                drop(spawn(move || {
                    asleep.fetch_add(1, Ordering::Relaxed);
                    sleep(LONG)
                }));
            }
            until(|| asleep.load(Ordering::Relaxed) >= 1);
        });
        assert!(run.is_ok());
    });
}

/// It has no stack to go on with, and what holds them all heeds no request.
#[test]
fn a_run_ends_on_a_stack_of_another_size_when_there_is_no_other() {
    guarded(|| {
        let (sender, receiver) = sisal::chan::bounded::<()>(0);
        let run = fixed(2).max_stacks(3).shutdown_timeout(Duration::from_millis(50)).run(move || {
            let began = Arc::new(AtomicUsize::new(0));
            let hold = |_| {
                let (receiver, began) = (receiver.clone(), Arc::clone(&began));
                drop(spawn_on(1, move || {
                    began.fetch_add(1, Ordering::Relaxed);
                    assert!(sisal::shield(|| receiver.recv()).is_err());
                }));
            };
            (0..3).for_each(hold);
            let big = Arc::clone(&began);
            drop(Builder::new().stack_size(1 << 20).spawn_on(0, move || {
                big.fetch_add(1, Ordering::Relaxed);
                sisal::shield(|| sleep(Duration::from_millis(100))).unwrap();
            }));
            until(|| began.load(Ordering::Relaxed) == 4);
        });
        assert!(run.is_ok());
        drop(sender);
    });
}

#[test]
fn a_fiber_of_another_size_starts_whatever_the_usual_stacks_do() {
    with_workers(|workers| {
        let sum = fixed(workers).max_stacks(workers + 1).run(|| {
            spawn(|| sleep(Duration::from_millis(1))).join().unwrap().unwrap();
            let big: Vec<_> =
                (0..50).map(|n| Builder::new().stack_size(1 << 20).spawn(move || (yield_now(), n).1)).collect();
            big.into_iter().map(|fiber| fiber.join().unwrap()).sum::<u32>()
        });
        assert_eq!(sum.unwrap(), 49 * 50 / 2);
    });
}

#[test]
fn a_fresh_fiber_behind_threads_that_block_for_it_is_started_on_an_added_worker() {
    guarded(|| {
        for _ in 0..rounds(20) {
            let runtime = sisal::Runtime::builder().workers(2).max_workers(4).build().unwrap();
            let free = Arc::new(AtomicBool::new(false));
            runtime.run(|| {
                let blocks = || {
                    let free = Arc::clone(&free);
                    move || {
                        while !free.load(Ordering::Relaxed) {
                            std::thread::yield_now();
                        }
                    }
                };
                let blocked: Vec<_> = (0..2).map(|_| spawn(blocks())).collect();
                let free = Arc::clone(&free);
                drop(spawn(move || free.store(true, Ordering::Relaxed)));
                // This one blocks its worker too, until the last of the three has run.
                blocks()();
                blocked.into_iter().for_each(|fiber| fiber.join().unwrap());
            });
        }
    });
}

#[test]
fn what_is_spawned_on_a_worker_while_the_runtime_stops_ends_as_cancelled() {
    guarded(|| {
        for _ in 0..rounds(50) {
            let runtime = fixed(2).build().unwrap();
            let handle = runtime.handle().clone();
            runtime.run(move || {
                handle.request_stop();
                for number in 0..20 {
                    let fiber = spawn_on(number % 2, move || number);
                    // It has ended already, or this fiber may not wait for it any more.
                    assert!(fiber.is_finished() || fiber.wait().is_err() || fiber.is_finished());
                }
            });
            assert!(runtime.shutdown(LONG).is_clean());
        }
    });
}

/// Only debug builds look.
#[cfg(debug_assertions)]
#[test]
fn a_wait_that_a_fiber_has_said_it_would_not_make_is_named() {
    const WHICH: &str = "SISAL_TEST_WAIT";
    let forbidden: [(fn(), &str); 3] = [
        (|| sleep(LONG).unwrap(), "was about to wait (asleep) at crates/sisal/tests/corners.rs"),
        (|| sisal::chan::bounded(0).1.recv().unwrap(), "said by the no_park guard at crates/sisal/tests/corners.rs"),
        (|| (0..2).for_each(|_| yield_now()), "was about to give way at crates/sisal/tests/corners.rs"),
    ];
    for (number, (_, saying)) in forbidden.iter().enumerate() {
        let ended = common::child::run_in(&[(WHICH, &number.to_string())], || {
            let number: usize = std::env::var(WHICH).unwrap().parse().unwrap();
            let wait = forbidden[number].0;
            let fiber = move || {
                drop(spawn(|| (0..2).for_each(|_| yield_now())));
                drop(sisal::no_park());
                let (_outer, inner) = (sisal::no_park(), sisal::no_park());
                drop(inner);
                wait();
            };
            fixed(1).run(|| Builder::new().name("stays").spawn(fiber).join()).unwrap().unwrap();
        });
        ended.by_signal(6).saying("sisal: fiber 'stays' (#1), spawned at").saying(saying);
    }
}

#[test]
fn who_waits_when_its_guard_is_gone_or_outside_of_fibers_is_left_alone() {
    in_fiber_of_each(|| {
        let guard = sisal::no_park();
        assert_eq!(sisal::fiber::current().is_some(), sisal::in_fiber());
        drop(guard);
        spawn(|| ()).join().unwrap();
    });
    let _guard = sisal::no_park();
    sisal::sleep(Duration::from_millis(1)).unwrap();
}

#[test]
fn what_a_fiber_has_said_of_itself_is_forgotten_when_it_ends() {
    in_fiber_of_each(|| {
        // Its guard is its outcome, and outlives it.
        let promise = sisal::spawn_local(sisal::no_park);
        while !promise.is_finished() {
            yield_now();
        }
        sleep(Duration::from_millis(1)).unwrap();
        let inner = sisal::no_park();
        drop(promise.join());
        drop(inner);
        sleep(Duration::from_millis(1)).unwrap();
    });
}
