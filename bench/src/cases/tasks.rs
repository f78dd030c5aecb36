//! Cases of tasks by themselves: to spawn, to yield, to park, to sleep, to be woken.

use std::time::Duration;

use super::{Case, FEW_ROUNDS, Judged, WORKERS};
use crate::work::{Batches, Idle, Parked, Skynet, Sleepers, Submissions, Work, Yields};

/// How many of the asked tasks a contestant could stand.
const TASKS: (&str, &str) = ("tasks", "tasks");
/// A task without a stack is no fiber: its row shows what the stack costs.
const STACKLESS: &[&str] = &["tokio", "smol"];
/// Lateness of a sleep, measured by the sleeper.
const LATENESS: &[(&str, &str)] = &[("p50", "late p50 ms"), ("p99", "late p99 ms")];

const fn spawn(tasks: usize, batch: usize) -> Work {
    Work::Spawn(Batches { tasks, batch, workers: WORKERS })
}

const fn nursery(tasks: usize, batch: usize) -> Work {
    Work::Nursery(Batches { tasks, batch, workers: WORKERS })
}

const fn skynet(leaves: usize) -> Work {
    Work::Skynet(Skynet { leaves, workers: WORKERS })
}

const fn yields(fibers: usize, yields: usize, workers: usize) -> Work {
    Work::Yields(Yields { fibers, yields, workers })
}

const fn parked(tasks: usize) -> Parked {
    Parked { tasks, workers: WORKERS }
}

const fn sleepers(tasks: usize) -> Work {
    Work::Sleepers(Sleepers { tasks, workers: WORKERS })
}

const fn wake_idle(count: usize) -> Work {
    Work::WakeIdle(Submissions { count, workers: WORKERS })
}

/// What so many parked fibers weigh, and so many in a quick run.
const fn parked_memory(name: &'static str, what: &'static str, [full, quick]: [usize; 2]) -> Case {
    Case {
        cpu_unit: "ns per fiber",
        extras: &[("page_tables", "page tables B per fiber"), TASKS],
        references: STACKLESS,
        rounds: FEW_ROUNDS,
        ..Case::new(name, what, "B per fiber", [Work::ParkedMemory(parked(full)), Work::ParkedMemory(parked(quick))])
    }
}

const fn idle_cpu(parked: usize, seconds: u64) -> Work {
    Work::IdleCpu(Idle { parked, span: Duration::from_secs(seconds), workers: WORKERS })
}

/// The full size, then the quick one.
pub(super) static CASES: &[Case] = &[
    Case {
        allocates: true,
        ..Case::new(
            "spawn-10k",
            "spawn and join 1M empty tasks in batches of 10,000",
            "ns per task",
            [spawn(1_000_000, 10_000), spawn(200_000, 10_000)],
        )
    },
    Case {
        allocates: true,
        ..Case::new(
            "spawn-100",
            "spawn and join 1M empty tasks in batches of 100",
            "ns per task",
            [spawn(1_000_000, 100), spawn(200_000, 100)],
        )
    },
    Case {
        allocates: true,
        ..Case::new(
            "nursery",
            "1M empty children in nurseries of 10,000",
            "ns per child",
            [nursery(1_000_000, 10_000), nursery(200_000, 10_000)],
        )
    },
    Case {
        allocates: true,
        // A rayon task does not wait for its children: it runs them, and others', on its own stack.
        references: &["rayon"],
        ..Case::new(
            "skynet",
            "a tree of 1M leaves, ten children to a node, that hand up a sum",
            "ms",
            [skynet(1_000_000), skynet(100_000)],
        )
    },
    Case::new(
        "yield-2",
        "2 fibers take turns on 1 worker",
        "ns per yield",
        [yields(2, 1_000_000, 1), yields(2, 200_000, 1)],
    ),
    Case::new(
        "yield-1000",
        "1,000 fibers yield 1,000 times each on 2 workers",
        "ns per yield",
        [yields(1_000, 1_000, WORKERS), yields(1_000, 500, WORKERS)],
    ),
    parked_memory("parked-memory", "resident memory of a parked fiber, 1M of them", [1_000_000, 100_000]),
    parked_memory("parked-memory-4m", "the same of 4M, which take 20 GiB", [4_000_000, 400_000]),
    Case {
        extras: &[TASKS],
        references: STACKLESS,
        ..Case::new(
            "parked-create",
            "2 spawners create 1M fibers that park, until the last has come to its park",
            "ns per fiber",
            [Work::ParkedCreate(parked(1_000_000)), Work::ParkedCreate(parked(100_000))],
        )
    },
    Case {
        extras: LATENESS,
        also: &[Judged::Cpu, Judged::Extra("p99")],
        ..Case::new(
            "sleepers",
            "1M sleeps of 1 to 1,000 ms, until the last is over",
            "s",
            [sleepers(1_000_000), sleepers(100_000)],
        )
    },
    Case {
        extras: LATENESS,
        judged: Judged::Cpu,
        also: &[Judged::Extra("p99")],
        ..Case::new(
            "sleepers-30k",
            "30,000 sleeps of 1 to 1,000 ms, until the last is over; the ratio is of CPU time",
            "s",
            [sleepers(30_000), sleepers(30_000)],
        )
    },
    Case {
        cpu_unit: "us per task",
        extras: &[("p50", "p50 us"), ("p99", "p99 us")],
        ..Case::new(
            "wake-idle",
            "an outside thread gives an idle runtime one task; submit to run, p50",
            "us",
            [wake_idle(1_000), wake_idle(300)],
        )
    },
    Case {
        cpu_unit: "ms",
        // rayon's tasks cannot park: its row is an idle pool and nothing else.
        references: &["rayon"],
        rounds: FEW_ROUNDS,
        ..Case::new(
            "idle-cpu",
            "CPU time of a runtime that idles for 10 s with 1,000 parked fibers",
            "ms of CPU",
            [idle_cpu(1_000, 10), idle_cpu(1_000, 3)],
        )
    },
];
