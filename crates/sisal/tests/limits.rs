//! `max_fibers`: whoever spawns more waits, a fiber parked, a thread blocked; whoever ends makes room.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{fixed, rounds, until, watched, with_workers};
use sisal::{
    Handle, JoinError, JoinHandle, Runtime, SpawnErrorKind, join_all, sleep, spawn, spawn_local, try_spawn, yield_now,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

fn limited(workers: usize, max_fibers: usize) -> Runtime {
    watched(fixed(workers).max_fibers(max_fibers).build().unwrap())
}

/// Fibers at the gate, for which there has to be room.
fn park_all(runtime: &Runtime, count: usize, gate: &Gate) -> Vec<JoinHandle<()>> {
    let park = |_| {
        let way = gate.way();
        runtime.handle().try_spawn(move || way.pass().unwrap()).unwrap()
    };
    (0..count).map(park).collect()
}

/// Counts those inside, and the most there ever were.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_fiber_that_spawns_at_the_limit_waits_and_all_are_run() {
    with_workers(|workers| {
        let runtime = limited(workers, 8);
        let crowd = Arc::new(Crowd::default());
        let count = rounds(5_000);
        runtime.run(|| {
            for number in 0..count {
                let crowd = Arc::clone(&crowd);
                drop(spawn(move || {
                    crowd.enter();
                    (0..number % 3).for_each(|_| yield_now());
                    crowd.leave();
                }));
            }
        });
        let handle = runtime.handle();
        until(|| handle.stats().finished == count as u64 + 1);
        // The spawner is one of the eight.
        assert!(crowd.most.load(Ordering::Relaxed) <= 7);
        common::shut_down(runtime);
    });
}

#[test]
fn the_main_fiber_counts_too() {
    with_workers(|workers| {
        let crowd = Arc::new(Crowd::default());
        fixed(workers)
            .max_fibers(2)
            .run(|| {
                for _ in 0..rounds(1_000) {
                    let crowd = Arc::clone(&crowd);
                    drop(spawn(move || {
                        crowd.enter();
                        yield_now();
                        crowd.leave();
                    }));
                }
            })
            .unwrap();
        assert_eq!(crowd.most.load(Ordering::Relaxed), 1, "the main fiber and one more are two");
    });
}

#[test]
fn a_thread_that_spawns_at_the_limit_blocks_until_there_is_room() {
    with_workers(|workers| {
        let runtime = limited(workers, 3);
        let gate = Gate::closed();
        let parked = park_all(&runtime, 3, &gate);
        let (asked, got) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (handle, asked, got) = (runtime.handle().clone(), Arc::clone(&asked), Arc::clone(&got));
            thread::spawn(move || {
                asked.store(true, Ordering::Relaxed);
                let fourth = handle.spawn(|| 4);
                got.store(true, Ordering::Relaxed);
                fourth.join().unwrap()
            })
        };
        until(|| asked.load(Ordering::Relaxed));
        for _ in 0..1_000 {
            thread::yield_now();
            assert!(!got.load(Ordering::Relaxed));
        }
        assert_eq!(runtime.handle().stats().spawned, 3);
        gate.open();
        assert_eq!(thread.join().unwrap(), 4);
        join_all(parked).into_iter().for_each(Result::unwrap);
        common::shut_down(runtime);
    });
}

#[test]
fn a_fiber_that_waits_for_room_does_not_hold_its_worker() {
    guarded(|| {
        let runtime = limited(1, 3);
        let order = runtime.run(|| {
            let turns = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&turns);
            let neighbour = spawn(move || {
                while counter.fetch_add(1, Ordering::Relaxed) < 1_000 {
                    yield_now();
                }
            });
            let second = spawn(yield_now);
            // Waits until one of the two has ended, on the only worker there is.
            let third = spawn(|| 3);
            let result = third.join().unwrap();
            second.join().unwrap();
            neighbour.join().unwrap();
            result
        });
        assert_eq!(order, 3);
        common::shut_down(runtime);
    });
}

#[test]
fn try_spawn_at_the_limit_gives_the_closure_back_at_once() {
    with_workers(|workers| {
        let runtime = limited(workers, 3);
        let gate = Gate::closed();
        let parked = park_all(&runtime, 3, &gate);
        let refused = runtime.handle().try_spawn(|| 7).unwrap_err();
        assert_eq!(refused.kind(), SpawnErrorKind::LimitReached { max_fibers: 3 });
        assert!(refused.to_string().contains("3 unfinished fibers, as many as max_fibers allows"), "{refused}");
        assert_eq!(refused.into_inner()(), 7);
        gate.open();
        join_all(parked).into_iter().for_each(Result::unwrap);
        // The place is free a moment after the join, not before.
        until(|| runtime.handle().try_spawn(|| ()).is_ok());
        common::shut_down(runtime);
    });
}

