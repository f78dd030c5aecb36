//! The metrics for the `metrics` crate, and so for whatever collector a program has installed there.

use super::table::{Kind, LATENCY, LATENCY_HELP, RUNTIME};
use super::{LatencyHistogram, Metrics};
use crate::prim::own_threads;
use crate::spawn::Handle;
use metrics::{Gauge, Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// More often than this nobody is told.
const SHORTEST: Duration = Duration::from_millis(10);

/// Tells the recorder of the `metrics` crate about a runtime, now and then in every `interval`, until the returned reporter is dropped;
/// and once more then.
///
/// A thread of its own does that, named after the runtime. The series have the names and labels of [`Metrics::to_prometheus`]. Samples of the
/// latency are recorded as the longest time of their range. Intervals below 10 ms are taken for 10 ms. Install the recorder first.
///
/// # Errors
/// If the thread can't be started.
///
/// ```
/// use std::time::Duration;
/// let runtime = sisal::Runtime::new().unwrap();
/// let reporter = sisal::inspect::report_metrics(runtime.handle(), Duration::from_secs(10)).unwrap();
/// runtime.run(|| ());
/// drop(reporter);
/// ```
pub fn report_metrics(runtime: &Handle, interval: Duration) -> io::Result<MetricsReporter> {
    let stop = Arc::new(Stop::default());
    let mut report = Report { runtime: runtime.clone(), gauges: HashMap::new(), told: LatencyHistogram::default() };
    let (name, stopped) = (format!("{}-metrics", runtime.metrics().runtime), Arc::clone(&stop));
    describe(&report.runtime.metrics());
    let thread = own_threads::spawn(&name, move || {
        loop {
            report.tell();
            if stopped.comes_within(interval.max(SHORTEST)) {
                return report.tell();
            }
        }
    })?;
    Ok(MetricsReporter { stop, thread: Some(thread), process: std::process::id() })
}

/// Keeps a runtime's metrics reported, until it is dropped: see [`report_metrics`].
///
/// ```
/// use std::time::Duration;
/// let runtime = sisal::Runtime::new().unwrap();
/// let reporter: sisal::inspect::MetricsReporter =
///     sisal::inspect::report_metrics(runtime.handle(), Duration::from_secs(10)).unwrap();
/// assert_eq!(runtime.run(|| 7), 7);
/// // Says once more what there is.
/// drop(reporter);
/// ```
#[must_use = "the report ends when this is dropped"]
pub struct MetricsReporter {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
    /// The thread is one of this process, and not of one that was forked from it.
    process: u32,
}

impl Drop for MetricsReporter {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.stop.say();
        if let Some(thread) = self.thread.take() {
            // If a recorder has panicked, that has been printed.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for MetricsReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsReporter").finish_non_exhaustive()
    }
}

/// Ends the waits of the reporter's thread.
#[derive(Default)]
struct Stop {
    is_said: Mutex<bool>,
    said: Condvar,
}

impl Stop {
    fn say(&self) {
        *self.is_said.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.said.notify_all();
    }

    /// Waits for it, for at most so long; true if it was said.
    fn comes_within(&self, interval: Duration) -> bool {
        let is_said = self.is_said.lock().unwrap_or_else(PoisonError::into_inner);
        // What is too far away to be told is as good as never.
        let interval = interval.min(Duration::from_secs(u32::MAX.into()));
        let waited = self.said.wait_timeout_while(is_said, interval, |is_said| !*is_said);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Report {
    runtime: Handle,
    /// Those that were told last. One that is told no more is to read as nothing.
    gauges: HashMap<(&'static str, Vec<Label>), Gauge>,
    /// What was told of the latency: a recorder is told of new samples only.
    told: LatencyHistogram,
}

impl Report {
    fn tell(&mut self) {
        let metrics = self.runtime.metrics();
        let runtime = Label::new(RUNTIME, metrics.runtime.clone());
        let mut before = std::mem::take(&mut self.gauges);
        for family in metrics.families() {
            for series in family.series {
                let own = series.labels.into_iter().map(|(label, value)| Label::new(label, value.into_owned()));
                let labels: Vec<Label> = [runtime.clone()].into_iter().chain(own).collect();
                match family.kind {
                    Kind::Counter => counter!(family.name, labels).absolute(series.value),
                    Kind::Gauge => {
                        let key = (family.name, labels);
                        let gauge = before.remove(&key).unwrap_or_else(|| gauge!(key.0, key.1.clone()));
                        gauge.set(series.value as f64);
                        self.gauges.insert(key, gauge);
                    }
                }
            }
        }
        before.into_values().for_each(|gone| gone.set(0.0));
        self.tell_latency(metrics.latency, runtime);
    }

    fn tell_latency(&mut self, latency: LatencyHistogram, runtime: Label) {
        let series = histogram!(LATENCY, vec![runtime]);
        let mut longest = Duration::ZERO;
        for (place, range) in latency.ranges.iter().enumerate() {
            longest = range.up_to.unwrap_or(2 * longest);
            let told = self.told.ranges.get(place).map_or(0, |range| range.count);
            series.record_many(longest.as_secs_f64(), usize::try_from(range.count - told).unwrap_or(usize::MAX));
        }
        self.told = latency;
    }
}

/// Says what the series are.
fn describe(metrics: &Metrics) {
    for family in metrics.families() {
        match family.kind {
            Kind::Counter => describe_counter!(family.name, family.help),
            Kind::Gauge => describe_gauge!(family.name, family.help),
        }
    }
    describe_histogram!(LATENCY, Unit::Seconds, LATENCY_HELP);
}
