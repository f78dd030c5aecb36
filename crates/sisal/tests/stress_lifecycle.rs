//! Storms of starting and stopping: whatever is spawned, joined or parked meanwhile, every wait ends and nothing is lost.

mod common;

use common::gate::Gate;
use common::{LONG, background, fixed, in_main_fiber, rounds, until, with_workers};
use sisal::{Cause, Handle, JoinError, sleep, spawn, yield_now};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const SPAWNERS: usize = 8;

/// What became of the fibers that the spawners saw.
#[derive(Default)]
struct Tally {
    returned: AtomicUsize,
    cancelled: AtomicUsize,
    /// Counted by the fibers themselves.
    ran: AtomicUsize,
}

/// Spawns through the handle and joins, until the runtime refuses to run what is spawned.
fn spawn_until_the_end(runtime: &Handle, tally: &Arc<Tally>) -> usize {
    let mut spawned = 0;
    loop {
        let ran = Arc::clone(tally);
        let handle = runtime.spawn(move || {
            ran.ran.fetch_add(1, Ordering::Relaxed);
            if spawned % 3 == 0 {
                yield_now();
            }
            spawned
        });
        spawned += 1;
        match handle.join() {
            Ok(number) => {
                assert_eq!(number, spawned - 1);
                tally.returned.fetch_add(1, Ordering::Relaxed);
            }
            Err(JoinError::Cancelled(cancelled)) => {
                assert_eq!(cancelled.cause, Cause::Shutdown);
                tally.cancelled.fetch_add(1, Ordering::Relaxed);
                return spawned;
            }
            Err(error) => panic!("a fiber that neither panics nor waits ended so: {error}"),
        }
    }
}

#[test]
fn spawns_from_eight_threads_while_the_runtime_starts_and_stops_all_end() {
    with_workers(|workers| {
        for round in 0..rounds(200) {
            let tally = Arc::new(Tally::default());
            let runtime = background(workers);
            let spawners: Vec<_> = (0..SPAWNERS)
                .map(|_| {
                    let (handle, tally) = (runtime.handle().clone(), Arc::clone(&tally));
                    thread::spawn(move || spawn_until_the_end(&handle, &tally))
                })
                .collect();
            // Stops anywhere from before the first spawn to some time after it.
            let enough = round % 50;
            until(|| tally.returned.load(Ordering::Relaxed) >= enough);
            let report = runtime.shutdown(LONG);
            assert!(report.is_clean(), "{report}");
            let spawned: usize = spawners.into_iter().map(|spawner| spawner.join().unwrap()).sum();
            let (returned, cancelled) = (&tally.returned, &tally.cancelled).into_counts();
            assert_eq!(returned + cancelled, spawned, "every fiber has ended in one way");
            assert_eq!(returned, tally.ran.load(Ordering::Relaxed), "those that ran, and no others, have returned");
            assert_eq!(cancelled, SPAWNERS, "each thread saw the end once");
        }
    });
}

trait IntoCounts {
    fn into_counts(self) -> (usize, usize);
}

impl IntoCounts for (&AtomicUsize, &AtomicUsize) {
    fn into_counts(self) -> (usize, usize) {
        (self.0.load(Ordering::Relaxed), self.1.load(Ordering::Relaxed))
    }
}

/// The runtime there is at the moment, for threads that go from one to the next.
#[derive(Default)]
struct Current {
    /// How many there have been, and the last one; none at the end.
    last: Mutex<(usize, Option<Handle>)>,
    changed: Condvar,
}

impl Current {
    fn set(&self, runtime: Option<Handle>) {
        let mut last = self.last.lock().unwrap();
        *last = (last.0 + 1, runtime);
        self.changed.notify_all();
    }

    /// Waits for one after the one with the number `seen`.
    fn next(&self, seen: &mut usize) -> Option<Handle> {
        let last = self.changed.wait_while(self.last.lock().unwrap(), |last| last.0 == *seen).unwrap();
        *seen = last.0;
        last.1.clone()
    }
}

#[test]
fn eight_threads_that_outlive_two_hundred_runtimes_see_every_fiber_end() {
    with_workers(|workers| {
        let current = Arc::new(Current::default());
        let tally = Arc::new(Tally::default());
        let spawners: Vec<_> = (0..SPAWNERS)
            .map(|_| {
                let (current, tally) = (Arc::clone(&current), Arc::clone(&tally));
                thread::spawn(move || {
                    let (mut spawned, mut seen) = (0, 0);
                    // By the time it is used, it may be stopping, or may have ended long ago.
                    while let Some(handle) = current.next(&mut seen) {
                        spawned += spawn_until_the_end(&handle, &tally);
                    }
                    spawned
                })
            })
            .collect();
        for round in 0..rounds(200) {
            let runtime = background(workers);
            current.set(Some(runtime.handle().clone()));
            let enough = tally.returned.load(Ordering::Relaxed) + round % 20;
            until(|| tally.returned.load(Ordering::Relaxed) >= enough);
            let report = runtime.shutdown(LONG);
            assert!(report.is_clean(), "{report}");
        }
        current.set(None);
        let spawned: usize = spawners.into_iter().map(|spawner| spawner.join().unwrap()).sum();
        let (returned, cancelled) = (&tally.returned, &tally.cancelled).into_counts();
        assert_eq!(returned + cancelled, spawned);
        assert_eq!(returned, tally.ran.load(Ordering::Relaxed));
    });
}

