//! Calls that block: on threads of their own, where they stall nobody, and right on a worker.
#![allow(unsafe_code, reason = "a sleep of the C library is called")]

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{background, child, fixed, in_fiber_of_each, linux, shut_down, until, watched};
use sisal::{Runtime, block_in_place, blocking, in_fiber, join_all, sleep, spawn, timeout, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_call_returns_its_value_from_another_thread() {
    in_fiber_of_each(|| {
        let here = thread::current().id();
        let (there, inside) = blocking(|| (thread::current().id(), in_fiber()));
        assert_ne!(there, here);
        assert!(!inside, "it sees itself as a plain thread");
        assert_eq!(thread::current().id(), here);
    });
}

#[test]
fn a_call_may_borrow_from_its_caller() {
    in_fiber_of_each(|| {
        let mut numbers = vec![3, 1, 2];
        let text = String::from("text");
        let length = blocking(|| {
            numbers.sort_unstable();
            text.len()
        });
        assert_eq!((numbers.as_slice(), length), ([1, 2, 3].as_slice(), 4));
    });
}

#[test]
fn a_panic_comes_back_to_the_caller() {
    in_fiber_of_each(|| {
        let caught = catch_unwind(AssertUnwindSafe(|| blocking(|| -> u32 { std::panic::panic_any(7_u64) })));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&7_u64));
        assert_eq!(blocking(|| 8), 8, "the thread is still good");
    });
}

#[test]
fn outside_of_fibers_a_call_is_made_right_here() {
    guarded(|| {
        let here = thread::current().id();
        assert_eq!(blocking(|| thread::current().id()), here);
        assert_eq!(block_in_place(|| thread::current().id()), here);
        assert!(catch_unwind(|| blocking(|| panic!("on purpose"))).is_err());
    });
}

#[test]
fn a_call_inside_a_call_is_made_on_the_same_thread() {
    in_fiber_of_each(|| {
        let (outer, inner) = blocking(|| (thread::current().id(), blocking(|| thread::current().id())));
        assert_eq!(outer, inner);
    });
}

/// Blocks its thread, in the C library, of whose sleep nobody else knows.
fn sleep_as_c_does(micros: libc::useconds_t) {
    // SAFETY: it takes a number. What it returns says at most that a signal has ended it early.
    unsafe { libc::usleep(micros) };
}

/// While a hundred calls sleep, all at once, and none of them ends, a ticker on the only worker has a hundred turns.
#[test]
fn a_hundred_calls_that_block_stall_nobody() {
    const CALLS: usize = 100;
    const TICKS: usize = 100;
    guarded(|| {
        let runtime = background(1);
        let (asleep, ticks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let fibers = (0..CALLS).map(|_| {
            let (asleep, ticks) = (Arc::clone(&asleep), Arc::clone(&ticks));
            runtime.spawn(move || {
                blocking(|| {
                    asleep.fetch_add(1, Ordering::Relaxed);
                    while ticks.load(Ordering::Relaxed) < TICKS {
                        sleep_as_c_does(1_000);
                    }
                });
            })
        });
        let fibers: Vec<_> = fibers.collect();
        runtime.run(|| {
            until(|| asleep.load(Ordering::Relaxed) == CALLS);
            for _ in 0..TICKS {
                sleep(Duration::from_micros(10)).unwrap();
                ticks.fetch_add(1, Ordering::Relaxed);
            }
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
        shut_down(runtime);
    });
}

#[test]
fn with_one_thread_calls_wait_in_line() {
    guarded(|| {
        let runtime = watched(fixed(2).max_blocking_threads(1).name("line").build().unwrap());
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let fibers = (0..50).map(|number| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            runtime.spawn(move || {
                blocking(|| {
                    most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::Relaxed);
                    number
                })
            })
        });
        let sum: i32 = join_all(fibers).into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, 1_225);
        assert_eq!(most.load(Ordering::Relaxed), 1);
        assert_eq!(linux::threads_named("line-blocking-1"), 1);
        assert_eq!(linux::threads_named("line-blocking-2"), 0);
        shut_down(runtime);
        // Its threads end with the runtime. The kernel may list them for a moment longer.
        until(|| linux::threads_named("line-blocking-1") == 0);
    });
}

#[test]
fn who_waits_in_line_is_served_in_order() {
    guarded(|| {
        let runtime = watched(fixed(1).max_blocking_threads(1).build().unwrap());
        let order = runtime.run(|| {
            let (release, held) = mpsc::channel::<()>();
            let order = Arc::new(Mutex::new(Vec::new()));
            let first = spawn(move || blocking(move || held.recv().unwrap()));
            yield_now();
            let others: Vec<_> = (0..20)
                .map(|number| {
                    let order = Arc::clone(&order);
                    let fiber = spawn(move || blocking(|| order.lock().unwrap().push(number)));
                    // It stands in the line before the next one starts.
                    yield_now();
                    fiber
                })
                .collect();
            release.send(()).unwrap();
            first.join().unwrap();
            join_all(others).into_iter().for_each(Result::unwrap);
            Arc::into_inner(order).unwrap().into_inner().unwrap()
        });
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(order.len(), 20);
        shut_down(runtime);
    });
}

