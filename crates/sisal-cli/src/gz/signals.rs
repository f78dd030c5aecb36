//! Which signal has asked the process to end.
//!
//! A nursery that ends on signals does not say on which. Since handlers that were there before are called as well, ours, which only take a note, are put
//! in place first. Having cleaned up, the process then ends as if it had had no handlers, so that whoever has started it sees what happened. A second
//! signal of a kind does not wait for that.

use signal_hook::consts::{SIGINT, SIGPIPE, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Takes notes of signals.
#[derive(Debug)]
pub(super) struct Signals {
    /// The last that has come; zero if none has.
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Begins to take notes, if there are files to clean up; if not, signals end the process as they always do.
    pub(super) fn watch(cleans_up: bool) -> io::Result<Signals> {
        let last = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM].into_iter().filter(|_| cleans_up) {
            let has_come = Arc::new(AtomicBool::new(false));
            // In this order: the first of a kind finds that none has come.
            flag::register_conditional_default(signal, Arc::clone(&has_come))?;
            flag::register(signal, has_come)?;
            flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
        }
        Ok(Signals { last })
    }

    /// Whether a signal has come.
    pub(super) fn have_come(&self) -> bool {
        self.last.load(Ordering::Relaxed) != 0
    }

    /// Ends the process by the signal that has come, if one has.
    pub(super) fn end_if_asked_to(&self) {
        match self.last.load(Ordering::Relaxed) {
            0 => {}
            // It returns only if the signal can't be raised: then the exit code has to tell.
            signal => drop(emulate_default_handler(signal as i32)),
        }
    }

    /// Ends the process as one that writes where nobody reads.
    pub(super) fn end_by_broken_pipe(&self) {
        // As above.
        drop(emulate_default_handler(SIGPIPE));
    }
}
