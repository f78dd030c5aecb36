//! Tasks of mixed cost: many short ones and a few that are as long as hundreds of them.
//!
//! The contestant brings `run(tasks)`: start all of them, have each call [`Tasks::run`] with its number, and
//! come back when the last has ended. The costs are Pareto's, the same in every contestant and every run, and
//! come in no order: whoever deals the tasks out beforehand deals them badly.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Repeated;
use super::sleepers::scramble;
use super::spin::{MILLISECOND, spin};

/// The shortest: about 10 us.
const SHORTEST: usize = MILLISECOND / 100;
/// The longest: about 10 ms, lest one of them be all that counts.
const LONGEST: usize = 10 * MILLISECOND;
/// Pareto's exponent: a fifth of the tasks has four fifths of the cost, but for the longest.
const EXPONENT: f64 = 1.16;

/// How many tasks, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// The tasks.
    pub tasks: usize,
    /// How often all of them are run.
    pub repeats: usize,
    /// Worker threads.
    pub workers: usize,
}

/// The tasks, and what has come out of them.
#[derive(Debug)]
pub struct Tasks {
    costs: Vec<usize>,
    expected: u64,
    sum: AtomicU64,
}

impl Mixed {
    /// The tasks. They live as long as the process, so that nobody counts references to them.
    pub fn prepare(self) -> &'static Tasks {
        let costs: Vec<usize> = (0..self.tasks as u64).map(cost).collect();
        let results = (0..).zip(&costs).map(|(number, rounds)| spin(number, *rounds));
        let expected = results.fold(0, u64::wrapping_add);
        Box::leak(Box::new(Tasks { costs, expected, sum: AtomicU64::new(0) }))
    }
}

impl Repeated for Mixed {
    fn repeats(&self) -> usize {
        self.repeats
    }

    fn operations(&self) -> usize {
        self.tasks * self.repeats
    }
}

impl Tasks {
    /// Their numbers.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        0..self.costs.len()
    }

    /// The task of that number.
    pub fn run(&self, number: usize) {
        let result = spin(number as u64, self.costs[number]);
        // ORDERING: whoever has awaited the task sees it.
        self.sum.fetch_add(result, Ordering::Relaxed);
    }

    /// All of them have ended: checks that each has run, once.
    pub fn check(&self) {
        assert_eq!(self.sum.swap(0, Ordering::Relaxed), self.expected, "each has run once");
    }
}

/// The rounds of the task of that number.
fn cost(number: u64) -> usize {
    /// A step of a fraction of 53 bits.
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    // Above 0, at most 1.
    let fraction = ((scramble(number) >> 11) + 1) as f64 * STEP;
    let rounds = SHORTEST as f64 * fraction.powf(-1.0 / EXPONENT);
    (rounds as usize).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_tasks_has_most_of_the_cost() {
        let mut costs: Vec<usize> = (0..1_000).map(cost).collect();
        assert!(costs.iter().all(|cost| (SHORTEST..=LONGEST).contains(cost)));
        costs.sort_unstable();
        let (all, most) = (costs.iter().sum::<usize>(), costs[800..].iter().sum::<usize>());
        assert!((0.6..0.9).contains(&(most as f64 / all as f64)), "{most} of {all}");
    }

    #[test]
    #[should_panic(expected = "each has run once")]
    fn a_task_that_was_left_out_is_noticed() {
        let tasks = Mixed { tasks: 10, repeats: 1, workers: 1 }.prepare();
        tasks.numbers().skip(1).for_each(|number| tasks.run(number));
        tasks.check();
    }
}
