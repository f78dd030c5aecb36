//! Signals that ask the process to end, and how it does.
//!
//! They are heard by a thread, which answers whatever the fibers are at:
//! 1. While no file is half written, a signal ends the process at once, as if it had not been listened to.
//! 2. The first of its kind that comes while one is, is noted. It cancels the work, and with that the file is removed. Then the process ends by this
//!    signal, so that whoever has started it sees what happened.
//! 3. A second one does not wait for that: the thread removes the file, and ends the process.
//!
//! The thread has the [lock](super::unfinished) when it decides, and until the process has ended: no file is made meanwhile that nobody would remove.
//!
//! Those that the process was started to ignore, as by `nohup`, it ignores. One that only tells that a file may not become larger does nothing, since the write
//! fails as well.

use super::unfinished::Unfinished;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use sisal::CancelToken;
use sisal::chan::Receiver;
use sisal::signal::{self, Signal};
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// Those that ask the process to end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGXCPU];

/// What has been heard of signals.
#[derive(Debug)]
pub(super) struct Signals(Arc<Heard>);

/// What the thread shares with fibers.
#[derive(Debug, Default)]
struct Heard {
    /// The last that was noted; zero if none was.
    last: AtomicI32,
    /// Cancelled when one is noted.
    work: CancelToken,
    unfinished: Unfinished,
}

impl Signals {
    /// Begins to listen, if there are files to clean up; if not, signals end the process as they always do.
    pub(super) fn watch(cleans_up: bool) -> io::Result<Signals> {
        let heard = Arc::<Heard>::default();
        if cleans_up {
            // Whoever has a handler does not end, and nobody looks at the flag.
            flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
            listen(&heard)?;
        }
        Ok(Signals(heard))
    }

    /// Where to note which file is half written.
    pub(super) fn unfinished(&self) -> &Unfinished {
        &self.0.unfinished
    }

    /// Does work that a signal is to cancel.
    pub(super) fn run(&self, work: impl FnOnce()) {
        self.0.work.run(work);
    }

    /// Whether a signal has come.
    pub(super) fn have_come(&self) -> bool {
        self.0.work.is_cancelled()
    }

    /// Ends the process by the signal that has come, if one has.
    pub(super) fn end_if_asked_to(&self) {
        match self.0.last.load(Ordering::Relaxed) {
            0 => {}
            // It returns only if the signal can't be raised: then the exit code has to tell.
            signal => drop(emulate_default_handler(signal)),
        }
    }

    /// Ends the process as one that writes where nobody reads.
    pub(super) fn end_by_broken_pipe(&self) {
        // As above.
        drop(emulate_default_handler(SIGPIPE));
    }
}

impl Heard {
    /// What the thread does.
    fn answer(&self, signals: &Receiver<Signal>) {
        let mut known = Vec::new();
        while let Ok(signal) = signals.recv() {
            let unfinished = self.unfinished.lock();
            if unfinished.is_some() && !known.contains(&signal) {
                known.push(signal);
                // ORDERING: Relaxed: it is asked for by who has had the lock after us, since the file is no longer half written.
                self.last.store(signal.as_raw(), Ordering::Relaxed);
                self.work.cancel();
                continue;
            }
            if let Some(path) = &*unfinished {
                // If it can't be removed, there is no time left to tell anybody.
                let _ = fs::remove_file(path);
            }
            // As above: if it can't be raised, the process goes on as if it had not come.
            drop(emulate_default_handler(signal.as_raw()));
        }
    }
}

/// Starts the thread, if there is something to hear.
fn listen(heard: &Arc<Heard>) -> io::Result<()> {
    let heeded = heeded();
    if heeded.is_empty() {
        return Ok(());
    }
    let signals = signal::listen(&heeded)?;
    let heard = Arc::clone(heard);
    thread::Builder::new().name("gz-signals".to_owned()).spawn(move || heard.answer(&signals)).map(drop)
}

/// The signals that end the process: those that it does not ignore, which is inherited from whoever has started it.
fn heeded() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ENDING.into_iter().filter(|signal| mask >> (signal - 1) & 1 == 0).map(Signal::from_raw).collect()
}
