//! What is said on standard error, heard by the process that says it.

use std::io::{BufRead, BufReader, PipeReader, Write, pipe};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread;

/// Hears all that the process says from [`start`](Self::start) to [`end`](Self::end), line by line. It is said all the same.
pub(crate) struct Overheard {
    lines: Arc<Mutex<Vec<String>>>,
    /// What was standard error before.
    stderr: OwnedFd,
    listener: thread::JoinHandle<()>,
}

impl Overheard {
    /// For a process of its own: a process has one standard error.
    pub(crate) fn start() -> Overheard {
        let (reader, writer) = pipe().unwrap();
        let stderr = rustix::io::dup(rustix::stdio::stderr()).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let listener = {
            let (lines, repeat) = (Arc::clone(&lines), stderr.try_clone().unwrap());
            thread::spawn(move || listen(reader, &lines, repeat.into()))
        };
        rustix::stdio::dup2_stderr(writer).unwrap();
        Overheard { lines, stderr, listener }
    }

    /// Tells whether a line with this in it has been heard so far.
    pub(crate) fn listen_for(&self, text: &'static str) -> impl Fn() -> bool + Send + 'static {
        let lines = Arc::clone(&self.lines);
        move || lines.lock().unwrap().iter().any(|line| line.contains(text))
    }

    /// All that was heard.
    pub(crate) fn end(self) -> Vec<String> {
        // The last writer of the pipe goes.
        rustix::stdio::dup2_stderr(self.stderr).unwrap();
        self.listener.join().unwrap();
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

fn listen(from: PipeReader, lines: &Mutex<Vec<String>>, mut to: std::fs::File) {
    for line in BufReader::new(from).lines().map(Result::unwrap) {
        writeln!(to, "{line}").unwrap();
        lines.lock().unwrap().push(line);
    }
}