#[test]
fn calls_that_wait_are_done_also_when_the_runtime_stops() {
    guarded(|| {
        let runtime = watched(fixed(2).max_blocking_threads(2).build().unwrap());
        let done = Arc::new(AtomicUsize::new(0));
        let gate = Gate::closed();
        let started = Arc::new(AtomicUsize::new(0));
        for _ in 0..20 {
            let (done, gate, started) = (Arc::clone(&done), gate.way(), Arc::clone(&started));
            drop(runtime.spawn(move || {
                started.fetch_add(1, Ordering::Relaxed);
                blocking(|| {
                    gate.pass().unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }));
        }
        until(|| started.load(Ordering::Relaxed) == 20);
        runtime.request_stop();
        assert_eq!(done.load(Ordering::Relaxed), 0);
        gate.open();
        shut_down(runtime);
        assert_eq!(done.load(Ordering::Relaxed), 20);
    });
}

#[test]
fn a_call_is_not_ended_by_a_timeout_around_it() {
    in_fiber_of_each(|| {
        let time = Duration::from_millis(1);
        let ended = timeout(time, || {
            let time_is_over = Instant::now() + time;
            let value = blocking(|| {
                until(|| Instant::now() > time_is_over);
                7
            });
            (value, sleep(Duration::from_secs(600)))
        });
        let (value, slept) = ended;
        assert_eq!(value, 7);
        assert!(slept.is_err(), "what comes after it is");
    });
}

#[test]
fn calls_come_from_fibers_and_threads_at_once() {
    guarded(|| {
        let runtime = background(2);
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        runtime.run(|| blocking(|| total.fetch_add(1, Ordering::Relaxed)));
                        blocking(|| total.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 400);
        shut_down(runtime);
    });
}

#[test]
fn a_call_may_use_fibers_of_its_own_runtime() {
    guarded(|| {
        let runtime = background(1);
        let handle = runtime.handle().clone();
        let value = runtime.run(|| {
            let here = Cell::new(1);
            here.set(blocking(|| handle.spawn(|| blocking(|| 20) + 1).join().unwrap() * 2));
            here.get()
        });
        assert_eq!(value, 42);
        shut_down(runtime);
    });
}

/// The system refuses all threads: the calls are made on the worker.
#[test]
fn without_any_thread_calls_are_made_right_here() {
    let ended = child::run(|| {
        let runtime = fixed(1).build().unwrap();
        let value = runtime.run(|| {
            // Of memory, since root may have as many threads as it likes: enough for what is allocated, too little for a stack of 2 MiB.
            let limit = Some(linux::mapped() as u64 + (1 << 20));
            let no_more = rustix::process::Rlimit { current: limit, maximum: limit };
            rustix::process::setrlimit(rustix::process::Resource::As, no_more).unwrap();
            let here = thread::current().id();
            blocking(|| thread::current().id() == here)
        });
        assert!(value);
        shut_down(runtime);
    });
    ended.well();
}

#[test]
fn a_fiber_that_blocks_in_place_leaves_what_is_fresh_to_others() {
    guarded(|| {
        let runtime = watched(Runtime::builder().workers(1).max_workers(4).build().unwrap());
        runtime.run(|| {
            let (tell, told) = mpsc::channel();
            let fresh: Vec<_> = (0..10)
                .map(|number| {
                    let tell = tell.clone();
                    spawn(move || tell.send(number).unwrap())
                })
                .collect();
            // Nobody here runs them: this never yields.
            let ran = block_in_place(|| told.iter().take(10).count());
            assert_eq!(ran, 10);
            join_all(fresh).into_iter().for_each(|fiber| assert!(fiber.is_ok()));
        });
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_that_blocks_in_place_may_also_wait_and_panic() {
    in_fiber_of_each(|| {
        let other = Arc::new(AtomicBool::new(false));
        let fiber = spawn({
            let other = Arc::clone(&other);
            move || other.store(true, Ordering::Relaxed)
        });
        block_in_place(|| fiber.join().unwrap());
        assert!(other.load(Ordering::Relaxed));
        assert!(catch_unwind(|| block_in_place(|| panic!("on purpose"))).is_err());
        assert_eq!(block_in_place(|| block_in_place(|| 7)), 7);
    });
}

#[test]
fn where_all_stacks_are_held_a_worker_is_added_for_what_a_blocked_one_waits_for() {
    guarded(|| {
        let (sender, receiver) = mpsc::channel();
        let run = Runtime::builder().workers(1).max_workers(2).max_stacks(3).run(|| {
            let (_open, gate) = sisal::chan::bounded::<()>(1);
            let began = Arc::new(AtomicUsize::new(0));
            let parked = [(); 3].map(|()| {
                let (begins, gate) = (Arc::clone(&began), gate.clone());
                spawn(move || {
                    begins.fetch_add(1, Ordering::Relaxed);
                    gate.recv()
                })
            });
            while began.load(Ordering::Relaxed) < 3 {
                yield_now();
            }
            let fresh = spawn(move || sender.send(7).unwrap());
            assert_eq!(block_in_place(|| receiver.recv()), Ok(7));
            fresh.join().unwrap();
            parked.iter().for_each(|fiber| fiber.cancel());
        });
        run.unwrap();
    });
}
