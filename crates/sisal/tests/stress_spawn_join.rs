//! Storms of spawning and joining: every fiber runs exactly once, every result arrives, whatever the number of workers.

mod common;

use common::gate::Gate;
use common::{in_main_fiber, rounds, with_workers};
use sisal::{SharedHandle, join_all, join_any, spawn, spawn_local, spawn_on, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

#[test]
fn fifty_thousand_fibers_one_at_a_time_all_come_back() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for i in 0..rounds(50_000) {
                assert_eq!(spawn(move || i).join().unwrap(), i);
            }
        });
    });
}

#[test]
fn a_million_fibers_spawned_at_once_add_up() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let count = rounds(1_000_000) as u64;
            let handles: Vec<_> = (0..count).map(|i| spawn(move || i)).collect();
            let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
            assert_eq!(sum, count * (count - 1) / 2);
        });
    });
}

#[test]
fn of_two_thousand_tasks_in_two_hundred_rounds_each_runs_exactly_once() {
    const TASKS: usize = 2_000;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let runs: Arc<[AtomicU32]> = (0..TASKS).map(|_| AtomicU32::new(0)).collect();
            let rounds = rounds(200);
            for round in 0..rounds {
                let tasks = (0..TASKS).map(|task| {
                    let runs = Arc::clone(&runs);
                    spawn(move || runs[task].fetch_add(1, Ordering::Relaxed) as usize)
                });
                let tasks: Vec<_> = tasks.collect();
                for task in tasks {
                    assert_eq!(task.join().unwrap(), round, "runs of a task before this one");
                }
            }
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) as usize == rounds));
        });
    });
}

#[test]
fn of_tasks_that_yield_each_still_runs_exactly_once() {
    const TASKS: usize = 500;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let runs: Arc<[AtomicU32]> = (0..TASKS).map(|_| AtomicU32::new(0)).collect();
            let rounds = rounds(100);
            for _ in 0..rounds {
                let tasks = (0..TASKS).map(|task| {
                    let runs = Arc::clone(&runs);
                    spawn(move || {
                        (0..task % 4).for_each(|_| yield_now());
                        runs[task].fetch_add(1, Ordering::Relaxed);
                    })
                });
                join_all(tasks).into_iter().for_each(Result::unwrap);
            }
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) as usize == rounds));
        });
    });
}

/// Ten fibers, which join before, while and after the fiber ends.
fn ten_joiners(of: &SharedHandle<u64>) -> Vec<sisal::JoinHandle<u64>> {
    let joiner = |number: u32| {
        let handle = of.clone();
        spawn(move || {
            (0..number % 3).for_each(|_| yield_now());
            handle.join().unwrap()
        })
    };
    (0..10).map(joiner).collect()
}

#[test]
fn ten_joiners_of_each_of_five_hundred_fibers_all_get_its_result() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(500) as u64 {
                let handle = spawn(move || {
                    (0..round % 5).for_each(|_| yield_now());
                    round
                });
                let handle = handle.shared();
                for joiner in ten_joiners(&handle) {
                    assert_eq!(joiner.join().unwrap(), round);
                }
                assert_eq!(handle.join().unwrap(), round, "the result is still there");
            }
        });
    });
}

#[test]
fn fibers_and_threads_join_the_same_fiber_together() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(100) as u64 {
                let gate = (round % 10 == 0).then(Gate::closed);
                let way = gate.as_ref().map(Gate::way);
                let handle = spawn(move || {
                    if let Some(way) = way {
                        way.pass().unwrap();
                    }
                    round
                });
                let handle = handle.shared();
                let threads: Vec<_> = (0..2).map(|_| handle.clone()).collect();
                let threads: Vec<_> = threads.into_iter().map(|h| thread::spawn(move || h.join().unwrap())).collect();
                let fibers = ten_joiners(&handle);
                gate.iter().for_each(Gate::open);
                for fiber in fibers {
                    assert_eq!(fiber.join().unwrap(), round);
                }
                for thread in threads {
                    assert_eq!(thread.join().unwrap(), round);
                }
            }
        });
    });
}

