//! Tasks of executors that wait for a descriptor, by their wakers. They are counted for the whole process: while there are any, something
//! may come from outside.

use crate::prim::atomic::Ordering;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::task::Waker;

/// How many tasks may wait for one direction at first. Most of more will have been dropped: all are woken, and those that
/// still want to wait come back. They find room for twice as many, so that those who are alive do not drive each other out for ever.
const FEW: usize = 16;

static ALL: AtomicUsize = AtomicUsize::new(0);

/// Whether a task may be woken by a descriptor.
pub(crate) fn has_tasks() -> bool {
    // ORDERING: Acquire pairs with the Release in `wake`: whoever finds none finds also what they were woken to do.
    ALL.load(Ordering::Acquire) > 0
}

/// Tasks that are to be woken together.
pub(super) struct Tasks {
    wakers: Vec<Waker>,
    /// How many are no crowd.
    room: usize,
}

impl Tasks {
    pub(super) const fn new() -> Tasks {
        Tasks { wakers: Vec::new(), room: FEW }
    }

    /// Whether that task waits already: to poll again is no reason to be woken twice.
    pub(super) fn has(&self, task: &Waker) -> bool {
        self.wakers.iter().any(|waker| waker.will_wake(task))
    }

    pub(super) fn add(&mut self, task: Waker) {
        ALL.fetch_add(1, Ordering::Relaxed);
        self.wakers.push(task);
    }

    /// Takes all that had better be woken before another is added, to [wake](wake) them: until then they count.
    pub(super) fn take_crowd(&mut self) -> Vec<Waker> {
        if self.wakers.len() < self.room {
            return Vec::new();
        }
        self.room *= 2;
        mem::take(&mut self.wakers)
    }

    /// Takes all, since what they wait for has come, to [wake](wake) them: until then they count.
    pub(super) fn take(&mut self) -> Vec<Waker> {
        self.room = FEW;
        mem::take(&mut self.wakers)
    }
}

/// The waker of a task is somebody else's code: it may panic, and then that is its own affair.
pub(super) fn wake(task: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task.wake())) {
        // Its drop may panic too.
        mem::forget(payload);
    }
    // ORDERING: Release pairs with the Acquire in `has_tasks`.
    ALL.fetch_sub(1, Ordering::Release);
}
