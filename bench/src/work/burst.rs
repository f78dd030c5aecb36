//! Little to do: the CPU time of a runtime after a burst of work, and while a little work trickles in.
//!
//! For a burst the contestant brings `start(burst, tasks)`: a driver inside the runtime that spawns so many tasks,
//! each of which calls [`Burst::run`] and ends. The clock starts as the last of them ends, so that what its thread does
//! to look for more work before it sleeps is counted. The last one takes longer than the others: the kernel adds up the
//! time of a thread that runs on another processor only every few milliseconds, so until the other threads sleep, what
//! they did in the burst would be counted too.
//!
//! For a trickle it brings `spawn(gate)`: hand over one task, from a thread that is none of its own, which arrives
//! at the gate and ends. To hand it over is part of what is counted.
//!
//! Not counted is what the thread that measures takes to sleep and to wake, which is more than some take in all. For
//! the end of a burst it looks every now and then: to be told of it would cost the last task as much.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::spin::{MILLISECOND, spin};
use super::{Gate, WARM_UP_TASKS};
use crate::measure::{Spent, Stopwatch, thread_cpu_time};
use crate::sample::Sample;

/// What a task of a burst computes: about 10 us.
const ROUNDS: usize = MILLISECOND / 100;
/// How long the last task of a burst goes on.
const SETTLE: Duration = Duration::from_millis(8);
/// From one look for the end of a burst to the next.
const LOOK: Duration = Duration::from_millis(5);
/// From one task that trickles in to the next.
const PERIOD: Duration = Duration::from_millis(1);

/// How much work comes at once, and how long none comes afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleBurst {
    /// The tasks of the burst.
    pub tasks: usize,
    /// How long the clock runs after it.
    pub span: Duration,
    /// Worker threads.
    pub workers: usize,
}

/// A burst that is under way.
#[derive(Debug)]
pub struct Burst {
    left: AtomicUsize,
    after: OnceLock<Stopwatch>,
}

impl IdleBurst {
    /// Milliseconds of CPU in the span after the burst.
    pub fn measure(self, start: impl Fn(&'static Burst, usize)) -> Sample {
        let few = Burst::new(WARM_UP_TASKS);
        start(few, WARM_UP_TASKS);
        few.wait();

        let burst = Burst::new(self.tasks);
        start(burst, self.tasks);
        let (after, own) = burst.wait();
        thread::sleep(self.span);
        cpu_millis(after.stop(), thread_cpu_time() - own)
    }
}

impl Burst {
    /// A burst of so many tasks.
    fn new(tasks: usize) -> &'static Self {
        Box::leak(Box::new(Self { left: AtomicUsize::new(tasks), after: OnceLock::new() }))
    }

    /// Waits for its end: the watch that runs from then on, and this thread's CPU time when it was started.
    fn wait(&self) -> (Stopwatch, Duration) {
        loop {
            let own = thread_cpu_time();
            thread::sleep(LOOK);
            if let Some(after) = self.after.get() {
                return (*after, own);
            }
        }
    }

    /// One of its tasks.
    pub fn run(&self) {
        spin(1, ROUNDS);
        // ORDERING: the count is all there is.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let start = Instant::now();
            while start.elapsed() < SETTLE {
                spin(1, ROUNDS);
            }
            self.after.get_or_init(Stopwatch::start);
        }
    }
}

/// For how long a task comes every millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trickle {
    /// For how long.
    pub span: Duration,
    /// Worker threads.
    pub workers: usize,
}

impl Trickle {
    /// Milliseconds of CPU in all.
    pub fn measure(self, spawn: impl Fn(&'static Gate)) -> Sample {
        hand_over(WARM_UP_TASKS, &spawn);
        let watch = Stopwatch::start();
        let own = hand_over(self.span.div_duration_f64(PERIOD) as usize, &spawn);
        cpu_millis(watch.stop(), own)
    }
}

/// Hands over so many tasks, one every [`PERIOD`], until the last has run; the CPU time of the sleeps between.
fn hand_over(tasks: usize, spawn: &impl Fn(&'static Gate)) -> Duration {
    let gate = Gate::new(tasks);
    let mut next = Instant::now();
    let mut slept = Duration::ZERO;
    for _ in 0..tasks {
        next += PERIOD;
        slept += sleep_until(next);
        spawn(gate);
    }
    gate.wait();
    slept
}

/// Sleeps; the CPU time this takes.
fn sleep_until(moment: Instant) -> Duration {
    let before = thread_cpu_time();
    thread::sleep(moment.saturating_duration_since(Instant::now()));
    thread_cpu_time() - before
}

/// The CPU time is the figure, but for that which is the bench's own.
fn cpu_millis(spent: Spent, own: Duration) -> Sample {
    let spent = Spent { cpu: spent.cpu.saturating_sub(own), ..spent };
    let millis = spent.millis_each(1).cpu;
    Sample::new(millis, millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_with_the_end_of_the_last_task() {
        let load = IdleBurst { tasks: 5, span: Duration::from_millis(1), workers: 1 };
        load.measure(|burst, tasks| {
            (1..tasks).for_each(|_| burst.run());
            assert!(burst.after.get().is_none());
            burst.run();
        });
    }

    #[test]
    fn a_task_comes_every_millisecond() {
        let count = std::cell::Cell::new(0);
        Trickle { span: Duration::from_millis(5), workers: 1 }.measure(|gate| {
            count.set(count.get() + 1);
            gate.arrive();
        });
        assert_eq!(count.get(), WARM_UP_TASKS + 5);
    }
}
