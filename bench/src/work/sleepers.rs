//! Tasks that each sleep once, for a time that depends on their number alone.
//!
//! The contestant brings `start(roster, tasks)`: a driver inside the runtime that spawns task 0 to
//! `tasks - 1`; each notes the time, sleeps `Roster::nap(number)`, and signs `roster.woke(number,
//! noted)`. Lateness is what a task slept too long by its own clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Gate, WARM_UP_TASKS};
use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::stats::percentile;

/// The longest sleep; the shortest is 1 ms.
const LONGEST_MILLIS: u64 = 1_000;
/// Nanoseconds in a millisecond.
const NANOS_PER_MILLI: f64 = 1e6;

/// How many tasks sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleepers {
    /// The tasks.
    pub tasks: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Sleepers {
    /// Seconds of wall and CPU until the last sleep is over, and lateness in milliseconds.
    pub fn measure(self, start: impl Fn(&'static Roster, usize)) -> Sample {
        let few = Roster::new(WARM_UP_TASKS);
        start(few, WARM_UP_TASKS);
        few.gate.wait();

        let roster = Roster::new(self.tasks);
        let watch = Stopwatch::start();
        start(roster, self.tasks);
        let spent = watch.stop_at(roster.gate.wait());
        let late = roster.lateness_millis();
        Sample::new(spent.wall.as_secs_f64(), spent.cpu.as_secs_f64())
            .with("p50", percentile(&late, 50.0))
            .with("p99", percentile(&late, 99.0))
    }
}

/// Who has woken, and how late.
#[derive(Debug)]
pub struct Roster {
    late_nanos: Vec<AtomicU64>,
    gate: &'static Gate,
}

impl Roster {
    /// A roster the calling thread will wait for.
    fn new(tasks: usize) -> &'static Self {
        let late_nanos = (0..tasks).map(|_| AtomicU64::new(0)).collect();
        Box::leak(Box::new(Self { late_nanos, gate: Gate::new(tasks) }))
    }

    /// How long task `number` sleeps: 1 to 1,000 ms, the same in every contestant and every run.
    pub fn nap(number: usize) -> Duration {
        Duration::from_millis(1 + scramble(number as u64) % LONGEST_MILLIS)
    }

    /// Task `number`, which went to sleep at `slept`, is awake.
    pub fn woke(&self, number: usize, slept: Instant) {
        let late = slept.elapsed().saturating_sub(Self::nap(number));
        // ORDERING: the gate orders this before the waiter's read.
        self.late_nanos[number].store(late.as_nanos() as u64, Ordering::Relaxed);
        self.gate.arrive();
    }

    /// Lateness of every task, sorted.
    fn lateness_millis(&self) -> Vec<f64> {
        let millis = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / NANOS_PER_MILLI;
        let mut late: Vec<f64> = self.late_nanos.iter().map(millis).collect();
        late.sort_unstable_by(f64::total_cmp);
        late
    }
}

/// SplitMix64's output function: neighbours come out unrelated.
pub(super) fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_are_one_to_a_thousand_milliseconds_and_spread() {
        let naps: Vec<u128> = (0..30_000).map(|n| Roster::nap(n).as_millis()).collect();
        assert_eq!(naps.iter().min(), Some(&1));
        assert_eq!(naps.iter().max(), Some(&1_000));
        let mean = naps.iter().sum::<u128>() / naps.len() as u128;
        assert!((480..=520).contains(&mean), "mean {mean} ms");
    }

    #[test]
    fn scramble_is_splitmix64() {
        // The first output of SplitMix64 seeded with 0.
        assert_eq!(scramble(0), 0xe220_a839_7b1d_cdaf);
    }
}
