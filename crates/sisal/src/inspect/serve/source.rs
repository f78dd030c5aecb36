//! Where the data of the live view come from.

use crate::fiber::FiberId;
use crate::inspect::snapshot::Snapshot;
use crate::inspect::survey::{Depth, survey};
use crate::inspect::trace::{FlightRecorder, recorded};
use crate::spawn::Handle;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Which fibers are wanted, and how much of each.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Only this one, with those that it waits for in a cycle; all if none is named.
    pub id: Option<u64>,
    /// Whether with stack traces.
    pub traces: bool,
}

/// Waits until this time has passed, or less if the server ends before.
pub type Wait<'a> = &'a dyn Fn(Duration);

/// What the live view shows. Calls come from several threads at once, none of them a worker, and must not wait for one.
pub trait Source: Send + Sync {
    /// The fibers, as text.
    fn fibers_text(&self, selection: Selection) -> String;
    /// The snapshot, as JSON.
    fn fibers_json(&self, selection: Selection) -> String;
    /// The metrics, as Prometheus reads them.
    fn metrics_text(&self) -> String;
    /// The metrics, as JSON.
    fn metrics_json(&self) -> String;
    /// Records for `duration`, passed by a call of `wait`, and gives it as Chrome's trace JSON. Without one, gives what the
    /// flight recorder holds. There is never more than one call with a duration at a time.
    fn trace_json(&self, duration: Option<Duration>, wait: Wait<'_>) -> String;
}

/// The source that is real: a runtime.
pub(super) struct Live {
    runtime: Handle,
    /// Held by whoever looks at all fibers: what is seen of a million of them takes room, so one does at a time.
    looking: Mutex<()>,
}

impl Live {
    pub(super) fn of(runtime: Handle) -> Live {
        Live { runtime, looking: Mutex::new(()) }
    }

    fn snapshot(&self, selection: Selection) -> Snapshot {
        let depth = match selection.id {
            _ if !selection.traces => Depth::Fibers,
            Some(id) => Depth::StackOf(id),
            None => Depth::Stacks,
        };
        let mut snapshot = survey(self.runtime.shared(), depth).snapshot;
        if let Some(id) = selection.id {
            // With those it waits for in a cycle, if it does.
            snapshot.cycles.retain(|cycle| cycle.iter().any(|fiber| fiber.get() == id));
            let around: HashSet<FiberId> = snapshot.cycles.iter().flatten().copied().collect();
            snapshot.fibers.retain(|fiber| fiber.id.get() == id || around.contains(&fiber.id));
        }
        snapshot
    }
}

impl Source for Live {
    fn fibers_text(&self, selection: Selection) -> String {
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        self.snapshot(selection).to_string()
    }

    fn fibers_json(&self, selection: Selection) -> String {
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        self.snapshot(selection).to_json()
    }

    fn metrics_text(&self) -> String {
        self.runtime.metrics().to_prometheus()
    }

    fn metrics_json(&self) -> String {
        self.runtime.metrics().to_json()
    }

    fn trace_json(&self, duration: Option<Duration>, wait: Wait<'_>) -> String {
        let Some(duration) = duration else {
            return recorded(&self.runtime).map_or_else(|| r#"{"traceEvents":[]}"#.to_owned(), |trace| trace.to_json());
        };
        let recorder = FlightRecorder::start(&self.runtime);
        wait(duration);
        recorder.stop().to_json()
    }
}
