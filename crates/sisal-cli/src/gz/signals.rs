//! Signals that ask the process to end, and how it does.
//!
//! They are heard by a thread, which answers whatever the fibers are at:
//! 1. While no file is half written, a signal ends the process at once, as if it had not been listened to.
//! 2. The first of its kind that comes while one is, is noted. It ends the nursery in which the file is written, and with that the file is removed. Then the
//!    process ends by this signal, so that whoever has started it sees what happened.
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
use sisal::chan::{Receiver, Sender, bounded};
use sisal::signal::{self, Signal};
use std::convert::Infallible;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// Those that ask the process to end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGXCPU];

/// What has been heard of signals.
#[derive(Debug)]
pub(super) struct Signals {
    heard: Arc<Heard>,
    /// Closed by the first that is noted.
    noted: Receiver<Infallible>,
}

/// What the thread shares with fibers.
#[derive(Debug, Default)]
struct Heard {
    /// The last that was noted; zero if none was.
    last: AtomicI32,
    unfinished: Unfinished,
}

impl Signals {
    /// Begins to listen, if there are files to clean up; if not, signals end the process as they always do.
    pub(super) fn watch(cleans_up: bool) -> io::Result<Signals> {
        let heard = Arc::<Heard>::default();
        let (not_yet, noted) = bounded(1);
        let heeded = if cleans_up { heeded() } else { Vec::new() };
        if cleans_up {
            // Whoever has a handler does not end, and nobody looks at the flag.
            flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        }
        if !heeded.is_empty() {
            let signals = signal::listen(&heeded)?;
            let heard = Arc::clone(&heard);
            thread::Builder::new().name("gz-signals".to_owned()).spawn(move || heard.answer(&signals, not_yet))?;
        }
        Ok(Signals { heard, noted })
    }

    /// Where to note which file is half written.
    pub(super) fn unfinished(&self) -> &Unfinished {
        &self.heard.unfinished
    }

    /// Waits for a signal; false if something from outside ended the wait, or there is nothing to wait for.
    pub(super) fn wait(&self) -> bool {
        let _ended = self.noted.recv();
        self.have_come()
    }

    /// Whether a signal has come.
    pub(super) fn have_come(&self) -> bool {
        self.heard.last.load(Ordering::Relaxed) != 0
    }

    /// Ends the process by the signal that has come, if one has.
    pub(super) fn end_if_asked_to(&self) {
        match self.heard.last.load(Ordering::Relaxed) {
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
    fn answer(&self, signals: &Receiver<Signal>, not_yet: Sender<Infallible>) {
        let mut not_yet = Some(not_yet);
        let mut known = Vec::new();
        while let Ok(signal) = signals.recv() {
            let unfinished = self.unfinished.lock();
            if unfinished.is_some() && !known.contains(&signal) {
                known.push(signal);
                // ORDERING: Relaxed: who has to know of it has been told by the channel, or has had the lock after us.
                self.last.store(signal.as_raw(), Ordering::Relaxed);
                drop(not_yet.take());
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

/// The signals that end the process: those that it does not ignore, which is inherited from whoever has started it.
fn heeded() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ENDING.into_iter().filter(|signal| mask >> (signal - 1) & 1 == 0).map(Signal::from_raw).collect()
}
