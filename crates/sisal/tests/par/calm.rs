//! Who forks and has nothing to expect need not look around: until something comes. In each of these somebody forks until it has come.

use crate::common::watchdog::guarded;
use crate::common::{background, in_main_fiber, shut_down, until};
use sisal::par::join;
use sisal::{Builder, JoinError, chan, sleep, spawn, spawn_local, timeout, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// So many forks are more than there are between two looks, so that it is calm when they are done.
const MANY: usize = 100_000;

/// Forks again and again, each fork at another depth, until `end` says so.
fn fork_until(end: &(dyn Fn() -> bool + Sync)) {
    fn fork(depth: usize) {
        if depth > 0 {
            join(|| fork(depth - 1), || ());
        }
    }
    while !end() {
        fork(10);
    }
}

/// Forks until it is calm, if it can be.
fn fork_much() {
    let left = AtomicUsize::new(MANY / 10);
    fork_until(&|| left.fetch_sub(1, Ordering::Relaxed) == 1);
}

#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);

impl Flag {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Both workers are busy; when one is no longer, it gets a half of what the other computes.
#[test]
fn one_who_becomes_idle_gets_jobs() {
    guarded(|| {
        let runtime = background(2);
        for _ in 0..20 {
            let (busy, enough) = (Flag::default(), Flag::default());
            let hog = {
                let (busy, enough) = (busy.clone(), enough.clone());
                runtime.handle().spawn_on(0, move || {
                    busy.set();
                    while !enough.is_set() {
                        std::hint::spin_loop();
                    }
                })
            };
            until(|| busy.is_set());
            let forker = runtime.handle().spawn_on(1, move || {
                fork_much();
                enough.set();
                let here = thread::current().id();
                let elsewhere = AtomicBool::new(false);
                fn spread(depth: usize, here: thread::ThreadId, elsewhere: &AtomicBool) {
                    if thread::current().id() != here {
                        elsewhere.store(true, Ordering::Relaxed);
                    }
                    if depth > 0 {
                        join(|| spread(depth - 1, here, elsewhere), || spread(depth - 1, here, elsewhere));
                    }
                }
                while !elsewhere.load(Ordering::Relaxed) {
                    spread(12, here, &elsewhere);
                }
            });
            forker.join().unwrap();
            hog.join().unwrap();
        }
        shut_down(runtime);
    });
}

/// What is spawned onto the worker of one who forks starts, wherever it is spawned.
#[test]
fn what_must_start_here_starts() {
    in_main_fiber(1, || {
        fork_much();
        let started = Flag::default();
        let flag = started.clone();
        let fiber = spawn_local(move || flag.set());
        fork_until(&|| started.is_set());
        fiber.join().unwrap();
    });
    guarded(|| {
        let runtime = background(1);
        let (calm, started) = (Flag::default(), Flag::default());
        let forker = {
            let (calm, started) = (calm.clone(), started.clone());
            runtime.spawn(move || {
                fork_much();
                calm.set();
                fork_until(&|| started.is_set());
            })
        };
        until(|| calm.is_set());
        let flag = started.clone();
        runtime.handle().spawn_on(0, move || flag.set()).join().unwrap();
        forker.join().unwrap();
        shut_down(runtime);
    });
}

/// One who has waited here gets its turn when its time has come, or when it is sent something, though another forks meanwhile.
#[test]
fn one_who_waits_here_goes_on() {
    in_main_fiber(1, || {
        for _ in 0..10 {
            fork_much();
            let (sender, receiver) = chan::bounded::<()>(0);
            let (waits, slept, received) = (Flag::default(), Flag::default(), Flag::default());
            let flag = slept.clone();
            let sleeper = spawn(move || {
                sleep(Duration::from_millis(1)).unwrap();
                flag.set();
            });
            let (flag, done) = (waits.clone(), received.clone());
            let waiter = spawn(move || {
                flag.set();
                receiver.recv().unwrap_err();
                done.set();
            });
            until(|| waits.is_set());
            yield_now();
            let outside = thread::spawn(move || drop(sender));
            fork_until(&|| slept.is_set() && received.is_set());
            outside.join().unwrap();
            sleeper.join().unwrap();
            waiter.join().unwrap();
        }
    });
}

/// The first fiber has been calm, and waits; a second forks on the same worker until the first has gone on.
#[test]
fn one_who_was_calm_and_waits_goes_on_beside_another_who_forks() {
    in_main_fiber(1, || {
        let woken = Flag::default();
        let flag = woken.clone();
        let first = spawn(move || {
            // Lives here from now on.
            sleep(Duration::from_millis(1)).unwrap();
            fork_much();
            let second = spawn(move || fork_until(&|| flag.is_set()));
            sleep(Duration::from_millis(2)).unwrap();
            woken.set();
            second.join().unwrap();
        });
        first.join().unwrap();
    });
}

/// A time limit, and a request to end, reach what others run for one who forks.
#[test]
fn the_end_of_its_time_and_a_request_reach_halves_elsewhere() {
    in_main_fiber(2, || {
        let ended = Flag::default();
        timeout(Duration::from_millis(5), || {
            fork_much();
            join(
                || fork_until(&|| ended.is_set()),
                || {
                    assert!(sleep(Duration::from_secs(3_600)).is_err());
                    ended.set();
                },
            );
        });
        assert!(ended.is_set());
        for _ in 0..20 {
            let ((waits, told), ended) = (chan::bounded(1), Flag::default());
            let forker = Builder::new().name("forker").spawn(move || {
                join(
                    || fork_until(&|| ended.is_set()),
                    || {
                        waits.send(()).unwrap();
                        assert!(sleep(Duration::from_secs(3_600)).is_err());
                        ended.set();
                    },
                );
            });
            // Waits itself, so that its worker takes the other half if nobody else does.
            told.recv().unwrap();
            forker.cancel();
            assert!(matches!(forker.join(), Ok(()) | Err(JoinError::Cancelled(_))));
        }
    });
}
