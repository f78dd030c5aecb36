//! Which signal has asked the process to end.
//!
//! A nursery that ends on signals does not say on which. Since handlers that were there before are called as well, ours, which only take a note, are put
//! in place first. Having cleaned up, the process then ends as if it had had no handlers, so that whoever has started it sees what happened. A second
//! signal of a kind does not wait for that.
//!
//! A hangup ends no nursery by itself, so it is listened to from the start; unless the process was started to ignore it, as by `nohup`.

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use sisal::chan::Receiver;
use sisal::signal::{self, Signal};
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Takes notes of signals.
#[derive(Debug)]
pub(super) struct Signals {
    /// The last that has come; zero if none has.
    last: Arc<AtomicUsize>,
    /// Hangups, if they are to end the process.
    hangups: Option<Receiver<Signal>>,
}

impl Signals {
    /// Begins to take notes, if there are files to clean up; if not, signals end the process as they always do.
    pub(super) fn watch(cleans_up: bool) -> io::Result<Signals> {
        let last = Arc::new(AtomicUsize::new(0));
        let ends_on_hangup = cleans_up && !is_ignored(SIGHUP);
        let hangup = ends_on_hangup.then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().filter(|_| cleans_up).chain(hangup) {
            let has_come = Arc::new(AtomicBool::new(false));
            // In this order: the first of a kind finds that none has come.
            flag::register_conditional_default(signal, Arc::clone(&has_come))?;
            flag::register(signal, has_come)?;
            flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
        }
        let hangups = ends_on_hangup.then(|| signal::listen(&[Signal::HANGUP])).transpose()?;
        Ok(Signals { last, hangups })
    }

    /// Waits for a hangup; false if there is none to wait for, or something from outside ended the wait.
    pub(super) fn hang_up(&self) -> bool {
        self.hangups.as_ref().is_some_and(|hangups| hangups.recv().is_ok())
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

/// Whether the process ignores this signal: that is inherited from whoever has started it.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
