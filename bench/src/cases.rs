//! The table of cases: what is run, in which unit, at which size, and what the ratio is taken of.

use std::time::Duration;

use crate::work::{Batches, Idle, Parked, Sleepers, Submissions, Work, Yields};

/// Worker threads of every contestant, unless the case says otherwise.
pub const WORKERS: usize = 2;
/// Interleaved rounds of a full run; odd, so that the median is a sample.
const ROUNDS: usize = 7;
/// Rounds of a `--quick` run, and of cases that are slow and vary little.
const FEW_ROUNDS: usize = 3;
/// The contestant every ratio is about.
pub const SUBJECT: &str = "sisal";
/// Contestants that are no runtime: shown in every case they can run, never part of a ratio.
const ALWAYS_REFERENCE: &[&str] = &["threads"];

/// One case: a kind of work at a full and a quick size, and how its figures read.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name given to `--case`.
    pub name: &'static str,
    /// One line: what is done.
    pub about: &'static str,
    /// Unit of the headline figure.
    pub unit: &'static str,
    /// Unit of the CPU time beside it.
    pub cpu_unit: &'static str,
    /// Further columns: key in the sample and in JSON, and heading in the table.
    pub extras: &'static [(&'static str, &'static str)],
    /// The figure the ratio is taken of.
    pub judged: Judged,
    /// Whether a small or a large judged figure is good.
    pub better: Better,
    /// Whether allocation rules the figure, so that rows with mimalloc are worth having.
    pub allocates: bool,
    /// Contestants shown for comparison only, besides those that always are.
    pub references: &'static [&'static str],
    /// The work of a full run.
    pub full: Work,
    /// The work of a `--quick` run.
    pub quick: Work,
    /// Rounds of a full run.
    pub rounds: usize,
}

/// What of a sample the ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The headline figure.
    Headline,
    /// The CPU time.
    Cpu,
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times and sizes.
    Lower,
    /// Rates; their ratio is inverted, so that below 1 is always better than the best peer.
    Higher,
}

impl Case {
    /// The case of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// The work at the asked size.
    pub fn work(&self, quick: bool) -> Work {
        if quick { self.quick } else { self.full }
    }

    /// The rounds at the asked size.
    pub fn rounds(&self, quick: bool) -> usize {
        if quick { FEW_ROUNDS } else { self.rounds }
    }

    /// Whether `contestant` is shown for comparison only.
    pub fn is_reference(&self, contestant: &str) -> bool {
        ALWAYS_REFERENCE.contains(&contestant) || self.references.contains(&contestant)
    }

    /// What most cases are: a time, the smaller the better, in `unit` of wall and of CPU alike.
    const fn new(name: &'static str, about: &'static str, unit: &'static str, [full, quick]: [Work; 2]) -> Self {
        Self {
            name,
            about,
            unit,
            cpu_unit: unit,
            extras: &[],
            judged: Judged::Headline,
            better: Better::Lower,
            allocates: false,
            references: &[],
            full,
            quick,
            rounds: ROUNDS,
        }
    }
}

/// How many of the asked tasks a contestant could stand.
const TASKS: (&str, &str) = ("tasks", "tasks");
/// A task without a stack is no fiber: its row shows what the stack costs.
const STACKLESS: &[&str] = &["tokio", "smol"];
/// Lateness of a sleep, measured by the sleeper.
const LATENESS: &[(&str, &str)] = &[("p50", "late p50 ms"), ("p99", "late p99 ms")];

const fn spawn(tasks: usize, batch: usize) -> Work {
    Work::Spawn(Batches { tasks, batch, workers: WORKERS })
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

const fn idle_cpu(parked: usize, seconds: u64) -> Work {
    Work::IdleCpu(Idle { parked, span: Duration::from_secs(seconds), workers: WORKERS })
}

/// Every case, in the order `--case all` runs them. The full size, then the quick one.
pub static CASES: &[Case] = &[
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
    Case {
        cpu_unit: "ns per fiber",
        extras: &[("page_tables", "page tables B per fiber"), TASKS],
        references: STACKLESS,
        rounds: FEW_ROUNDS,
        ..Case::new(
            "parked-memory",
            "resident memory of a parked fiber, 1M of them",
            "B per fiber",
            [Work::ParkedMemory(parked(1_000_000)), Work::ParkedMemory(parked(100_000))],
        )
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_found_by_its_name() {
        for case in CASES {
            assert!(std::ptr::eq(Case::find(case.name).unwrap(), case), "{}", case.name);
        }
    }

    #[test]
    fn rounds_are_odd_so_that_the_median_is_a_sample() {
        assert!(CASES.iter().all(|case| case.rounds(false) % 2 == 1));
        assert!(CASES.iter().all(|case| case.rounds(true) % 2 == 1));
    }

    #[test]
    fn threads_are_a_reference_everywhere_and_stackless_tasks_where_stacks_count() {
        assert!(Case::find("spawn-10k").unwrap().is_reference("threads"));
        assert!(Case::find("parked-memory").unwrap().is_reference("tokio"));
        assert!(!Case::find("sleepers").unwrap().is_reference("tokio"));
    }
}
