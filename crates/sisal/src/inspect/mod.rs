//! Looking at a runtime: what every fiber does and waits for, and what the runtime has done.
//!
//! - [`snapshot()`], [`fibers`]: everything that can be seen, as plain values, text or JSON.
//! - [`metrics()`]: counts and lengths, also for Prometheus.
//! - `serve`: a page in the browser, and data for tools, over HTTP (feature `serve`).
//! - [`leaks`]: fibers that have waited for long, and that nothing from outside will wake.
//! - [`external_wait`], [`no_deadlock_check`]: for waits that the search for deadlocks is to leave alone.
//!
//! Looking does not stop the runtime. A worker is kept from going on with another fiber while up to 128 of its fibers are looked at, again and
//! again; a fiber that runs goes on running.
//!
//! # Inside
//! `survey` looks, `snapshot` is what was seen, `text` and `to_json` write it down, `attendants` look because settings ask for it, `state` says what a fiber does, `graph` finds cycles, `deadlock` says when nothing can
//! ever run again.

pub(crate) mod asked;
mod attendants;
mod deadlock;
mod frame;
mod graph;
pub(crate) mod json;
mod leaks;
mod metrics;
#[cfg_attr(not(feature = "serve"), path = "unserved.rs")]
mod serve;
mod snapshot;
#[cfg(feature = "stack-traces")]
mod stack;
mod state;
mod survey;
mod text;
mod to_json;
mod trace;
#[cfg_attr(not(feature = "stack-traces"), path = "no_traces.rs")]
mod traces;

pub(crate) use self::attendants::{Attendance, Attendants};
pub use self::deadlock::{external_wait, no_deadlock_check};
pub use self::frame::Frame;
pub use self::leaks::leaks;
pub use self::metrics::{
    BlockingThreads, IoMetrics, LatencyHistogram, LatencyRange, Metrics, QueueLengths, StackMetrics, WorkerMetrics,
    WorkerQueues, metrics,
};
#[cfg(feature = "metrics")]
pub use self::metrics::{MetricsReporter, report_metrics};
#[cfg(feature = "serve")]
#[doc(hidden)]
pub use self::serve::{Selection, Source, Wait};
#[cfg(feature = "serve")]
pub use self::serve::{ServeOptions, Server, serve};
pub use self::snapshot::{
    FiberCounts, FiberInfo, FiberState, FreshInfo, ObjectInfo, Snapshot, ThreadInfo, WaitInfo, WorkerInfo, WorkerState,
};

pub use self::trace::{FlightRecorder, Trace, flight_recorder, recorded, trace};
pub(crate) use self::trace::{record_from_the_start, write_at_the_end};
pub use crate::sched::stillness::OnDeadlock;

use crate::sched::shared::Shared;
use crate::spawn::Handle;

/// What can be seen of the runtime that the caller runs in; none outside of one. See [`Runtime::dump`](crate::Runtime::dump).
///
/// ```
/// assert!(sisal::inspect::snapshot().is_none());
/// sisal::run(|| {
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     assert_eq!(snapshot.fibers[0].name.as_deref(), Some("main"));
/// });
/// ```
pub fn snapshot() -> Option<Snapshot> {
    Handle::current().map(|handle| of(handle.shared()))
}

/// All fibers of the runtime that the caller runs in, which have started and have not ended; none outside of a runtime.
///
/// ```
/// sisal::run(|| {
///     let sleeper = sisal::spawn(|| sisal::sleep(std::time::Duration::from_secs(3600)));
///     sisal::yield_now();
///     for fiber in sisal::inspect::fibers() {
///         println!("{} {} {:?}", fiber.id, fiber.state, fiber.wait);
///     }
///     sleeper.cancel();
/// });
/// ```
pub fn fibers() -> Vec<FiberInfo> {
    snapshot().map_or_else(Vec::new, |snapshot| snapshot.fibers)
}

/// Lets a new runtime be watched: for deadlocks, and for fibers that block their workers.
pub(crate) fn watch(shared: &Shared) {
    deadlock::watch(shared);
    traces::install_hook(shared.config.naming.aloud);
}

impl Handle {
    /// What can be seen of the runtime, from anywhere. See [`Runtime::dump`](crate::Runtime::dump).
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.dump().workers.len());
    /// assert_eq!(thread.join().unwrap(), runtime.handle().workers());
    /// ```
    pub fn dump(&self) -> Snapshot {
        of(self.shared())
    }

    /// The same, without the stacks of the fibers: for whoever looks often, and would only throw them away.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// assert!(runtime.handle().dump_without_traces().fibers.iter().all(|fiber| fiber.trace.is_none()));
    /// ```
    pub fn dump_without_traces(&self) -> Snapshot {
        survey::survey(self.shared(), survey::Depth::Fibers).snapshot
    }
}

pub(crate) fn of(shared: &Shared) -> Snapshot {
    survey::survey(shared, survey::Depth::Stacks).snapshot
}
