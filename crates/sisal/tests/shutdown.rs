//! The end of a runtime: what becomes of fibers that are still there, and what is said of those that do not end.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{LONG, background, child, fixed, linux, until, with_workers};
use sisal::{
    Builder, Cause, Handle, JoinError, JoinHandle, RaceError, Runtime, join_any, race, sleep, spawn, spawn_local,
    yield_now,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Not long enough for anything to end by itself.
const SHORT: Duration = Duration::from_millis(20);

fn cancelled<T>(result: Result<T, JoinError>) -> Cause {
    match result {
        Err(JoinError::Cancelled(cancelled)) => cancelled.cause,
        Err(error) => panic!("not cancelled: {error}"),
        Ok(_) => panic!("not cancelled"),
    }
}

/// Holds every worker of a runtime in a fiber that does not give way, until it is dropped.
struct Hold {
    _release: mpsc::Sender<()>,
}

impl Hold {
    fn all(runtime: &Handle) -> Hold {
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let held = Arc::new(AtomicUsize::new(0));
        for worker in 0..runtime.base_workers() {
            let (held, released) = (Arc::clone(&held), Arc::clone(&released));
            drop(runtime.spawn_on(worker, move || {
                held.fetch_add(1, Ordering::Relaxed);
                let _ = released.lock().unwrap().recv();
            }));
        }
        until(|| held.load(Ordering::Relaxed) == runtime.base_workers());
        Hold { _release: release }
    }
}

#[test]
fn fibers_that_were_not_started_end_as_cancelled() {
    with_workers(|workers| {
        let runtime = background(workers);
        let hold = Hold::all(runtime.handle());
        let ran = Arc::new(AtomicBool::new(false));
        let mut fresh: Vec<JoinHandle<()>> = Vec::new();
        for number in 0..100 {
            let ran = Arc::clone(&ran);
            let body = move || ran.store(true, Ordering::Relaxed);
            fresh.push(match number % 3 {
                0 => runtime.spawn(body),
                1 => runtime.handle().spawn_on(number % workers, body),
                _ => runtime.handle().builder().spread().stack_size(1 << 20).spawn(body),
            });
        }
        runtime.request_stop();
        drop(hold);
        let report = runtime.shutdown(LONG);
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.stats.cancelled, 100, "{report}");
        assert!(!ran.load(Ordering::Relaxed));
        fresh.into_iter().for_each(|handle| assert_eq!(cancelled(handle.join()), Cause::Shutdown));
        assert_eq!(Arc::strong_count(&ran), 1, "the closures were dropped");
    });
}

#[test]
fn the_closure_of_a_local_fiber_that_was_not_started_is_dropped_on_its_thread() {
    struct Witness(Rc<Cell<bool>>, thread::ThreadId, Arc<AtomicUsize>);
    impl Drop for Witness {
        fn drop(&mut self) {
            assert_eq!(self.1, thread::current().id());
            self.0.set(true);
            self.2.fetch_add(1, Ordering::Relaxed);
        }
    }
    with_workers(|workers| {
        let dropped = Arc::new(AtomicUsize::new(0));
        fixed(workers)
            .run(|| {
                for _ in 0..10 {
                    let witness = Witness(Rc::new(Cell::new(false)), thread::current().id(), Arc::clone(&dropped));
                    drop(spawn_local(move || drop(witness)));
                }
            })
            .unwrap();
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
    });
}

#[test]
fn waits_that_were_under_way_return_cancelled() {
    with_workers(|workers| {
        let runtime = background(workers);
        let waiting = Arc::new(AtomicUsize::new(0));
        let never = runtime.spawn(|| sleep(LONG)).shared();
        let spawn_waiter = |wait: fn(&sisal::SharedHandle<_>) -> Option<Cause>| {
            let (waiting, never) = (Arc::clone(&waiting), never.clone());
            runtime.spawn(move || {
                waiting.fetch_add(1, Ordering::Relaxed);
                wait(&never)
            })
        };
        let waiters = [
            spawn_waiter(|_| sleep(LONG).err().map(|cancelled| cancelled.cause)),
            spawn_waiter(|_| sisal::sleep_until(Instant::now() + LONG).err().map(|cancelled| cancelled.cause)),
            spawn_waiter(|never| match never.join() {
                Err(JoinError::Interrupted(cancelled)) => Some(cancelled.cause),
                // The sleeper was the first to learn of the end.
                Ok(slept) => slept.err().map(|cancelled| cancelled.cause),
                _ => None,
            }),
            spawn_waiter(|_| match join_any(&mut vec![spawn(|| sleep(LONG)), spawn(|| sleep(LONG))]) {
                Some((_, Err(JoinError::Interrupted(cancelled) | JoinError::Cancelled(cancelled)))) => {
                    Some(cancelled.cause)
                }
                Some((_, Ok(slept))) => slept.err().map(|cancelled| cancelled.cause),
                _ => None,
            }),
            spawn_waiter(|_| match race::<(), ()>(vec![spawn(|| sleep(LONG).map_err(drop))]) {
                Err(RaceError::Interrupted(cancelled)) => Some(cancelled.cause),
                Err(RaceError::AllLost(_)) => Some(Cause::Shutdown),
                _ => None,
            }),
            spawn_waiter(|_| {
                spawn(|| sleep(LONG)).wait().err().map_or(Some(Cause::Shutdown), |cancelled| Some(cancelled.cause))
            }),
        ];
        until(|| waiting.load(Ordering::Relaxed) == waiters.len());
        common::shut_down(runtime);
        for (number, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(waiter.join().unwrap(), Some(Cause::Shutdown), "waiter {number}");
        }
    });
}

