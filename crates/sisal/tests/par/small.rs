//! Loops and sorts that are so short that they are worth an offer to nobody, however idle the others are.

use crate::common::watchdog::guarded;
use crate::common::{background, shut_down, until};
use sisal::inspect::{WorkerState, snapshot};
use sisal::{Handle, par};
use std::hint::black_box;

/// A way to go through numbers.
type Loop = fn(&[u64]);

const LOOPS: [(&str, Loop); 6] = [
    ("for_each", |numbers| par::iter(numbers).for_each(|number| _ = black_box(number + 1))),
    ("for_each in place", |numbers| par::iter(&mut numbers.to_vec()).for_each(|number| *number += 1)),
    ("map", |numbers| {
        let doubled: Vec<u64> = par::iter(numbers).map(|number| 2 * number).collect();
        assert!(doubled.iter().eq(numbers.iter().map(|number| 2 * number).collect::<Vec<_>>().iter()));
    }),
    ("reduce", |numbers| {
        let most = par::iter(numbers.to_vec()).reduce(u64::max);
        assert_eq!(most, numbers.iter().copied().max());
    }),
    ("filter", |numbers| {
        let odd: Vec<&u64> = par::iter(numbers).filter(|number| *number % 2 == 1).collect();
        assert_eq!(odd, numbers.iter().filter(|number| *number % 2 == 1).collect::<Vec<_>>());
    }),
    ("sort_by_cached_key", |numbers| {
        let mut sorted = numbers.to_vec();
        // Its keys are computed by a loop.
        par::sort_by_cached_key(&mut sorted, |number| number / 2);
        assert!(sorted.is_sorted_by_key(|number| number / 2));
    }),
];

const SORTS: [(&str, Loop); 2] = [
    ("sort", |numbers| {
        let mut sorted = numbers.to_vec();
        par::sort(&mut sorted);
        assert!(sorted.is_sorted());
    }),
    ("sort_unstable", |numbers| {
        let mut sorted = numbers.to_vec();
        par::sort_unstable(&mut sorted);
        assert!(sorted.is_sorted());
    }),
];

/// So many numbers, in no order.
fn numbers(count: u64) -> Vec<u64> {
    (0..count).map(|number| number * 7 % 5).collect()
}

/// Waits until all workers but this one sleep for want of something to do.
fn others_sleep() {
    let is_asleep = |worker: &sisal::inspect::WorkerInfo| worker.state == WorkerState::Sleeping;
    until(|| {
        let workers = snapshot().unwrap().workers;
        workers.iter().filter(|worker| is_asleep(worker)).count() == workers.len() - 1
    });
}

/// How many fibers there are more after this, which begins while all others are idle.
fn spawned_by(f: impl FnOnce()) -> u64 {
    let spawned = || Handle::current().unwrap().stats().spawned;
    others_sleep();
    let before = spawned();
    f();
    spawned() - before
}

/// Calls `body` in runtimes with workers that have nothing to do.
fn beside_idle_workers(body: fn()) {
    for workers in [2, 4, 8] {
        let runtime = background(workers);
        runtime.run(body);
        shut_down(runtime);
    }
}

#[test]
fn nothing_and_a_single_item_are_no_work_for_other_fibers() {
    guarded(|| {
        beside_idle_workers(|| {
            for (name, run) in LOOPS {
                for count in [0, 1] {
                    let numbers = numbers(count);
                    assert_eq!(spawned_by(|| run(&numbers)), 0, "{name} of {count}");
                }
            }
        });
    });
}

#[test]
fn sorts_of_few_items_are_no_work_for_other_fibers() {
    guarded(|| {
        beside_idle_workers(|| {
            for (name, run) in SORTS {
                for count in [0, 1, 4, 100] {
                    let numbers = numbers(count);
                    assert_eq!(spawned_by(|| run(&numbers)), 0, "{name} of {count}");
                }
            }
        });
    });
}

/// What is known of a place is forgotten after a while, and then it is offered once more.
#[test]
fn loops_over_a_few_cheap_items_are_soon_offered_to_nobody() {
    const TIMES: u64 = 10_000;
    guarded(|| {
        beside_idle_workers(|| {
            let numbers = numbers(4);
            for (name, run) in LOOPS {
                let spawned = spawned_by(|| (0..TIMES).for_each(|_| run(&numbers)));
                assert!(spawned < TIMES / 4, "{name}: {spawned} fibers for {TIMES} loops");
            }
        });
    });
}