/// A chain of fibers, each of which joins the next.
fn chain(depth: u64) -> u64 {
    match depth {
        0 => 0,
        _ => 1 + spawn(move || chain(depth - 1)).join().unwrap(),
    }
}

#[test]
fn four_hundred_join_chains_of_depth_thirty_two_all_end() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let chains = join_all((0..rounds(400)).map(|_| spawn(|| chain(32))));
            assert!(chains.into_iter().all(|length| length.unwrap() == 32));
            // And one after the other.
            for _ in 0..rounds(400) {
                assert_eq!(chain(32), 32);
            }
        });
    });
}

#[test]
fn a_fan_out_of_three_hundred_adds_up_a_hundred_times() {
    const WIDTH: u64 = 300;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(100) as u64 {
                let sum = Arc::new(AtomicU64::new(0));
                let branches: Vec<_> = (0..WIDTH)
                    .map(|branch| {
                        let sum = Arc::clone(&sum);
                        spawn(move || {
                            if branch % 3 == 0 {
                                yield_now();
                            }
                            sum.fetch_add(branch + round, Ordering::Relaxed);
                            branch * round
                        })
                    })
                    .collect();
                let products: u64 = branches.into_iter().map(|branch| branch.join().unwrap()).sum();
                let indices = WIDTH * (WIDTH - 1) / 2;
                assert_eq!(products, indices * round);
                assert_eq!(sum.load(Ordering::Relaxed), indices + WIDTH * round);
            }
        });
    });
}

/// Every fiber spawns `width` more, down to `depth`: the number of leaves.
fn tree(depth: u32, width: u64) -> u64 {
    if depth == 0 {
        return 1;
    }
    let children: Vec<_> = (0..width).map(|_| spawn(move || tree(depth - 1, width))).collect();
    children.into_iter().map(|child| child.join().unwrap()).sum()
}

#[test]
fn a_tree_of_fibers_has_all_its_leaves() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let depth = if cfg!(debug_assertions) { 3 } else { 4 };
            assert_eq!(tree(depth, 10), 10u64.pow(depth));
        });
    });
}

#[test]
fn join_any_gives_each_of_many_fibers_exactly_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(50) {
                let mut handles: Vec<_> = (0..50u32)
                    .map(|number| {
                        spawn(move || {
                            (0..number * 7 % 5).for_each(|_| yield_now());
                            number
                        })
                    })
                    .collect();
                let mut seen = [0; 50];
                while let Some((_, number)) = join_any(&mut handles) {
                    seen[number.unwrap() as usize] += 1;
                }
                assert_eq!(seen, [1; 50]);
            }
        });
    });
}

#[test]
fn pinned_local_and_free_fibers_mixed_all_come_back() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(200) {
                let handles = (0..100).map(|i| match i % 4 {
                    0 => spawn_on(i % workers, move || i + round),
                    1 => spawn_local(move || i + round),
                    2 => sisal::Builder::new().spread().spawn(move || i + round),
                    _ => spawn(move || {
                        yield_now();
                        i + round
                    }),
                });
                let sum: usize = join_all(handles).into_iter().map(Result::unwrap).sum();
                assert_eq!(sum, 4950 + 100 * round);
            }
        });
    });
}

#[test]
fn handles_dropped_at_any_moment_leak_no_result() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let alive = Arc::new(());
            for i in 0..rounds(20_000) {
                let result = Arc::clone(&alive);
                let handle = spawn(move || {
                    if i % 5 == 0 {
                        yield_now();
                    }
                    result
                });
                match i % 3 {
                    0 => drop(handle),
                    1 => drop(spawn(move || handle)),
                    _ => {
                        yield_now();
                        drop(handle);
                    }
                }
            }
            common::until(|| Arc::strong_count(&alive) == 1);
        });
    });
}
