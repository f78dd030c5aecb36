//! A runtime that is none: it says what a test wants it to say.

use sisal::inspect::{Selection, ServeOptions, Server, Source, Wait};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// What it says.
#[derive(Default)]
pub(crate) struct Fake {
    /// The snapshot, without its selection.
    pub(crate) fibers: Mutex<String>,
    /// What it was asked for.
    pub(crate) selections: Mutex<Vec<Selection>>,
    /// Whether it panics when asked for metrics.
    pub(crate) panics: AtomicBool,
    /// How many traces have begun.
    tracing: Mutex<usize>,
    began: Condvar,
}

impl Fake {
    pub(crate) fn new() -> Arc<Fake> {
        Arc::default()
    }

    /// Serves it at any port of the loopback interface.
    pub(crate) fn serve(self: &Arc<Fake>, options: ServeOptions) -> Server {
        options.serve_from("127.0.0.1:0", self.clone()).unwrap()
    }

    /// Waits until so many traces have begun.
    pub(crate) fn wait_for_traces(&self, count: usize) {
        drop(self.began.wait_while(self.tracing.lock().unwrap(), |tracing| *tracing < count).unwrap());
    }
}

impl Source for Fake {
    fn fibers_text(&self, selection: Selection) -> String {
        format!("fibers as text, {selection:?}")
    }

    fn fibers_json(&self, selection: Selection) -> String {
        self.selections.lock().unwrap().push(selection);
        self.fibers.lock().unwrap().clone()
    }

    fn metrics_text(&self) -> String {
        assert!(!self.panics.load(Ordering::Relaxed), "on purpose");
        "sisal_fibers 7\n".to_owned()
    }

    fn metrics_json(&self) -> String {
        r#"{"fibers":7}"#.to_owned()
    }

    fn trace_json(&self, duration: Option<Duration>, wait: Wait<'_>) -> String {
        *self.tracing.lock().unwrap() += 1;
        self.began.notify_all();
        duration.into_iter().for_each(wait);
        format!(r#"{{"traceEvents":[],"duration":"{duration:?}"}}"#)
    }
}
