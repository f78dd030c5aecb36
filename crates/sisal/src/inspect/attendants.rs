//! Those who look at a runtime as long as it is there, because its settings ask for it: the live view, and a thread that prints a dump
//! whenever a signal comes.

use super::asked::Asked;
use super::serve::{Serving, start};
use crate::chan::{Receiver, Sender, bounded};
use crate::prim::own_threads;
use crate::prim::say::say;
use crate::select::Select;
use crate::signal::{self, Signal};
use crate::spawn::Handle;
use std::io;
use std::thread::JoinHandle;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attendance {
    pub(crate) serve: Option<Asked>,
    pub(crate) dump_on: Option<Signal>,
}

/// They go when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Attendants {
    _serving: Option<Box<Serving>>,
    _dumping: Option<Dumping>,
}

impl Attendants {
    pub(crate) fn start(asked: &Attendance, runtime: &Handle) -> io::Result<Attendants> {
        Ok(Attendants {
            _serving: asked.serve.as_ref().map(|asked| start(asked, runtime)).transpose()?.flatten().map(Box::new),
            _dumping: asked.dump_on.map(|signal| Dumping::start(signal, runtime.clone())).transpose()?,
        })
    }
}

/// A thread that prints a dump of a runtime on standard error at every signal. It is no fiber: it answers when all workers are stuck.
#[derive(Debug)]
struct Dumping {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The thread is one of this process, and not of one that was forked from it.
    process: u32,
}

impl Dumping {
    fn start(signal: Signal, runtime: Handle) -> io::Result<Dumping> {
        let signals = signal::listen(&[signal])?;
        let (end, ended) = bounded(1);
        let thread = own_threads::spawn("sisal-dump", move || dump_at_each(&signals, &ended, &runtime))?;
        Ok(Dumping { end: Some(end), thread: Some(thread), process: std::process::id() })
    }
}

fn dump_at_each(signals: &Receiver<Signal>, ended: &Receiver<()>, runtime: &Handle) {
    let mut select = Select::new();
    select.recv(signals, |signal| signal.is_ok());
    select.recv(ended, |_| false);
    while select.wait() {
        say(format_args!("sisal: {}", runtime.dump()));
    }
}

impl Drop for Dumping {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The thread may have held what a channel is closed under.
            return std::mem::forget(self.end.take());
        }
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has printed what it had to say.
            let _ = thread.join();
        }
    }
}
