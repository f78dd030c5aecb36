//! Plain threads that wait, for those who look: a list under a lock, in which a thread stands while it waits. A thread that waits
//! goes to sleep in the kernel, which costs far more.

#![allow(unsafe_code, reason = "objects and waits are pointers")]

use super::Waiting;
use crate::fiber::waiter::Wait;
use crate::fiber::who::Who;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::prim::thread_number::{self, ThreadNumber};
use rustix::thread::{Pid, gettid};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that waits. What it waits for can be looked at as long as this stands in the list.
pub(crate) struct WaitingThread {
    number: ThreadNumber,
    pub(crate) thread: Pid,
    pub(crate) name: Option<String>,
    pub(crate) reason: Reason,
    pub(crate) object: Object,
    pub(crate) place: Place,
    pub(crate) since: Moment,
    pub(crate) has_deadline: bool,
    wait: NonNull<Wait<Who>>,
}

impl WaitingThread {
    /// Whether somebody has ended its wait, or told it to look at it, and it has only to be given a processor.
    pub(crate) fn is_woken(&self) -> bool {
        // SAFETY: it stays in the thread's frame as long as this stands in the list.
        let wait = unsafe { self.wait.as_ref() };
        wait.woken().is_some() || matches!(wait.who(), Who::Thread(parker) if parker.is_told())
    }
}

// SAFETY: an object may be looked at from any thread.
unsafe impl Send for WaitingThread {}

static THREADS: Mutex<Vec<WaitingThread>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<WaitingThread>> {
    // Nothing is left half done under it.
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread stands in the list as long as this lives.
pub(super) struct Listed(());

impl Listed {
    pub(super) fn new(wait: &Wait<Who>, waiting: &Waiting, ends_by_itself: bool) -> Listed {
        let thread = std::thread::current();
        lock().push(WaitingThread {
            number: thread_number::current(),
            thread: gettid(),
            name: thread.name().map(str::to_owned),
            reason: waiting.reason,
            object: waiting.object,
            place: waiting.place,
            since: Moment::now(),
            has_deadline: ends_by_itself,
            wait: NonNull::from(wait),
        });
        Listed(())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let number = thread_number::current();
        let mut threads = lock();
        // The last one that came: a thread that waits within a wait, in a signal handler say, leaves that first.
        if let Some(place) = threads.iter().rposition(|thread| thread.number == number) {
            threads.remove(place);
        }
    }
}

/// Whether there are any.
pub(crate) fn are_there() -> bool {
    !lock().is_empty()
}

/// Looks at all of them. They can't go on meanwhile.
pub(crate) fn look(see: impl FnMut(&WaitingThread)) {
    lock().iter().for_each(see);
}
