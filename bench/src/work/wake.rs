//! One task at a time for a runtime that has gone to sleep, from a thread that is none of its own.
//!
//! The contestant brings `submit(ticket)`: hand over one task that calls `ticket.ran()` first thing.
//! Between submissions the submitting thread sleeps long enough for the workers to do so too.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::stats::percentile;

/// From one submission to the next; every contestant's workers are asleep by then.
const PAUSE: Duration = Duration::from_millis(3);
/// Submissions before those that count.
const WARM_UP: usize = 20;
/// Nanoseconds in a microsecond.
const NANOS_PER_MICRO: f64 = 1e3;

/// How many tasks are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submissions {
    /// The tasks, one after the other.
    pub count: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Submissions {
    /// Microseconds from submission to run, p50 and p99, and of CPU per submission.
    pub fn measure(self, submit: impl Fn(Ticket)) -> Sample {
        let slot = Box::leak(Box::new(AtomicU64::new(0)));
        for _ in 0..WARM_UP {
            round_trip(slot, &submit);
        }
        let watch = Stopwatch::start();
        let mut micros: Vec<f64> =
            (0..self.count).map(|_| round_trip(slot, &submit) as f64 / NANOS_PER_MICRO).collect();
        let spent = watch.stop();
        micros.sort_unstable_by(f64::total_cmp);
        let p50 = percentile(&micros, 50.0);
        let cpu = spent.cpu_nanos() / NANOS_PER_MICRO / self.count as f64;
        Sample::new(p50, cpu).with("p50", p50).with("p99", percentile(&micros, 99.0))
    }
}

/// Submits one task and sleeps; nanoseconds from submission to run.
fn round_trip(slot: &'static AtomicU64, submit: &impl Fn(Ticket)) -> u64 {
    slot.store(0, Ordering::Relaxed);
    submit(Ticket { submitted: Instant::now(), slot });
    loop {
        thread::sleep(PAUSE);
        // ORDERING: the value is all there is to read.
        match slot.load(Ordering::Relaxed) {
            0 => {}
            nanos => return nanos,
        }
    }
}

/// What a submitted task carries: when it was submitted and where to say how long that took.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    submitted: Instant,
    slot: &'static AtomicU64,
}

impl Ticket {
    /// The task runs.
    pub fn ran(self) {
        let nanos = self.submitted.elapsed().as_nanos() as u64;
        self.slot.store(nanos.max(1), Ordering::Relaxed);
    }
}