#[test]
fn the_end_of_the_main_fiber_is_the_end_of_the_others() {
    with_workers(|workers| {
        let (sleeper, waiter) = fixed(workers)
            .run(|| {
                let started = Arc::new(AtomicUsize::new(0));
                let (first, second) = (Arc::clone(&started), Arc::clone(&started));
                let sleeper = spawn(move || {
                    first.fetch_add(1, Ordering::Relaxed);
                    sleep(LONG)
                });
                let waiter = spawn(move || {
                    second.fetch_add(1, Ordering::Relaxed);
                    (sleep(LONG), sleep(LONG), spawn(|| ()).join().is_err())
                });
                until(|| started.load(Ordering::Relaxed) == 2);
                (sleeper, waiter)
            })
            .unwrap();
        assert!(sleeper.is_finished() && waiter.is_finished());
        assert_eq!(sleeper.join().unwrap().unwrap_err().cause, Cause::Shutdown);
        let (first, again, no_more_fibers) = waiter.join().unwrap();
        assert_eq!(first.unwrap_err().cause, Cause::Shutdown);
        assert_eq!(again.unwrap_err().cause, Cause::Shutdown, "later waits return at once");
        assert!(no_more_fibers, "what is spawned now is not started");
    });
}

#[test]
fn fibers_that_compute_or_yield_are_waited_for() {
    with_workers(|workers| {
        let done = Arc::new(AtomicUsize::new(0));
        fixed(workers)
            .run(|| {
                let started = Arc::new(AtomicUsize::new(0));
                for number in 0..10 {
                    let (done, started) = (Arc::clone(&done), Arc::clone(&started));
                    drop(spawn(move || {
                        started.fetch_add(1, Ordering::Relaxed);
                        for _ in 0..100 * number {
                            yield_now();
                        }
                        (0..100_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
                        done.fetch_add(1, Ordering::Relaxed);
                    }));
                }
                until(|| started.load(Ordering::Relaxed) == 10);
            })
            .unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 10);
    });
}

#[test]
fn a_fiber_may_spawn_and_join_local_work_while_the_runtime_stops_and_gets_an_answer() {
    with_workers(|workers| {
        let (tell, told) = mpsc::channel();
        fixed(workers)
            .run(move || {
                let started = Arc::new(AtomicBool::new(false));
                let flag = Arc::clone(&started);
                drop(spawn(move || {
                    flag.store(true, Ordering::Relaxed);
                    let stop = sleep(LONG).unwrap_err();
                    let children: Vec<_> = (0..10).map(|number| spawn_local(move || number)).collect();
                    let answers = sisal::join_all(children);
                    tell.send((stop, answers.into_iter().filter(Result::is_err).count())).unwrap();
                }));
                until(|| started.load(Ordering::Relaxed));
            })
            .unwrap();
        let (stop, errors) = told.recv().unwrap();
        assert_eq!((stop.cause, errors), (Cause::Shutdown, 10));
    });
}

#[test]
fn a_timeout_names_what_is_left_and_leaves_it_behind() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
        let (open, opened) = mpsc::channel::<()>();
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        let stuck = runtime.handle().builder().name("stubborn").spawn(move || {
            flag.store(true, Ordering::Relaxed);
            opened.recv().unwrap();
            7
        });
        until(|| started.load(Ordering::Relaxed));
        let report = runtime.shutdown(SHORT);
        assert!(!report.is_clean());
        assert_eq!(report.leaked.len() + report.unlisted, 1, "{report:?}");
        assert_eq!(report.leaked[0].name(), Some("stubborn"));
        let text = report.to_string();
        assert!(text.contains("'stubborn'") && text.contains("tests/shutdown.rs"), "{text}");
        // Left behind, it goes on, and may even end.
        open.send(()).unwrap();
        assert_eq!(stuck.join().unwrap(), 7);
    });
    ended.well();
}

#[test]
fn a_timeout_counts_those_behind_a_stuck_fiber() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(1).max_workers(1).build().unwrap();
        let waiting = Arc::new(AtomicUsize::new(0));
        // These ignore the end as long as they can.
        for _ in 0..5 {
            let waiting = Arc::clone(&waiting);
            drop(runtime.spawn(move || {
                waiting.fetch_add(1, Ordering::Relaxed);
                loop {
                    yield_now();
                }
            }));
        }
        until(|| waiting.load(Ordering::Relaxed) == 5);
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        drop(runtime.handle().builder().name("stubborn").spawn(move || {
            flag.store(true, Ordering::Relaxed);
            loop {
                std::hint::spin_loop();
            }
        }));
        until(|| started.load(Ordering::Relaxed));
        let report = runtime.shutdown(SHORT);
        assert_eq!(report.leaked.len() + report.unlisted, 6, "{report:?}");
        assert!(report.leaked.iter().any(|fiber| fiber.name() == Some("stubborn")), "{report}");
    });
    ended.well();
}

