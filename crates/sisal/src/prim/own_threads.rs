//! The threads that are the crate's own. They do nothing of their own accord: what they do next is known to the runtime.
//!
//! Whoever wants to know whether anybody else could still do something counts the others. The workers of another runtime are others.

use super::fork;
use rustix::thread::{Pid, gettid};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::{fs, io};

static OWN: Mutex<Vec<Enrolled>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<Enrolled>> {
    // Nothing is left half done under it.
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stands for no runtime in particular.
pub(crate) const NO_RUNTIME: usize = 0;

/// A thread, and the runtime that it works for.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Enrolled {
    thread: Pid,
    runtime: usize,
}

/// The calling thread is the crate's own as long as this lives.
pub(crate) struct Enrolment(Enrolled);

/// The calling thread works for `runtime`, a number that tells it from others.
pub(crate) fn enroll(runtime: usize) -> Enrolment {
    let enrolled = Enrolled { thread: gettid(), runtime };
    own().push(enrolled);
    Enrolment(enrolled)
}

impl Drop for Enrolment {
    fn drop(&mut self) {
        let mut own = own();
        if let Some(place) = own.iter().rposition(|enrolled| *enrolled == self.0) {
            own.swap_remove(place);
        }
    }
}

/// Starts a thread of the crate's own, which works for no runtime in particular.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn_for(NO_RUNTIME, name, body)
}

/// Starts a thread that works for `runtime`.
pub(crate) fn spawn_for(
    runtime: usize,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    fork::watch();
    Builder::new().name(name.to_owned()).spawn(move || {
        SERVES.set(runtime);
        let _enrolment = enroll(runtime);
        body();
    })
}

thread_local! {
    /// The runtime that this thread was started for. It says so to the end, also while its thread-locals are dropped.
    static SERVES: Cell<usize> = const { Cell::new(NO_RUNTIME) };
}

/// Whether the calling thread was started for this runtime.
pub(crate) fn serves(runtime: usize) -> bool {
    SERVES.get() == runtime
}

/// Waits for the ends of threads, but for that of the caller, if it is among them: what its thread-locals held may be the last owner of a runtime.
pub(crate) fn join(threads: Vec<JoinHandle<()>>) {
    let others = threads.into_iter().filter(|thread| thread.thread().id() != thread::current().id());
    others.for_each(|thread| drop(thread.join()));
}

/// How many threads of the process are neither own, of this runtime or none, nor `idle`; none if that can't be found out.
pub(crate) fn count_others(runtime: usize, idle: &[Pid]) -> Option<usize> {
    let all: HashSet<i32> = fs::read_dir("/proc/self/task")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let own: Vec<Pid> = (own().iter())
        .filter(|enrolled| [NO_RUNTIME, runtime].contains(&enrolled.runtime))
        .map(|enrolled| enrolled.thread)
        .collect();
    let known: HashSet<i32> = own.iter().chain(idle).map(|thread| thread.as_raw_nonzero().get()).collect();
    Some(all.difference(&known).count())
}
