//! A runtime with parked tasks and nothing to do: the CPU time it takes all the same.

use std::thread;
use std::time::Duration;

use super::Gate;
use crate::measure::Stopwatch;
use crate::sample::Sample;

/// From the last park to the start of the clock: whoever spins before it sleeps is done by then.
const CALM: Duration = Duration::from_secs(1);
/// Nanoseconds in a millisecond.
const NANOS_PER_MILLI: f64 = 1e6;

/// How long to idle, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Parked tasks.
    pub parked: usize,
    /// How long.
    pub span: Duration,
    /// Worker threads.
    pub workers: usize,
}

impl Idle {
    /// Milliseconds of CPU the process takes in the span. `start` is as for the parked cases.
    pub fn measure(self, start: impl Fn(&'static Gate, usize)) -> Sample {
        let gate = Gate::new(self.parked);
        start(gate, self.parked);
        gate.wait();
        thread::sleep(CALM);
        let watch = Stopwatch::start();
        thread::sleep(self.span);
        let millis = watch.stop().cpu_nanos() / NANOS_PER_MILLI;
        Sample::new(millis, millis)
    }
}
