//! Counts and lengths of a runtime at one moment.
//!
//! - here: what there is; [`collect`]: where it comes from.
//! - [`text`]: for people, and as JSON; [`table`]: as named series, for whoever collects such; [`prometheus`]: these as Prometheus reads them.
//! - `reporter`: these for the `metrics` crate, behind the feature of that name.

mod collect;
mod prometheus;
#[cfg(feature = "metrics")]
mod reporter;
mod table;
mod text;

#[cfg(feature = "metrics")]
pub use self::reporter::{MetricsReporter, report_metrics};

use crate::spawn::Handle;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a runtime is doing and has done, at one moment: see [`metrics`](fn@metrics), [`Handle::metrics`] and
/// [`Runtime::metrics`](crate::Runtime::metrics).
///
/// Every number is right when it is read, but they are not all read at once: while fibers run, numbers that belong together may differ a
/// little.
///
/// ```
/// sisal::run(|| {
///     sisal::spawn(|| ()).join().unwrap();
///     let metrics = sisal::inspect::metrics().unwrap();
///     assert_eq!((metrics.spawned, metrics.finished), (1, 1));
///     assert!(metrics.to_prometheus().contains("sisal_fibers_spawned_total"));
/// });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The name of the runtime.
    pub runtime: String,
    /// The workers.
    pub workers: WorkerMetrics,
    /// Fibers that have not ended, the main fiber of [`run`](crate::run) among them.
    pub live: u64,
    /// Of these, the ones that run.
    pub running: usize,
    /// Those that wait to be started.
    pub fresh: u64,
    /// Those that have run and wait for their turn.
    pub ready: usize,
    /// Those that wait for something, by what they wait for, in the words that a dump has for it. One that was woken is `ready`.
    pub parked: BTreeMap<&'static str, usize>,
    /// Fibers spawned. The main fiber of [`run`](crate::run) is not counted here and below.
    pub spawned: u64,
    /// Fibers that have ended, in whatever way.
    pub finished: u64,
    /// Fibers that ended in a panic.
    pub panicked: u64,
    /// Of these, the ones that nobody has seen: whose handle was dropped without a join, before the panic or after it.
    pub detached_panics: u64,
    /// Fibers that ended as cancelled without having been started.
    pub cancelled: u64,
    /// How often fresh fibers were taken from another worker.
    pub steals: u64,
    /// Waits that fibers have begun.
    pub parks: u64,
    /// Waits that have ended for sure: the last one of a fiber that runs is not counted, since it may be about to wait again. One that
    /// is counted may still wait for its turn.
    pub wakes: u64,
    /// Turns that workers have begun: to start a fiber, to resume one, or to look for one.
    pub switches: u64,
    /// The threads for calls of [`blocking`](crate::blocking()).
    pub blocking: BlockingThreads,
    /// Timers that are set.
    pub timers: usize,
    /// Descriptors and what was heard of them.
    pub io: IoMetrics,
    /// The stacks of fibers and workers.
    pub stacks: StackMetrics,
    /// What is in the queues.
    pub queues: QueueLengths,
    /// How long ready fibers wait for their turn: one in every 1,024 turns of a worker is timed.
    pub latency: LatencyHistogram,
}

/// Part of [`Metrics`]: the workers of a runtime.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(2).max_workers(4).build()?;
/// let workers: sisal::inspect::WorkerMetrics = runtime.metrics().workers;
/// assert_eq!(workers.base, 2);
/// assert!(workers.total <= 4);
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// All there are.
    pub total: usize,
    /// Those that there are always.
    pub base: usize,
    /// Those added while others were stuck.
    pub added: usize,
    /// Those that sleep.
    pub sleeping: usize,
    /// Those that look for work.
    pub searching: usize,
}

/// Part of [`Metrics`]: the threads for calls that block.
///
/// ```
/// sisal::run(|| {
///     let busy = sisal::blocking(|| 7);
///     let threads: sisal::inspect::BlockingThreads = sisal::inspect::metrics().unwrap().blocking;
///     assert_eq!((busy, threads.queued), (7, 0));
/// });
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingThreads {
    /// Threads that run a call.
    pub busy: usize,
    /// Threads that are kept for the next call.
    pub idle: usize,
    /// Calls that wait for a thread.
    pub queued: usize,
}

/// Part of [`Metrics`]: what comes from outside.
///
/// ```
/// sisal::run(|| {
///     let io: sisal::inspect::IoMetrics = sisal::inspect::metrics().unwrap().io;
///     assert_eq!((io.descriptors, io.events), (0, 0));
/// });
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoMetrics {
    /// Descriptors that workers listen to; one that several listen to counts for each. A worker says so when it listens or falls asleep.
    pub descriptors: usize,
    /// What they have heard.
    pub events: u64,
}