#[test]
fn threads_that_spawn_at_the_limit_while_the_runtime_stops_all_return() {
    with_workers(|workers| {
        for round in 0..rounds(100) {
            let tally = Arc::new(Tally::default());
            let runtime = common::watched(fixed(workers).max_fibers(3).build().unwrap());
            let spawners: Vec<_> = (0..SPAWNERS)
                .map(|_| {
                    let (handle, tally) = (runtime.handle().clone(), Arc::clone(&tally));
                    thread::spawn(move || spawn_until_the_end(&handle, &tally))
                })
                .collect();
            until(|| tally.returned.load(Ordering::Relaxed) >= round % 20);
            let report = runtime.shutdown(LONG);
            assert!(report.is_clean(), "{report}");
            spawners.into_iter().for_each(|spawner| assert!(spawner.join().unwrap() > 0));
        }
    });
}

#[test]
fn runtimes_that_stop_with_fibers_in_every_state_end_cleanly() {
    with_workers(|workers| {
        for round in 0..rounds(200) {
            let runtime = background(workers);
            let gate = Gate::closed();
            let handles: Vec<_> = (0..100)
                .map(|number| {
                    let way = gate.way();
                    runtime.spawn(move || match number % 5 {
                        0 => assert!(sleep(LONG).is_err()),
                        1 => assert!(way.pass().is_err()),
                        2 => (0..number).for_each(|_| yield_now()),
                        3 => drop(spawn(move || sleep(LONG)).join()),
                        _ => (),
                    })
                })
                .collect();
            let handle = runtime.handle().clone();
            until(|| handle.stats().finished >= round as u64 % 20);
            let report = runtime.shutdown(LONG);
            assert!(report.is_clean(), "{report}");
            for handle in handles {
                assert!(handle.is_finished());
                match handle.join() {
                    Ok(()) | Err(JoinError::Cancelled(_)) => (),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
}

#[test]
fn threads_that_join_while_the_runtime_stops_all_return() {
    with_workers(|workers| {
        for _ in 0..rounds(100) {
            let runtime = background(workers);
            let started = Arc::new(AtomicUsize::new(0));
            let joiners: Vec<_> = (0..SPAWNERS)
                .map(|_| {
                    let started = Arc::clone(&started);
                    let sleeper = runtime.spawn(move || {
                        started.fetch_add(1, Ordering::Relaxed);
                        sleep(LONG)
                    });
                    thread::spawn(move || sleeper.join())
                })
                .collect();
            until(|| started.load(Ordering::Relaxed) == SPAWNERS);
            common::shut_down(runtime);
            for joiner in joiners {
                let slept = joiner.join().unwrap().expect("it was started");
                assert_eq!(slept.unwrap_err().cause, Cause::Shutdown);
            }
        }
    });
}

#[test]
fn main_fibers_that_return_while_others_spawn_end_cleanly() {
    with_workers(|workers| {
        for _ in 0..rounds(200) {
            in_main_fiber(workers, || {
                for _ in 0..4 {
                    drop(spawn(|| {
                        let mut handles = Vec::new();
                        // The end is what stops it, a little later.
                        while sisal::check_cancelled().is_ok() {
                            handles.push(spawn(|| ()));
                            yield_now();
                        }
                        handles.extend((0..10).map(|_| spawn(|| ())));
                        handles.len()
                    }));
                }
                yield_now();
            });
        }
    });
}

#[test]
fn stops_asked_for_by_many_at_once_are_one_stop() {
    with_workers(|workers| {
        for _ in 0..rounds(100) {
            let runtime = background(workers);
            let go = Arc::new(AtomicBool::new(false));
            let stoppers: Vec<_> = (0..4)
                .map(|_| {
                    let (handle, go) = (runtime.handle().clone(), Arc::clone(&go));
                    thread::spawn(move || {
                        until(|| go.load(Ordering::Relaxed));
                        handle.request_stop();
                    })
                })
                .collect();
            let own = runtime.handle().clone();
            let sleeper = runtime.spawn(move || {
                own.request_stop();
                sleep(LONG)
            });
            go.store(true, Ordering::Relaxed);
            stoppers.into_iter().for_each(|stopper| stopper.join().unwrap());
            common::shut_down(runtime);
            match sleeper.join() {
                Ok(slept) => assert_eq!(slept.unwrap_err().cause, Cause::Shutdown),
                Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "{error}"),
            }
        }
    });
}

#[test]
fn many_runtimes_at_once_in_threads_of_their_own_do_not_disturb_each_other() {
    with_workers(|workers| {
        let sums = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..4u64 {
                let sums = &sums;
                scope.spawn(move || {
                    for _ in 0..rounds(50) {
                        let sum = fixed(workers).run(|| {
                            let handles: Vec<_> = (0..50).map(|i| spawn(move || i + number)).collect();
                            handles.into_iter().map(|handle| handle.join().unwrap()).sum::<u64>()
                        });
                        sums.lock().unwrap().push((number, sum.unwrap()));
                    }
                });
            }
        });
        let sums = sums.into_inner().unwrap();
        assert_eq!(sums.len(), 4 * rounds(50));
        assert!(sums.iter().all(|(number, sum)| *sum == 1225 + 50 * number));
    });
}
