//! What a recorder of the `metrics` crate is told.

mod common;

use common::watchdog::guarded;
use common::{fixed, shut_down, watched};
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use sisal::inspect::report_metrics;
use sisal::{join_all, spawn, yield_now};
use std::time::Duration;

/// The value of a series that has this label besides the runtime's.
fn told(snapshots: &Snapshotter, name: &str, label: Option<(&str, &str)>) -> Option<DebugValue> {
    let all = snapshots.snapshot().into_vec();
    let found = all.into_iter().find(|(key, ..)| {
        let labels = || key.key().labels().map(|label| (label.key(), label.value()));
        key.key().name() == name
            && labels().any(|label| label == ("runtime", "told"))
            && label.is_none_or(|label| labels().any(|other| other == label))
    });
    found.map(|(.., value)| value)
}

// One test, since a process has one recorder.
#[test]
fn a_recorder_is_told_what_the_runtime_does_as_long_as_the_reporter_lives() {
    guarded(|| {
        let recorder = DebuggingRecorder::new();
        let snapshots = recorder.snapshotter();
        recorder.install().unwrap();
        let runtime = watched(fixed(1).name("told").build().unwrap());
        let (sender, receiver) = sisal::chan::bounded::<()>(1);
        let waiting = runtime.spawn(move || receiver.recv().is_err());

        let reporter = report_metrics(runtime.handle(), Duration::ZERO).unwrap();
        let parked = || told(&snapshots, "sisal_fibers_parked", Some(("reason", "receiving from a channel")));
        while parked() != Some(DebugValue::Gauge(1.0.into())) {
            std::thread::yield_now();
        }
        drop(sender);
        assert!(waiting.join().unwrap());
        while parked() != Some(DebugValue::Gauge(0.0.into())) {
            std::thread::yield_now();
        }
        let samples = runtime.metrics().latency.count();
        runtime.run(|| {
            let yielding = (0..8).map(|_| spawn(|| (0..500).for_each(|_| yield_now())));
            join_all(yielding.collect::<Vec<_>>()).into_iter().for_each(Result::unwrap);
        });
        let metrics = runtime.metrics();
        assert!(metrics.latency.count() > samples);
        // A snapshot takes samples and counts away, so this one has those since the last.
        drop(reporter);
        let all = snapshots.snapshot().into_vec();
        let spawned = all.iter().find(|(key, ..)| key.key().name() == "sisal_fibers_spawned_total").unwrap();
        assert_eq!(spawned.0.kind(), MetricKind::Counter);
        assert_eq!(spawned.3, DebugValue::Counter(metrics.spawned));
        assert!(spawned.2.as_ref().is_some_and(|help| help.contains("spawned")));

        let latency = all.iter().find(|(key, ..)| key.key().name() == "sisal_run_queue_latency_seconds").unwrap();
        let DebugValue::Histogram(told_samples) = &latency.3 else { panic!("{latency:?}") };
        assert!(told_samples.len() as u64 >= metrics.latency.count() - samples, "{told_samples:?}");

        // Nobody is told after the reporter's end.
        runtime.run(|| ());
        assert_eq!(told(&snapshots, "sisal_fibers_spawned_total", None), Some(DebugValue::Counter(0)));
        shut_down(runtime);
    });
}
