//! Where the data of the live view come from.

use crate::spawn::Handle;
use std::time::Duration;

/// Which fibers are wanted, and how much of each.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Only this one; all if none is named.
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
    /// flight recorder holds. There is never more than one call at a time.
    fn trace_json(&self, duration: Option<Duration>, wait: Wait<'_>) -> String;
}

/// The source that is real: a runtime.
pub(super) struct Live {
    runtime: Handle,
}

impl Live {
    pub(super) fn of(runtime: Handle) -> Live {
        Live { runtime }
    }
}

impl Source for Live {
    fn fibers_text(&self, _selection: Selection) -> String {
        format!("{}\n", self.runtime.stats())
    }

    fn fibers_json(&self, _selection: Selection) -> String {
        let stats = self.runtime.stats();
        format!(
            r#"{{"version":1,"runtime":"sisal","pid":{},"workers":[],"counts":{{"live":{},"spawned":{},"finished":{}}},"waits":{{}},"fibers":[],"fresh":[],"threads":[],"objects":[],"cycles":[]}}"#,
            std::process::id(),
            stats.spawned - stats.finished,
            stats.spawned,
            stats.finished
        )
    }

    fn metrics_text(&self) -> String {
        let stats = self.runtime.stats();
        format!("sisal_fibers_spawned_total {}\nsisal_fibers_finished_total {}\n", stats.spawned, stats.finished)
    }

    fn metrics_json(&self) -> String {
        let stats = self.runtime.stats();
        format!(r#"{{"spawned":{},"finished":{}}}"#, stats.spawned, stats.finished)
    }

    fn trace_json(&self, duration: Option<Duration>, wait: Wait<'_>) -> String {
        duration.into_iter().for_each(wait);
        r#"{"traceEvents":[]}"#.to_owned()
    }
}
