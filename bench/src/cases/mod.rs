//! The cases: what is run, in which unit, at which size, and what the ratio is taken of.
//!
//! The tables stand by what is measured: `tasks` by themselves, tasks `waiting` for one another, and for what is
//! `outside`; tasks that `compute`; and whole `programs`.

mod compute;
mod outside;
mod programs;
mod tasks;
mod waiting;

use crate::work::Work;

/// Worker threads of every contestant, unless the case says otherwise.
pub const WORKERS: usize = 2;
/// Interleaved rounds of a full run; odd, so that the median is a sample.
const ROUNDS: usize = 7;
/// Rounds of a `--quick` run, and of cases that are slow and vary little.
const FEW_ROUNDS: usize = 3;
/// The contestant every ratio is about.
pub const SUBJECT: &str = "sisal";
/// Contestants that are no runtime: shown in every case they can run, never part of the ratio to the best peer.
const ALWAYS_REFERENCE: &[&str] = &["threads", "threads+crossbeam", "serial"];
/// The tables, in the order `--case all` runs them.
static TABLES: [&[Case]; 5] = [tasks::CASES, waiting::CASES, outside::CASES, compute::CASES, programs::CASES];

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
    /// Times that have a ratio of their own besides: the smaller the better.
    pub also: &'static [Judged],
    /// References that the case has a ratio to besides.
    pub against: &'static [&'static str],
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
    /// The extra of that key.
    Extra(&'static str),
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
    /// Every case.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TABLES.iter().copied().flatten()
    }

    /// The case of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|case| case.name == name)
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
            also: &[],
            against: &[],
            better: Better::Lower,
            allocates: false,
            references: &[],
            full,
            quick,
            rounds: ROUNDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_case_is_found_by_its_name() {
        for case in Case::all() {
            assert!(std::ptr::eq(Case::find(case.name).unwrap(), case), "{}", case.name);
        }
    }

    #[test]
    fn rounds_are_odd_so_that_the_median_is_a_sample() {
        assert!(Case::all().all(|case| case.rounds(false) % 2 == 1));
        assert!(Case::all().all(|case| case.rounds(true) % 2 == 1));
    }

    #[test]
    fn no_two_cases_have_one_name() {
        let names: HashSet<_> = Case::all().map(|case| case.name).collect();
        assert_eq!(names.len(), Case::all().count());
    }

    #[test]
    fn threads_are_a_reference_everywhere_and_stackless_tasks_where_stacks_count() {
        assert!(Case::find("spawn-10k").unwrap().is_reference("threads"));
        assert!(Case::find("parked-memory").unwrap().is_reference("tokio"));
        assert!(!Case::find("sleepers").unwrap().is_reference("tokio"));
    }
}