/// Part of [`Metrics`]: stacks.
///
/// ```
/// sisal::run(|| {
///     let waiter = sisal::spawn_local(|| sisal::sleep(std::time::Duration::from_secs(3600)));
///     sisal::yield_now();
///     let stacks: sisal::inspect::StackMetrics = sisal::inspect::metrics().unwrap().stacks;
///     assert!(stacks.in_use > 0 && stacks.in_use_bytes <= stacks.mapped_bytes);
///     waiter.cancel();
/// });
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackMetrics {
    /// Stacks that fibers have, or workers keep at hand.
    pub in_use: usize,
    /// Their address space. Only the pages that were touched are memory.
    pub in_use_bytes: usize,
    /// All address space mapped for stacks, but for what is kept ready for more: at most as much again, and a GiB.
    pub mapped_bytes: usize,
}

/// Part of [`Metrics`]: what is in the queues.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(1).max_workers(1).build()?;
/// let queues: sisal::inspect::QueueLengths = runtime.metrics().queues;
/// assert_eq!((queues.injector, queues.workers.len()), (0, 1));
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueLengths {
    /// Fresh fibers that any worker may take: from outside, or too many for a worker's own queue.
    pub injector: usize,
    /// The queues of each worker there is.
    pub workers: Vec<WorkerQueues>,
}

/// Part of [`Metrics`]: the queues of one worker.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(1).max_workers(1).build()?;
/// runtime.run(|| {
///     let handle = sisal::spawn(|| ());
///     let of_worker: sisal::inspect::WorkerQueues = sisal::inspect::metrics().unwrap().queues.workers[0];
///     assert_eq!((of_worker.worker, of_worker.ready), (0, 0));
///     handle.join().unwrap();
/// });
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerQueues {
    /// Its number.
    pub worker: usize,
    /// Its own fresh fibers.
    pub ring: usize,
    /// Fresh fibers placed with it.
    pub lane: usize,
    /// About how many fibers others have sent it.
    pub inbox: usize,
    /// Its ready fibers.
    pub ready: usize,
}

/// Part of [`Metrics`]: how many samples took how long.
///
/// ```
/// sisal::run(|| {
///     let latency: sisal::inspect::LatencyHistogram = sisal::inspect::metrics().unwrap().latency;
///     assert_eq!(latency.count(), latency.ranges.iter().map(|range| range.count).sum::<u64>());
///     assert!(latency.ranges.iter().rev().skip(1).all(|range| range.up_to.is_some()));
/// });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyHistogram {
    /// All ranges, the shortest first; each but the first and the last is twice as long as the one before.
    pub ranges: Vec<LatencyRange>,
    /// All samples together.
    pub sum: Duration,
}

/// Part of [`LatencyHistogram`]: samples that took about the same time.
///
/// ```
/// sisal::run(|| {
///     for range in sisal::inspect::metrics().unwrap().latency.ranges {
///         let sisal::inspect::LatencyRange { up_to, count, .. } = range;
///         println!("{count} up to {up_to:?}");
///     }
/// });
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyRange {
    /// The longest time that belongs here; none in the last range.
    pub up_to: Option<Duration>,
    /// How many samples took longer than what belongs to the range before, and no longer than this.
    pub count: u64,
}

impl Metrics {
    /// Fibers that could run if there were a worker for them.
    ///
    /// ```
    /// sisal::run(|| assert_eq!(sisal::inspect::metrics().unwrap().runnable(), 0));
    /// ```
    pub fn runnable(&self) -> u64 {
        self.fresh + self.ready as u64
    }
}

impl LatencyHistogram {
    /// How many samples there are.
    ///
    /// ```
    /// let latency = sisal::inspect::LatencyHistogram::default();
    /// assert_eq!((latency.count(), latency.quantile(0.5)), (0, None));
    /// ```
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    /// A time that the given part of the samples, from 0 to 1, did not exceed, as far as the ranges tell; none if there are no samples or
    /// some took longer than can be told.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let handles: Vec<_> = (0..100).map(|_| sisal::spawn(|| sisal::sleep(Duration::from_millis(1)))).collect();
    ///     handles.into_iter().for_each(|handle| handle.join().unwrap().unwrap());
    ///     let latency = sisal::inspect::metrics().unwrap().latency;
    ///     println!("99 of 100 ran within {:?}", latency.quantile(0.99));
    /// });
    /// ```
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.ranges.iter().find(|range| {
            seen += range.count;
            seen >= wanted
        });
        reached?.up_to
    }
}

/// The metrics of the runtime that the caller runs in; none outside of one.
///
/// ```
/// assert!(sisal::inspect::metrics().is_none());
/// sisal::run(|| println!("{}", sisal::inspect::metrics().unwrap()));
/// ```
pub fn metrics() -> Option<Metrics> {
    Handle::current().map(|handle| handle.metrics())
}

impl Handle {
    /// What the runtime is doing and has done.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.handle().metrics().workers.base, 2);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        Metrics::of(self.shared())
    }
}
