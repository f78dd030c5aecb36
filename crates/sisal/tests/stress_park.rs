//! Storms of parking: yields, sleeps and waits of many fibers, with plenty of stacks and with few.

mod common;

use common::gate::Gate;
use common::{background, fixed, in_main_fiber, rounds, until, watched, with_workers};
use sisal::{Handle, Runtime, join_all, sleep, spawn, yield_now};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_thousand_fibers_yield_a_thousand_times_each() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let count = Arc::new(AtomicUsize::new(0));
            let fibers = (0..1_000).map(|_| {
                let count = Arc::clone(&count);
                spawn(move || {
                    for _ in 0..rounds(1_000) {
                        yield_now();
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            });
            join_all(fibers).into_iter().for_each(Result::unwrap);
            assert_eq!(count.load(Ordering::Relaxed), 1_000 * rounds(1_000));
        });
    });
}

/// Parks so many fibers at a gate, all at the same time, and lets them go.
fn park_and_release(fibers: usize) {
    let gate = Gate::closed();
    let parked = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..fibers)
        .map(|number| {
            let (way, parked) = (gate.way(), Arc::clone(&parked));
            spawn(move || {
                parked.fetch_add(1, Ordering::Relaxed);
                way.pass().unwrap();
                number
            })
        })
        .collect();
    until(|| parked.load(Ordering::Relaxed) == fibers);
    gate.open();
    let sum: usize = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
    assert_eq!(sum, fibers * (fibers - 1) / 2);
}

#[test]
fn three_thousand_fibers_that_all_park_leave_nothing_behind() {
    const FIBERS: usize = 3_000;
    // Each worker has a stack for its loop and keeps a few at hand.
    const AT_HAND: usize = 64;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let runtime = Handle::current().unwrap();
            for round in 1..=3 {
                park_and_release(FIBERS);
                let stats = runtime.stats();
                assert_eq!(stats.spawned, (round * FIBERS) as u64, "{stats}");
                until(|| runtime.stats().finished == stats.spawned);
                until(|| runtime.stats().stacks_in_use <= workers * AT_HAND);
            }
        });
    });
}

#[test]
fn all_parked_fibers_have_a_stack_each_and_no_more() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let gate = Gate::closed();
            let parked = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = (0..500)
                .map(|_| {
                    let (way, parked) = (gate.way(), Arc::clone(&parked));
                    spawn(move || {
                        parked.fetch_add(1, Ordering::Relaxed);
                        way.pass().unwrap();
                    })
                })
                .collect();
            until(|| parked.load(Ordering::Relaxed) == 500);
            let stats = Handle::current().unwrap().stats();
            assert!((500..=500 + workers * 64).contains(&stats.stacks_in_use), "{stats}");
            gate.open();
            join_all(handles).into_iter().for_each(Result::unwrap);
        });
    });
}

/// Where the stack is that this is called on: the address of a local variable.
fn place_on_stack() -> usize {
    let local = 0_u8;
    std::hint::black_box(&raw const local).addr()
}

#[test]
fn a_hundred_thousand_fibers_that_never_park_need_no_stack_but_that_of_the_worker_they_run_on() {
    with_workers(|workers| {
        let runtime = background(workers);
        let places = runtime.run(|| join_all((0..100_000).map(|_| spawn(place_on_stack))));
        let places: HashSet<usize> = places.into_iter().map(Result::unwrap).collect();
        // A worker calls all of them from one place in its loop.
        assert!(places.len() <= workers, "{} stacks", places.len());
        common::shut_down(runtime);
    });
}

#[test]
fn fibers_that_park_all_at_once_are_on_a_stack_each() {
    with_workers(|workers| {
        let runtime = background(workers);
        let gate = Gate::closed();
        let parked = Arc::new(AtomicUsize::new(0));
        let fibers: Vec<_> = (0..1_000)
            .map(|_| {
                let (way, parked) = (gate.way(), Arc::clone(&parked));
                runtime.spawn(move || {
                    let place = place_on_stack();
                    parked.fetch_add(1, Ordering::Relaxed);
                    way.pass().unwrap();
                    assert_eq!(place_on_stack(), place);
                    place
                })
            })
            .collect();
        until(|| parked.load(Ordering::Relaxed) == fibers.len());
        gate.open();
        let places: HashSet<usize> = join_all(fibers).into_iter().map(Result::unwrap).collect();
        assert_eq!(places.len(), 1_000);
        common::shut_down(runtime);
    });
}

#[test]
fn spawning_after_everything_ended_works() {
    with_workers(|workers| {
        let runtime = background(workers);
        for round in 1..=20 {
            let fibers = join_all((0..100).map(|_| runtime.spawn(yield_now)));
            fibers.into_iter().for_each(Result::unwrap);
            assert_eq!(runtime.handle().stats().spawned, round * 100);
            until(|| runtime.handle().stats().finished == round * 100);
        }
        common::shut_down(runtime);
    });
}

