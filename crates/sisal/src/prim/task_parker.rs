//! How a task of any executor is told that its wait is over.
//!
//! A thread or fiber that waits stays in its frame until it is unparked. A task does not: its future may be dropped at any time, also
//! between the claim of its wait and the unpark, when whoever has won the claim may still touch the record of the wait. Hence the record
//! lives on the heap, and a future that goes at such a time *leaves it behind*: then the unpark drops it.
//!
//! The parker is counted, as a thread's is: whoever unparks may still be calling the waker when the task is gone. Wakers are foreign
//! code; they are cloned, called and dropped with the lock free.

use super::lock::Lock;
#[cfg(not(modelled))]
use std::cell::{Cell, RefCell};
use std::fmt;
#[cfg(not(modelled))]
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

/// See the [module](self).
pub(crate) struct TaskParker(Lock<Inner>);

struct Inner {
    unparked: bool,
    waker: Option<Waker>,
    left_behind: Option<Remains>,
}

/// What a future has left behind. Its drop does what is left to do.
pub(crate) type Remains = Box<dyn Send>;

impl TaskParker {
    pub(crate) fn new(waker: Waker) -> TaskParker {
        TaskParker(Lock::new(Inner { unparked: false, waker: Some(waker), left_behind: None }))
    }

    /// Whether the unpark has come: nobody else touches the record any more.
    pub(crate) fn is_unparked(&self) -> bool {
        self.0.lock().unparked
    }

    /// Says whom to wake; false if the unpark has come, and nobody will be woken any more.
    pub(crate) fn set_waker(&self, waker: &Waker) -> bool {
        let is_same = |inner: &Inner| inner.waker.as_ref().is_some_and(|old| old.will_wake(waker));
        let inner = self.0.lock();
        if inner.unparked || is_same(&inner) {
            return !inner.unparked;
        }
        drop(inner);
        let new = waker.clone();
        let mut inner = self.0.lock();
        if inner.unparked {
            drop(inner);
            drop(new);
            return false;
        }
        let old = inner.waker.replace(new);
        drop(inner);
        drop(old);
        true
    }

    /// Gives something to the unpark to drop, which can't have come yet. The waker will be called all the same.
    pub(crate) fn entrust(&self, remains: Remains) {
        let mut inner = self.0.lock();
        debug_assert!(!inner.unparked && inner.left_behind.is_none(), "INVARIANT: one record to a wait");
        inner.left_behind = Some(remains);
    }

    /// The future goes, and leaves something behind for the unpark to drop. Nobody is to be woken.
    ///
    /// # Errors
    /// Gives it back if the unpark has come already.
    pub(crate) fn leave_behind(&self, remains: Remains) -> Result<(), Remains> {
        let mut inner = self.0.lock();
        if inner.unparked {
            return Err(remains);
        }
        debug_assert!(inner.left_behind.is_none(), "INVARIANT: one record to a wait");
        inner.left_behind = Some(remains);
        let waker = inner.waker.take();
        drop(inner);
        drop(waker);
        Ok(())
    }

    /// Makes it ready for another wait. The unpark has come.
    pub(crate) fn renew(&self, waker: Waker) {
        let mut inner = self.0.lock();
        debug_assert!(inner.waker.is_none() && inner.left_behind.is_none(), "INVARIANT: one wait at a time");
        inner.unparked = false;
        inner.waker = Some(waker);
    }

    /// No unpark will come: the wait has not been claimed and is linked nowhere. What was left behind is dropped, and nobody woken.
    pub(crate) fn withdraw(&self) {
        let _ = self.end();
    }

    /// Ends the wait: wakes the task, or when the caller's [`later`] is over.
    pub(crate) fn unpark(self: &Arc<TaskParker>) {
        if !put_off(self) {
            self.unpark_now();
        }
    }

    fn unpark_now(&self) {
        let (waker, left_behind) = self.end();
        let ended = catch_unwind(AssertUnwindSafe(|| drop(left_behind)))
            .and_then(|()| catch_unwind(AssertUnwindSafe(|| waker.into_iter().for_each(Waker::wake))));
        if let Err(payload) = ended {
            // Whoever ends a wait is not to suffer from it. The panic hook has told of it.
            std::mem::forget(payload);
        }
    }

    #[must_use]
    fn end(&self) -> (Option<Waker>, Option<Remains>) {
        let mut inner = self.0.lock();
        inner.unparked = true;
        (inner.waker.take(), inner.left_behind.take())
    }
}

/// Tasks that this thread is to wake later.
#[cfg(not(modelled))]
struct Later {
    /// How many calls of [`later`] there are.
    depth: Cell<usize>,
    tasks: RefCell<Vec<Arc<TaskParker>>>,
}

#[cfg(not(modelled))]
thread_local! {
    /// There until the very end of the thread: whatever ends a wait in the destructor of another holds locks as well.
    static LATER: ManuallyDrop<Later> =
        const { ManuallyDrop::new(Later { depth: Cell::new(0), tasks: RefCell::new(Vec::new()) }) };
}

/// Calls `f`, and wakes the tasks that it unparks only afterwards: for one who holds locks meanwhile, or whose own state is in motion. What
/// wakers do, and the drops of what was left behind, is somebody else's code. They come one after the other, so a waker must not wait for a task that is
/// woken with its own.
#[cfg(not(modelled))]
pub(crate) fn later<R>(f: impl FnOnce() -> R) -> R {
    struct Over;

    impl Drop for Over {
        fn drop(&mut self) {
            // What is left to do stays with this frame: a waker may wait, and whoever runs on this thread meanwhile may be about to wait, and must
            // not be interrupted by the other wakers.
            for task in those_put_off() {
                task.unpark_now();
            }
        }
    }

    LATER.with(|later| later.depth.set(later.depth.get() + 1));
    let _over = Over;
    f()
}

/// A call of [`later`] is over: those that are to be woken now, if it was the outermost.
#[cfg(not(modelled))]
fn those_put_off() -> Vec<Arc<TaskParker>> {
    LATER.with(|later| {
        later.depth.set(later.depth.get() - 1);
        if later.depth.get() == 0 { later.tasks.take() } else { Vec::new() }
    })
}

/// Whether a task is to be woken later.
#[cfg(not(modelled))]
fn put_off(task: &Arc<TaskParker>) -> bool {
    let put = |later: &Later| {
        let is_later = later.depth.get() > 0;
        if is_later {
            later.tasks.borrow_mut().push(Arc::clone(task));
        }
        is_later
    };
    LATER.with(|later| put(later))
}

// In the models all threads share a thread-local, and nothing there holds locks meanwhile.
#[cfg(modelled)]
pub(crate) fn later<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(modelled)]
fn put_off(_task: &Arc<TaskParker>) -> bool {
    false
}

impl fmt::Debug for TaskParker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskParker")
    }
}
