//! A task that ticks while others compute for long and let nobody in.
//!
//! The contestant brings a ticker and the rounds, all inside its runtime. The ticker is a task that takes a
//! [`Tick`], sleeps for [`TICK`] and says that it [woke](Tick::woke), as long as [`Ticks::next`] has one. A round
//! is a call of [`Ticks::next_round`], then so many tasks that each call [`Starve::hog`] and nothing else, all
//! awaited. The first round is for runtimes that learn who the hogs are: what counts is what the ticker sees from the
//! second on. After the last the contestant calls [`Ticks::end`].
//!
//! A ticker that comes late has missed the ticks that were due meanwhile. They count, late by as much as was left:
//! else one that slept through most of a round would have been late once, and one that is punctual between two
//! rounds punctual most of the time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::spin::{MILLISECOND, spin};
use crate::measure::Spent;
use crate::sample::Sample;
use crate::stats::percentile;

/// How long the ticker sleeps.
pub const TICK: Duration = Duration::from_millis(1);
/// Rounds that do not count.
const LEARNING: usize = 1;
/// The number of rounds when all are over.
const OVER: usize = usize::MAX;
/// Milliseconds in a second.
const MILLIS: f64 = 1e3;

/// How many tasks compute, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starve {
    /// The tasks of a round.
    pub hogs: usize,
    /// About how many milliseconds each of them computes.
    pub each: usize,
    /// The rounds.
    pub rounds: usize,
    /// Worker threads.
    pub workers: usize,
    /// Worker threads there may be, where a runtime adds some to those that are held.
    pub max_workers: usize,
}

/// One sleep of the ticker.
#[derive(Debug)]
pub struct Tick {
    ticks: &'static Ticks,
    round: usize,
    slept: Instant,
}

/// What the ticker has seen.
#[derive(Debug)]
pub struct Ticks {
    /// The round that has begun, counted from 1, or [`OVER`].
    round: AtomicUsize,
    late: Mutex<Vec<f64>>,
}

impl Starve {
    /// All sizes but the workers, by name.
    pub(super) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Self { hogs, each, rounds, max_workers, .. } = *self;
        vec![("hogs", hogs), ("each", each), ("rounds", rounds), ("max_workers", max_workers)]
    }

    /// Computes, and comes back when that is done.
    pub fn hog(self) {
        spin(1, self.each * MILLISECOND);
    }

    /// Milliseconds of lateness, p99, and of CPU for each round, when all are over.
    pub fn sample(self, spent: Spent, ticks: &Ticks) -> Sample {
        let mut late = std::mem::take(&mut *ticks.late.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(!late.is_empty(), "the ticker has ticked");
        late.sort_unstable_by(f64::total_cmp);
        let rounds = spent.millis_each(self.rounds);
        Sample::new(percentile(&late, 99.0), rounds.cpu)
            .with("p50", percentile(&late, 50.0))
            .with("max", percentile(&late, 100.0))
            .with("ticks", late.len() as f64)
            .with("round", rounds.figure)
    }
}

impl Ticks {
    /// None yet. They live as long as the process, so that nobody counts references to them.
    pub fn new() -> &'static Self {
        Box::leak(Box::new(Self { round: AtomicUsize::new(0), late: Mutex::default() }))
    }

    /// The next round begins.
    pub fn next_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// All rounds are over.
    pub fn end(&self) {
        self.round.store(OVER, Ordering::Relaxed);
    }

    /// A sleep that begins now, unless all rounds are over.
    pub fn next(&'static self) -> Option<Tick> {
        let round = self.round.load(Ordering::Relaxed);
        (round != OVER).then(|| Tick { ticks: self, round, slept: Instant::now() })
    }
}

impl Tick {
    /// The ticker is awake.
    pub fn woke(self) {
        let late = self.slept.elapsed().saturating_sub(TICK);
        if self.round > LEARNING {
            let each = std::iter::successors(Some(late), |late| late.checked_sub(TICK));
            let mut all = self.ticks.late.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(each.map(|late| late.as_secs_f64() * MILLIS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Stopwatch;

    #[test]
    fn ticks_count_from_the_second_round_on() {
        let ticks = Ticks::new();
        let tick = |late: u64| {
            let tick = ticks.next().unwrap();
            Tick { slept: tick.slept - TICK - Duration::from_secs(late), ..tick }
        };
        ticks.next_round();
        tick(900).woke();
        let begun = tick(800);
        ticks.next_round();
        begun.woke();
        tick(1).woke();
        let last = tick(2);
        ticks.end();
        last.woke();
        assert!(ticks.next().is_none());
        let load = Starve { hogs: 1, each: 1, rounds: 2, workers: 1, max_workers: 1 };
        let sample = load.sample(Stopwatch::start().stop(), ticks);
        let (max, count) = (sample.extra("max").unwrap(), sample.extra("ticks").unwrap());
        assert!((2_000.0..800_000.0).contains(&max), "{sample}");
        // Those that were missed are there, and the two that were not.
        assert!(count >= 3_002.0 && sample.figure < max, "{sample}");
    }
}
