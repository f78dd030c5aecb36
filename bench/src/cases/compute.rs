//! Cases of tasks that compute: forks, loops, sorts, and what such work does to whoever shares the workers.
//!
//! | case | what is asked of sisal, as the ratios have it |
//! |---|---|
//! | `tree-10`, `tree-15`, `tree-20` | at most 1.00 |
//! | `tree-20-1w` | at most 1.00 |
//! | `fib-35` | at most 1.00 |
//! | `sum-10m`, `sum-100m` | at most 1.00; no slower than threads |
//! | `sort-10m` | at most 1.00 |
//! | `starve` | at most 1.00 |
//! | `mixed` | at most 1.00 |
//! | `idle-burst`, `trickle` | at most 0.25 |
//!
//! Forks are from inside: whoever forks is a fiber of sisal, or runs on a worker of rayon. chili's forks are made by
//! the thread that has its scope, which is one of its workers.

use std::time::Duration;

use super::{Case, FEW_ROUNDS, WORKERS};
use crate::work::{Fib, IdleBurst, Mixed, Sort, Starve, Sum, Tree, Trickle, Work};

/// Those that nothing is asked about where rayon's idling is what sisal's is set against.
const BESIDE_RAYON: &[&str] = &["tokio", "smol", "may", "go"];

const fn tree(depth: usize, repeats: usize, workers: usize) -> Work {
    Work::Tree(Tree { depth, repeats, workers })
}

const fn fib(n: usize) -> Work {
    Work::Fib(Fib { n, workers: WORKERS })
}

const fn sum(items: usize, repeats: usize) -> Work {
    Work::Sum(Sum { items, repeats, workers: WORKERS })
}

const fn sort(items: usize) -> Work {
    Work::Sort(Sort { items, workers: WORKERS })
}

/// Workers for all hogs of a round and those that wait, where they can be added.
const fn starve(rounds: usize) -> Work {
    Work::Starve(Starve { hogs: 4, each: 200, rounds, workers: WORKERS, max_workers: 6 })
}

const fn mixed(repeats: usize) -> Work {
    Work::Mixed(Mixed { tasks: 1_000, repeats, workers: WORKERS })
}

const fn idle_burst(seconds: u64) -> Work {
    Work::IdleBurst(IdleBurst { tasks: 10_000, span: Duration::from_secs(seconds), workers: WORKERS })
}

const fn trickle(seconds: u64) -> Work {
    Work::Trickle(Trickle { span: Duration::from_secs(seconds), workers: WORKERS })
}

/// CPU time and nothing else.
const fn idling(name: &'static str, about: &'static str, work: [Work; 2]) -> Case {
    Case { cpu_unit: "ms", references: BESIDE_RAYON, rounds: FEW_ROUNDS, ..Case::new(name, about, "ms of CPU", work) }
}

/// The full size, then the quick one.
pub(super) static CASES: &[Case] = &[
    Case::new(
        "tree-10",
        "a tree of 2,047 nodes summed with a fork at every node",
        "ns per fork",
        [tree(10, 20_000, WORKERS), tree(10, 5_000, WORKERS)],
    ),
    Case::new("tree-15", "the same of 65,535 nodes", "ns per fork", [tree(15, 1_000, WORKERS), tree(15, 200, WORKERS)]),
    Case::new("tree-20", "the same of 2,097,151 nodes", "ns per fork", [tree(20, 50, WORKERS), tree(20, 10, WORKERS)]),
    Case::new("tree-20-1w", "the same on 1 worker", "ns per fork", [tree(20, 50, 1), tree(20, 10, 1)]),
    Case::new("fib-35", "fib(35) with a fork at every call", "ms", [fib(35), fib(35)]),
    Case {
        against: &["threads"],
        ..Case::new("sum-10m", "the sum of 10M numbers of 8 bytes", "ms", [sum(10_000_000, 100), sum(10_000_000, 20)])
    },
    Case {
        against: &["threads"],
        ..Case::new("sum-100m", "the sum of 100M numbers of 8 bytes", "ms", [sum(100_000_000, 10), sum(100_000_000, 3)])
    },
    Case::new(
        "sort-10m",
        "10M numbers of 8 bytes put in order, equal ones in any",
        "ms",
        [sort(10_000_000), sort(2_000_000)],
    ),
    Case {
        cpu_unit: "ms per round",
        extras: &[("p50", "late p50 ms"), ("max", "late max ms"), ("ticks", "ticks"), ("round", "ms per round")],
        ..Case::new(
            "starve",
            "a tick of 1 ms while 4 tasks compute 200 ms each and let nobody in, from the second time on; late, p99",
            "ms",
            [starve(6), starve(3)],
        )
    },
    Case {
        references: &["smol"],
        ..Case::new("mixed", "1,000 tasks of 10 us to 10 ms, as Pareto has it", "ns per task", [mixed(20), mixed(10)])
    },
    idling("idle-burst", "CPU time in the 10 s after 10,000 tasks of 10 us", [idle_burst(10), idle_burst(2)]),
    idling("trickle", "CPU time while an outside thread spawns a task every ms for 10 s", [trickle(10), trickle(2)]),
];
