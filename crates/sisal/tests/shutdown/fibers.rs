//! What becomes of fibers that are still there.

use crate::cancelled;
use crate::common::gate::Gate;
use crate::common::{LONG, background, fixed, shut_down, until, with_workers};
use sisal::{Cause, Handle, JoinError, JoinHandle, RaceError, join_any, race, sleep, spawn, spawn_local, yield_now};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Instant;

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
        let sleeps = Arc::clone(&waiting);
        let never = runtime.spawn(move || {
            sleeps.fetch_add(1, Ordering::Relaxed);
            sleep(LONG)
        });
        let never = never.shared();
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
        // With the sleeper, which would not be started any more, and then not sleep.
        until(|| waiting.load(Ordering::Relaxed) == waiters.len() + 1);
        shut_down(runtime);
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
        shut_down(right);
        assert_eq!(joiner.join().unwrap().unwrap_err().cause, Cause::Shutdown, "what the sleeper returned");
        shut_down(left);
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
        shut_down(runtime);
        assert_eq!(stubborn.join().unwrap(), 1_000);
    });
}