#[test]
fn ten_thousand_fibers_that_sleep_twice_end_with_only_sixty_four_stacks() {
    with_workers(|workers| {
        let runtime = watched(fixed(workers).max_stacks(64).build().unwrap());
        let fibers: Vec<_> = (0..rounds(10_000))
            .map(|number| {
                runtime.spawn(move || {
                    sleep(Duration::from_micros(50)).unwrap();
                    sleep(Duration::from_micros(50)).unwrap();
                    number
                })
            })
            .collect();
        let most = fibers.iter().map(|_| runtime.handle().stats().stacks_in_use).max().unwrap();
        assert!(most <= 64, "{most} stacks");
        let sum: usize = fibers.into_iter().map(|fiber| fiber.join().unwrap()).sum();
        assert_eq!(sum, rounds(10_000) * (rounds(10_000) - 1) / 2);
        common::shut_down(runtime);
    });
}

#[test]
fn ten_thousand_fibers_that_yield_twice_end_with_only_sixty_four_stacks() {
    with_workers(|workers| {
        let done = fixed(workers).max_stacks(64).run(|| {
            let fibers = (0..rounds(10_000)).map(|_| {
                spawn(|| {
                    yield_now();
                    yield_now();
                })
            });
            join_all(fibers).into_iter().filter(|fiber| fiber.is_ok()).count()
        });
        assert_eq!(done.unwrap(), rounds(10_000));
    });
}

#[test]
fn with_few_stacks_fibers_that_wait_for_one_another_end_when_there_is_one_for_each_that_waits() {
    with_workers(|workers| {
        // One waits for the other; forty pairs want forty stacks at most, and forty more than the workers' own are there.
        let runtime = watched(fixed(workers).max_stacks(40 + 2 * workers).build().unwrap());
        let batches = rounds(100);
        for _ in 0..batches {
            let pairs = (0..40).map(|_| runtime.spawn(|| spawn(yield_now).join().unwrap()));
            join_all(pairs).into_iter().for_each(Result::unwrap);
        }
        common::shut_down(runtime);
    });
}

#[test]
fn the_smallest_number_of_stacks_is_enough_for_fibers_that_sleep() {
    with_workers(|workers| {
        let runtime = watched(fixed(workers).max_stacks(workers + 1).build().unwrap());
        let fibers = (0..rounds(500)).map(|_| runtime.spawn(|| sleep(Duration::from_micros(10)).unwrap()));
        join_all(fibers).into_iter().for_each(Result::unwrap);
        common::shut_down(runtime);
    });
}

#[test]
fn sleepers_yielders_and_joiners_in_one_crowd_all_end() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let fibers = (0..rounds(20_000) as u64).map(|number| {
                spawn(move || match number % 3 {
                    0 => sleep(Duration::from_micros(number % 2_000)).map(|()| number).unwrap(),
                    1 => {
                        yield_now();
                        number
                    }
                    _ => spawn(move || {
                        yield_now();
                        number
                    })
                    .join()
                    .unwrap(),
                })
            });
            let sum: u64 = join_all(fibers).into_iter().map(Result::unwrap).sum();
            let count = rounds(20_000) as u64;
            assert_eq!(sum, count * (count - 1) / 2);
        });
    });
}

#[test]
fn fibers_of_two_runtimes_wait_for_each_other() {
    with_workers(|workers| {
        let (left, right) = (background(workers), background(workers));
        let other = |mine: &Runtime| mine.handle().clone();
        let fibers: Vec<_> = (0..rounds(2_000))
            .map(|number| {
                let (here, there) = if number % 2 == 0 { (&left, &right) } else { (&right, &left) };
                let there = other(there);
                here.spawn(move || {
                    let far = there.spawn(move || {
                        yield_now();
                        number
                    });
                    far.join().unwrap()
                })
            })
            .collect();
        for (number, fiber) in fibers.into_iter().enumerate() {
            assert_eq!(fiber.join().unwrap(), number);
        }
        common::shut_down(left);
        common::shut_down(right);
    });
}

#[test]
fn fibers_that_all_wait_for_fresh_ones_end_with_only_sixty_four_stacks() {
    with_workers(|workers| {
        let runtime = watched(fixed(workers).max_stacks(64).build().unwrap());
        let parents: Vec<_> = (0..rounds(10_000))
            .map(|number| runtime.spawn(move || spawn(move || number).join().unwrap() + spawn(|| 1).join().unwrap()))
            .collect();
        for (number, parent) in parents.into_iter().enumerate() {
            assert_eq!(parent.join().unwrap(), number + 1);
        }
        common::shut_down(runtime);
    });
}

#[test]
fn fibers_that_use_up_all_stacks_and_then_wait_for_fresh_ones_still_end() {
    with_workers(|workers| {
        let runtime = watched(fixed(workers).max_stacks(64).build().unwrap());
        // All that have started hold a stack, and wait for what could only start on another.
        let parents: Vec<_> = (0..rounds(3_000))
            .map(|number| {
                runtime.spawn(move || {
                    let child = spawn(move || number);
                    yield_now();
                    child.join().unwrap() + spawn(|| 1).join().unwrap()
                })
            })
            .collect();
        for (number, parent) in parents.into_iter().enumerate() {
            assert_eq!(parent.join().unwrap(), number + 1);
        }
        common::shut_down(runtime);
    });
}
