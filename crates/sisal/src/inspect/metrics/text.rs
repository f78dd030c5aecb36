//! The metrics for people, and as JSON.

use super::{LatencyHistogram, Metrics};
use crate::inspect::json;
use std::fmt;
use std::time::Duration;

impl Metrics {
    /// As JSON: an object whose fields are named as here. Times are in nanoseconds.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).build()?;
    /// assert!(runtime.metrics().to_json().contains(r#""base":2"#));
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn to_json(&self) -> String {
        json::object(|whole| {
            whole.field("version", 1u32).field("runtime", &self.runtime);
            self.write_fibers(whole);
            self.write_workers(whole);
            self.write_resources(whole);
        })
    }

    fn write_fibers(&self, whole: &mut json::Object<'_>) {
        whole.field("live", self.live).field("running", self.running);
        whole.field("runnable", self.runnable()).field("fresh", self.fresh).field("ready", self.ready);
        whole
            .object("parked", |parked| self.parked.iter().for_each(|(reason, count)| _ = parked.field(reason, *count)));
        whole.field("spawned", self.spawned).field("finished", self.finished).field("panicked", self.panicked);
        whole.field("detached_panics", self.detached_panics).field("cancelled", self.cancelled);
        whole.field("parks", self.parks).field("wakes", self.wakes);
    }

    fn write_workers(&self, whole: &mut json::Object<'_>) {
        let workers = &self.workers;
        whole.object("workers", |object| {
            object.field("total", workers.total).field("base", workers.base).field("added", workers.added);
            object.field("sleeping", workers.sleeping).field("searching", workers.searching);
        });
        whole.field("switches", self.switches).field("steals", self.steals);
        whole.object("queues", |object| {
            object.field("injector", self.queues.injector);
            object.array("workers", |array| {
                for queues in &self.queues.workers {
                    array.object(|object| {
                        object.field("worker", queues.worker).field("ring", queues.ring).field("lane", queues.lane);
                        object.field("inbox", queues.inbox).field("ready", queues.ready);
                    });
                }
            });
        });
        whole.object("latency", |object| write_latency(object, &self.latency));
    }

    fn write_resources(&self, whole: &mut json::Object<'_>) {
        let (blocking, stacks) = (&self.blocking, &self.stacks);
        whole.object("blocking", |object| {
            object.field("busy", blocking.busy).field("idle", blocking.idle).field("queued", blocking.queued);
        });
        whole.field("timers", self.timers);
        whole.object("io", |object| {
            object.field("descriptors", self.io.descriptors).field("events", self.io.events);
        });
        whole.object("stacks", |object| {
            object.field("in_use", stacks.in_use).field("in_use_bytes", stacks.in_use_bytes);
            object.field("mapped_bytes", stacks.mapped_bytes);
        });
    }

    /// What the runtime has done that [`Stats`](crate::Stats) does not tell, in one line.
    pub(crate) fn work_done(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            let Metrics { switches, parks, wakes, steals, .. } = self;
            write!(f, "{switches} turns, {parks} waits begun, {wakes} ended, {steals} steals, ")?;
            write!(f, "{} events from outside; {}", self.io.events, self.latency)
        })
    }
}

fn write_latency(object: &mut json::Object<'_>, latency: &LatencyHistogram) {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    object.field("count", latency.count()).field("sum_ns", nanoseconds(latency.sum));
    object.field("p50_ns", latency.quantile(0.5).map(nanoseconds));
    object.field("p99_ns", latency.quantile(0.99).map(nanoseconds));
    object.array("ranges", |array| {
        for range in &latency.ranges {
            array.object(|object| {
                object.field("up_to_ns", range.up_to.map(nanoseconds)).field("count", range.count);
            });
        }
    });
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metrics { workers, blocking, stacks, .. } = self;
        writeln!(
            f,
            "fibers   {} live: {} running, {} fresh, {} ready, {} waiting; {} spawned, {} ended ({} panicked, {} cancelled)",
            self.live,
            self.running,
            self.fresh,
            self.ready,
            self.parked.values().sum::<usize>(),
            self.spawned,
            self.finished,
            self.panicked,
            self.cancelled,
        )?;
        self.parked.iter().try_for_each(|(reason, count)| writeln!(f, "         {count} {reason}"))?;
        writeln!(
            f,
            "workers  {} ({} added): {} asleep, {} searching",
            workers.total, workers.added, workers.sleeping, workers.searching
        )?;
        writeln!(f, "queues   {} for any worker", self.queues.injector)?;
        for queues in &self.queues.workers {
            writeln!(
                f,
                "         worker {}: {} fresh, {} placed, {} sent, {} ready",
                queues.worker, queues.ring, queues.lane, queues.inbox, queues.ready
            )?;
        }
        writeln!(
            f,
            "blocking {} threads busy, {} idle, {} calls queued",
            blocking.busy, blocking.idle, blocking.queued
        )?;
        writeln!(f, "outside  {} descriptors, {} timers", self.io.descriptors, self.timers)?;
        writeln!(
            f,
            "stacks   {} in use, {} MiB of {} MiB mapped",
            stacks.in_use,
            stacks.in_use_bytes >> 20,
            stacks.mapped_bytes >> 20
        )?;
        write!(f, "so far   {}", self.work_done())
    }
}

impl fmt::Display for LatencyHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        if count == 0 {
            return f.write_str("no wait of a ready fiber timed");
        }
        let within = |part| {
            fmt::from_fn(move |f| match self.quantile(part) {
                Some(time) => write!(f, "{time:?}"),
                None => f.write_str("more than can be told"),
            })
        };
        write!(f, "ready fibers ran within {} (median), {} (99 %), of {count} timed", within(0.5), within(0.99))
    }
}
