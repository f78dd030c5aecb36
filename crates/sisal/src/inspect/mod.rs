//! Looking at a runtime: what it does, and what it has done.
//!
//! Nothing here costs anything while nobody looks: workers count what they do in memory of their own, and whoever asks sums that up.
// What is where:
// - `metrics`: counts and lengths at one moment, as text, JSON and for Prometheus.
// - `json`: writing JSON, for everything here that machines read.

#[allow(dead_code, reason = "for all of what is here")]
pub(crate) mod json;
mod metrics;

pub use self::metrics::{
    BlockingThreads, IoMetrics, LatencyHistogram, LatencyRange, Metrics, QueueLengths, StackMetrics, WorkerMetrics,
    WorkerQueues, metrics,
};
#[cfg(feature = "metrics")]
pub use self::metrics::{MetricsReporter, report_metrics};
