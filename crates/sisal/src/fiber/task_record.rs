//! The wait record of a task: on the heap, since its future may move and go at any time. See
//! [`task_parker`](crate::prim::task_parker) for what that entails.
#![allow(unsafe_code, reason = "records are reached by pointer, from lists and by their owner")]

use super::waiter::{Wait, Waiter};
use super::who::Who;
use crate::prim::task_parker::TaskParker;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// A wait for one object at a time, and a place for what is to be handed over.
///
/// Like a record in a frame it must not go while it is linked, or claimed and not unparked: whoever links it sees to that.
pub(crate) struct TaskRecord<S>(NonNull<Parts<S>>);

struct Parts<S> {
    wait: Wait<Who>,
    waiter: Waiter<Who>,
    slot: UnsafeCell<S>,
}

// SAFETY: it owns its parts. Those in a list are used from other threads as the protocol of waiters says.
unsafe impl<S: Send> Send for TaskRecord<S> {}
// SAFETY: through a shared one the slot can be had by pointer only.
unsafe impl<S: Send> Sync for TaskRecord<S> {}

impl<S> TaskRecord<S> {
    pub(crate) fn new(waker: Waker, slot: S) -> TaskRecord<S> {
        let parts: NonNull<Parts<S>> = NonNull::from(Box::leak(Box::<Parts<S>>::new_uninit())).cast();
        let who = Who::Task(Arc::new(TaskParker::new(waker)));
        // SAFETY: the memory is new. The waiter is made when the wait has come to where it stays.
        unsafe {
            (&raw mut (*parts.as_ptr()).wait).write(Wait::new(who));
            (&raw mut (*parts.as_ptr()).waiter).write(Waiter::solo(&(*parts.as_ptr()).wait));
            (&raw mut (*parts.as_ptr()).slot).write(UnsafeCell::new(slot));
        }
        TaskRecord(parts)
    }

    /// The record in `place`, ready for a wait: made, or used again if its last wait is over.
    pub(crate) fn prepare(place: &mut Option<TaskRecord<S>>, waker: Waker, slot: impl FnOnce() -> S) -> &TaskRecord<S> {
        match place {
            Some(record) => {
                record.renew(waker);
                record
            }
            None => place.insert(TaskRecord::new(waker, slot())),
        }
    }

    fn parts(&self) -> &Parts<S> {
        // SAFETY: ours, until we are dropped.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn wait(&self) -> &Wait<Who> {
        &self.parts().wait
    }

    pub(crate) fn waiter(&self) -> &Waiter<Who> {
        &self.parts().waiter
    }

    pub(crate) fn slot(&self) -> *mut S {
        self.parts().slot.get()
    }

    pub(crate) fn parker(&self) -> &Arc<TaskParker> {
        match self.wait().who() {
            Who::Task(parker) => parker,
            _ => unreachable!("INVARIANT: the record of a task"),
        }
    }

    /// Makes it ready for another wait. The last one is over, by the unpark or before it began.
    fn renew(&self, waker: Waker) {
        self.waiter().renew();
        self.wait().renew();
        self.parker().renew(waker);
    }
}

impl<S> Drop for TaskRecord<S> {
    fn drop(&mut self) {
        // SAFETY: made by `new` of a box, and linked nowhere.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
