//! How long ready fibers wait for their turn, by samples.
//!
//! Every [`SAMPLE_EVERY`]th turn of a worker, one fiber that it makes ready, or that gives way, is marked with the time; when that fiber goes
//! on, its own worker counts how long it took. No clock is read otherwise. The mark is in the fiber's wait note, which it clears anyway when
//! it goes on. A fiber that is made ready while it is still on its way to its wait may overwrite the mark, and is not counted then.
//! Wakes by threads outside of the runtime are not timed, nor is how long fresh fibers wait.

use super::counts::Count;
use super::worker::Worker;
use crate::fiber::header::FiberRef;
use crate::prim::clock::Moment;

/// Of so many turns, one fiber is timed at most: the clock is read twice for it.
const SAMPLE_EVERY: u64 = 1024;

/// How many ranges of times are told apart: up to 128 ns, and then each twice as long as the one before, to 17 seconds. What takes longer
/// is in the last.
pub(crate) const RANGES: usize = 29;

/// The first range is up to two to the power of this, in nanoseconds.
const FIRST: u32 = 7;

/// How many samples there were, by their length. One writer.
pub(crate) struct Histogram {
    ranges: [Count; RANGES],
    /// Of all samples together, in nanoseconds.
    sum: Count,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { ranges: [const { Count::new() }; RANGES], sum: Count::new() }
    }

    fn note(&self, nanoseconds: u64) {
        self.ranges[range_of(nanoseconds)].tally(1);
        self.sum.tally(nanoseconds);
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().map(Count::get)
    }

    pub(crate) fn sum(&self) -> u64 {
        self.sum.get()
    }
}

fn range_of(nanoseconds: u64) -> usize {
    let power = nanoseconds.checked_next_power_of_two().map_or(u64::BITS, u64::ilog2);
    (power.saturating_sub(FIRST) as usize).min(RANGES - 1)
}

/// The longest time that belongs to a range, in nanoseconds; none for the last.
pub(crate) fn bound_of(range: usize) -> Option<u64> {
    (range + 1 < RANGES).then(|| 1 << (range as u32 + FIRST))
}

impl Worker {
    /// `fiber` becomes ready, and is in no queue yet: it is timed if it is time for that.
    #[inline]
    pub(super) fn time_if_due(&self, fiber: FiberRef) {
        if self.tick.get() >= self.sample_at.get() {
            self.time(fiber);
        }
    }

    #[cold]
    fn time(&self, fiber: FiberRef) {
        self.sample_at.set(self.tick.get() + SAMPLE_EVERY);
        fiber.wait.mark_ready(self.read_clock());
    }

    /// `me` runs again after a wait, or after it has given way.
    #[inline]
    pub(crate) fn note_resumed(&self, me: FiberRef) {
        if let Some(ready_since) = me.wait.clear() {
            self.note_latency(ready_since);
        }
    }

    #[cold]
    fn note_latency(&self, ready_since: Moment) {
        let waited = self.read_clock().0.saturating_sub(ready_since.0);
        self.remote().shown.activity.latency.note(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_range_whose_bounds_are_around_it() {
        for time in [0, 1, 127, 128, 129, 256, 257, 1_000_000, 1 << 34, (1 << 34) + 1, u64::MAX] {
            let range = range_of(time);
            assert!(bound_of(range).is_none_or(|bound| time <= bound), "{time} in {range}");
            assert!(range == 0 || bound_of(range - 1).is_some_and(|bound| time > bound), "{time} in {range}");
        }
        assert_eq!(bound_of(0), Some(128));
        assert_eq!(bound_of(RANGES - 2), Some(1 << 34));
    }
}
