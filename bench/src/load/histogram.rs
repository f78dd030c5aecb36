//! Latencies by logarithmic buckets: the percentiles of millions of them, each to within 1 %.
//!
//! A power of two is cut into [`STEPS`] equal buckets; below that every nanosecond has its own.

use std::time::Duration;

/// Bits of a latency that tell its bucket, the leading one not counted.
const BITS: u32 = 7;
/// Buckets to a power of two.
const STEPS: usize = 1 << BITS;
/// Powers of two that are kept apart: up to 2^40 ns, some 18 minutes.
const POWERS: usize = 34;
/// Milliseconds in a second.
const MILLIS: f64 = 1e3;

/// Counts of latencies.
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; STEPS * POWERS], total: 0 }
    }

    /// Counts one.
    pub(super) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let last = self.counts.len() - 1;
        self.counts[bucket(nanos).min(last)] += 1;
        self.total += 1;
    }

    /// How many there are.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The latency that this part of them does not exceed.
    pub(super) fn percentile(&self, percent: f64) -> Duration {
        let rank = (percent / 100.0 * self.total as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let found = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        });
        found.map_or(Duration::ZERO, |bucket| Duration::from_nanos(floor(bucket)))
    }

    /// As the tables have it.
    pub(super) fn millis(latency: Duration) -> f64 {
        latency.as_secs_f64() * MILLIS
    }
}

/// The bucket of a latency: the powers of two above the first, then the bits after the leading one.
fn bucket(nanos: u64) -> usize {
    let power = nanos.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    STEPS * power as usize + (nanos >> power) as usize
}

/// The least latency of a bucket.
fn floor(bucket: usize) -> u64 {
    let power = (bucket / STEPS).saturating_sub(1);
    ((bucket - STEPS * power) as u64) << power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_floor_and_no_more_than_a_hundredth_above() {
        for nanos in (0..2_000).chain([54_321, 1_000_000, 123_456_789, 60_000_000_000]) {
            let floor = floor(bucket(nanos));
            assert!(floor <= nanos && nanos - floor <= nanos / 100, "{nanos}: {floor}");
        }
    }

    #[test]
    fn percentiles_are_of_all_that_were_counted() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile(99.0), Duration::ZERO);
        for micros in 1..=1_000 {
            histogram.record(Duration::from_micros(micros));
        }
        assert_eq!(histogram.total(), 1_000);
        for (percent, micros) in [(0.0, 1.0), (50.0, 500.0), (99.0, 990.0), (99.9, 999.0), (100.0, 1_000.0)] {
            let found = histogram.percentile(percent).as_secs_f64() * 1e6;
            assert!((found / micros - 1.0).abs() < 0.01, "{percent} %: {found} us");
        }
    }

    #[test]
    fn no_latency_is_too_long_to_count() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::MAX);
        assert!(histogram.percentile(50.0) > Duration::from_secs(600));
    }
}