#[test]
fn try_spawn_in_a_fiber_at_the_limit_gives_the_closure_back() {
    with_workers(|workers| {
        let refused = fixed(workers).max_fibers(2).run(|| {
            let gate = Gate::closed();
            let way = gate.way();
            let one = spawn(move || way.pass().unwrap());
            let kind = try_spawn(|| ()).unwrap_err().kind();
            gate.open();
            one.join().unwrap();
            kind
        });
        assert_eq!(refused.unwrap(), SpawnErrorKind::LimitReached { max_fibers: 2 });
    });
}

#[test]
fn every_way_to_end_makes_room() {
    with_workers(|workers| {
        let runtime = limited(workers, 4);
        let handle = runtime.handle().clone();
        for number in 0..rounds(500) {
            drop(match number % 4 {
                0 => handle.spawn(|| ()),
                1 => handle.spawn(|| panic!("on purpose")),
                2 => handle.spawn_on(number % workers, yield_now),
                _ => handle.builder().stack_size(1 << 20).spread().spawn(yield_now),
            });
        }
        until(|| handle.stats().finished == rounds(500) as u64);
        // All four places are there.
        let gate = Gate::closed();
        let four: Vec<_> = (0..4)
            .map(|_| {
                let way = gate.way();
                runtime.spawn(move || way.pass().unwrap())
            })
            .collect();
        gate.open();
        join_all(four).into_iter().for_each(Result::unwrap);
        common::shut_down(runtime);
    });
}

#[test]
fn local_fibers_count_too() {
    with_workers(|workers| {
        fixed(workers)
            .max_fibers(3)
            .run(|| {
                let handle = Handle::current().unwrap();
                for _ in 0..rounds(200) {
                    drop(spawn_local(yield_now));
                    let stats = handle.stats();
                    assert!(stats.spawned - stats.finished <= 2, "{stats}");
                }
            })
            .unwrap();
    });
}

#[test]
fn many_spawners_share_the_room_fairly_enough_that_all_get_done() {
    with_workers(|workers| {
        let runtime = limited(workers, 12);
        let spawners: Vec<_> = (0..8)
            .map(|_| {
                runtime.spawn(|| {
                    for number in 0..rounds(200) {
                        assert_eq!(spawn(move || number).join().unwrap(), number);
                    }
                })
            })
            .collect();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    for number in 0..rounds(200) {
                        assert_eq!(handle.spawn(move || number).join().unwrap(), number);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        join_all(spawners).into_iter().for_each(Result::unwrap);
        common::shut_down(runtime);
    });
}

#[test]
fn whoever_waits_for_room_when_the_runtime_stops_is_let_go() {
    with_workers(|workers| {
        let runtime = limited(workers, 2);
        let asked = Arc::new(AtomicUsize::new(0));
        let in_fiber = {
            let asked = Arc::clone(&asked);
            runtime.spawn(move || {
                let sleeper = spawn(|| sleep(common::LONG));
                asked.fetch_add(1, Ordering::Relaxed);
                // Waits: this fiber and the sleeper are two.
                let late = spawn(|| 7);
                drop(sleeper);
                late.join().is_err()
            })
        };
        until(|| asked.load(Ordering::Relaxed) == 1);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (handle, asked) = (runtime.handle().clone(), Arc::clone(&asked));
                thread::spawn(move || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    handle.spawn(|| 7).join()
                })
            })
            .collect();
        until(|| asked.load(Ordering::Relaxed) == 4);
        let handle = runtime.handle().clone();
        let report = runtime.shutdown(common::LONG);
        assert!(report.is_clean(), "{report}");
        assert!(in_fiber.join().unwrap());
        for thread in threads {
            assert!(matches!(thread.join().unwrap(), Err(JoinError::Cancelled(_))));
        }
        // Not in the report: those who were let go may spawn after it.
        let stats = handle.stats();
        assert_eq!((stats.spawned, stats.workers), (stats.finished, 0), "{stats}");
    });
}

#[test]
fn the_limit_of_one_runtime_is_none_of_another() {
    with_workers(|workers| {
        let (narrow, wide) = (limited(workers, 2), common::background(workers));
        let there = wide.handle().clone();
        let sum: i32 = narrow
            .run(|| join_all((0..50).map(|number| there.spawn(move || number))).into_iter().map(Result::unwrap).sum());
        assert_eq!(sum, 1225);
        let back = narrow.handle().clone();
        let sum: i32 = wide.run(|| (0..50).map(|number| back.spawn(move || number).join().unwrap()).sum());
        assert_eq!(sum, 1225);
        common::shut_down(narrow);
        common::shut_down(wide);
    });
}

#[test]
fn whoever_has_joined_a_fiber_finds_its_place_free_and_its_end_counted() {
    with_workers(|workers| {
        let runtime = limited(workers, 2);
        for round in 1..=rounds(2_000) {
            let fibers = [(); 2].map(|()| runtime.handle().try_spawn(yield_now).unwrap());
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            assert_eq!(runtime.handle().stats().finished, 2 * round as u64);
        }
        let report = runtime.shutdown(std::time::Duration::ZERO);
        assert!(report.is_clean(), "{report}");
    });
}