#[test]
fn fibers_that_yield_for_ever_are_named_with_what_they_do() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
        let started = Arc::new(AtomicUsize::new(0));
        for number in 0..4 {
            let started = Arc::clone(&started);
            drop(runtime.handle().builder().name(format!("restless {number}")).spawn(move || {
                loop {
                    yield_now();
                    started.fetch_or(1 << number, Ordering::Relaxed);
                }
            }));
        }
        until(|| started.load(Ordering::Relaxed) == 0b1111);
        let report = runtime.shutdown(SHORT);
        let mut names: Vec<_> = report.leaked.iter().map(|fiber| fiber.name().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["restless 0", "restless 1", "restless 2", "restless 3"], "{report}");
        assert_eq!(report.unlisted, 0);
    });
    ended.well();
}

#[test]
fn the_end_of_run_waits_for_its_timeout_and_names_who_is_left_on_other_threads() {
    let ended = child::run(|| {
        let result = fixed(2).shutdown_timeout(SHORT).run(|| {
            let started = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&started);
            let stuck = Builder::new().name("stubborn").spawn_on(1, move || {
                flag.store(true, Ordering::Relaxed);
                loop {
                    std::hint::spin_loop();
                }
            });
            drop::<JoinHandle<()>>(stuck);
            until(|| started.load(Ordering::Relaxed));
            7
        });
        assert_eq!(result.unwrap(), 7);
        println!("run has returned");
    });
    let ended = ended.well().saying("sisal: 1 fibers have not ended").saying("'stubborn'");
    assert!(ended.stdout.contains("run has returned"));
}

#[test]
fn fibers_on_the_calling_thread_are_waited_for_however_long_they_take() {
    guarded(|| {
        let done = Rc::new(Cell::new(false));
        fixed(1)
            .shutdown_timeout(Duration::from_millis(1))
            .run(|| {
                let done = Rc::clone(&done);
                let started = Rc::new(Cell::new(false));
                let flag = Rc::clone(&started);
                drop(spawn_local(move || {
                    flag.set(true);
                    let timeout_is_over = Instant::now() + Duration::from_millis(30);
                    until(|| Instant::now() > timeout_is_over);
                    done.set(true);
                }));
                until(|| started.get());
            })
            .unwrap();
        assert!(done.get());
        assert_eq!(Rc::strong_count(&done), 1);
    });
}

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
fn dropping_a_runtime_with_a_stuck_fiber_says_so_after_its_timeout() {
    let ended = child::run(|| {
        let runtime = fixed(1).shutdown_timeout(SHORT).build().unwrap();
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        drop(runtime.handle().builder().name("stubborn").spawn(move || {
            flag.store(true, Ordering::Relaxed);
            loop {
                std::hint::spin_loop();
            }
        }));
        until(|| started.load(Ordering::Relaxed));
    });
    ended.well().saying("'stubborn'");
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
        common::shut_down(runtime);
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
        common::shut_down(runtime);
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
        common::shut_down(outer);
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
        common::shut_down(runtime);
    });
}

#[test]
fn joins_from_another_runtime_are_not_cancelled_by_the_end_of_the_joined_one() {
    with_workers(|workers| {
        let (left, right) = (background(workers), background(workers));
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        let sleeper = right.spawn(move || {
            flag.store(true, Ordering::Relaxed);
            sleep(LONG)
        });
        let joiner = left.spawn(move || sleeper.join().unwrap());
        until(|| started.load(Ordering::Relaxed));
        common::shut_down(right);
        assert_eq!(joiner.join().unwrap().unwrap_err().cause, Cause::Shutdown, "what the sleeper returned");
        common::shut_down(left);
    });
}

#[test]
fn a_fiber_that_ignores_the_cancel_and_waits_again_is_not_parked_for_ever() {
    with_workers(|workers| {
        let gate = Gate::closed();
        let runtime = background(workers);
        let started = Arc::new(AtomicBool::new(false));
        let (flag, way) = (Arc::clone(&started), gate.way());
        let stubborn = runtime.spawn(move || {
            flag.store(true, Ordering::Relaxed);
            (0..1_000).filter(|_| way.pass().is_err()).count()
        });
        until(|| started.load(Ordering::Relaxed));
        common::shut_down(runtime);
        assert_eq!(stubborn.join().unwrap(), 1_000);
    });
}

#[test]
fn ended_runtimes_have_no_threads() {
    let ended = child::run(|| {
        for workers in common::WORKERS {
            let runtime = Runtime::builder().workers(workers).name("crew").build().unwrap();
            until(|| linux::threads_named("crew") >= workers);
            runtime.run(|| sisal::join_all((0..100).map(|_| spawn(yield_now))));
            common::shut_down(runtime);
            until(|| linux::threads_named("crew") == 0);
        }
    });
    ended.well();
}
