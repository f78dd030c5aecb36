//! The metrics as named series, the same for everybody who collects such: names after the manner of Prometheus.

use super::Metrics;
use std::borrow::Cow;

/// What a series of numbers is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
}

/// Numbers that mean the same, told apart by labels.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    pub(super) series: Vec<Series>,
}

/// One number.
pub(super) struct Series {
    pub(super) labels: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) value: u64,
}

/// The name of the histogram, which is no family of plain numbers.
pub(super) const LATENCY: &str = "sisal_run_queue_latency_seconds";
pub(super) const LATENCY_HELP: &str = "How long ready fibers wait for their turn, sampled.";

/// The label that every series has.
pub(super) const RUNTIME: &str = "runtime";

impl Metrics {
    /// All but the histogram.
    pub(super) fn families(&self) -> Vec<Family> {
        let mut families = self.of_fibers();
        families.extend(self.of_workers());
        families.extend(self.of_resources());
        families
    }

    fn of_fibers(&self) -> Vec<Family> {
        let parked = self.parked.iter().map(|(&reason, &count)| labelled("reason", reason, count as u64));
        let runnable = [labelled("state", "fresh", self.fresh), labelled("state", "ready", self.ready as u64)];
        vec![
            gauge("sisal_fibers_live", "Fibers that have not ended.", self.live),
            gauge("sisal_fibers_running", "Fibers that run.", self.running as u64),
            family("sisal_fibers_runnable", "Fibers that wait for a worker.", Kind::Gauge, runnable),
            family("sisal_fibers_parked", "Fibers that wait, by what for.", Kind::Gauge, parked),
            counter("sisal_fibers_spawned_total", "Fibers spawned.", self.spawned),
            counter("sisal_fibers_finished_total", "Fibers that have ended, in whatever way.", self.finished),
            counter("sisal_fibers_panicked_total", "Fibers that ended in a panic.", self.panicked),
            counter(
                "sisal_fibers_detached_panics_total",
                "Fibers that ended in a panic that nobody has seen.",
                self.detached_panics,
            ),
            counter("sisal_fibers_cancelled_total", "Fibers cancelled before their start.", self.cancelled),
            counter("sisal_parks_total", "Waits that fibers have begun.", self.parks),
            counter("sisal_wakes_total", "Waits that have ended.", self.wakes),
        ]
    }

    fn of_workers(&self) -> Vec<Family> {
        let workers = &self.workers;
        let kinds = [labelled("kind", "base", workers.base as u64), labelled("kind", "added", workers.added as u64)];
        let lengths = self.queues.workers.iter().flat_map(|queues| {
            let lengths =
                [("ring", queues.ring), ("lane", queues.lane), ("inbox", queues.inbox), ("ready", queues.ready)];
            lengths.map(|(queue, length)| Series {
                labels: vec![("queue", queue.into()), ("worker", queues.worker.to_string().into())],
                value: length as u64,
            })
        });
        let injector = labelled("queue", "injector", self.queues.injector as u64);
        vec![
            family("sisal_workers", "Workers.", Kind::Gauge, kinds),
            gauge("sisal_workers_sleeping", "Workers that sleep.", workers.sleeping as u64),
            gauge("sisal_workers_searching", "Workers that look for work.", workers.searching as u64),
            family("sisal_queue_length", "Fibers in the queues.", Kind::Gauge, lengths.chain([injector])),
            counter("sisal_switches_total", "Turns that workers have begun.", self.switches),
            counter("sisal_steals_total", "How often fresh fibers were taken from another worker.", self.steals),
        ]
    }

    fn of_resources(&self) -> Vec<Family> {
        let blocking = &self.blocking;
        let threads =
            [labelled("state", "busy", blocking.busy as u64), labelled("state", "idle", blocking.idle as u64)];
        vec![
            family("sisal_blocking_threads", "Threads for calls that block.", Kind::Gauge, threads),
            gauge("sisal_blocking_queued", "Calls that wait for such a thread.", blocking.queued as u64),
            gauge("sisal_timers", "Timers that are set.", self.timers as u64),
            gauge("sisal_io_descriptors", "Descriptors that workers listen to.", self.io.descriptors as u64),
            counter("sisal_io_events_total", "What was heard of descriptors.", self.io.events),
            gauge("sisal_stacks_in_use", "Stacks that fibers or workers have.", self.stacks.in_use as u64),
            gauge("sisal_stack_in_use_bytes", "Address space of these.", self.stacks.in_use_bytes as u64),
            gauge("sisal_stack_mapped_bytes", "Address space mapped for stacks.", self.stacks.mapped_bytes as u64),
        ]
    }
}

fn labelled(label: &'static str, as_what: &'static str, value: u64) -> Series {
    Series { labels: vec![(label, as_what.into())], value }
}

fn family(name: &'static str, help: &'static str, kind: Kind, series: impl IntoIterator<Item = Series>) -> Family {
    Family { name, help, kind, series: series.into_iter().collect() }
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    family(name, help, Kind::Gauge, [Series { labels: Vec::new(), value }])
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Family {
    family(name, help, Kind::Counter, [Series { labels: Vec::new(), value }])
}
