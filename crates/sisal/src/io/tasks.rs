//! Tasks of executors that wait for a descriptor, by their wakers. They are counted for the whole process: while there are any, something
//! may come from outside.

use crate::prim::atomic::Ordering;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::task::Waker;

/// How many tasks may wait for one direction. Most of that many will have been dropped, or have come twice: all are woken, and those that
/// still want to wait come back.
const MOST: usize = 16;

static ALL: AtomicUsize = AtomicUsize::new(0);

/// Whether a task may be woken by a descriptor.
pub(crate) fn has_tasks() -> bool {
    // ORDERING: Acquire pairs with the Release in `wake`: whoever finds none finds also what they were woken to do.
    ALL.load(Ordering::Acquire) > 0
}

/// Tasks that are to be woken together.
pub(super) struct Tasks(Vec<Waker>);

impl Tasks {
    pub(super) const fn new() -> Tasks {
        Tasks(Vec::new())
    }

    pub(super) fn add(&mut self, task: Waker) {
        ALL.fetch_add(1, Ordering::Relaxed);
        self.0.push(task);
    }

    /// Whether all had better be woken before another is added.
    pub(super) fn are_many(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Takes all, to [wake](wake) them: until then they count.
    pub(super) fn take(&mut self) -> Vec<Waker> {
        mem::take(&mut self.0)
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
