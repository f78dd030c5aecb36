//! The one thread-local of the runtime: which worker this thread is, and which fiber it runs.
//!
//! It is right to cache its address across a park, as compilers do, because a started fiber never changes its thread.

use super::header::FiberRef;
use super::info::Fiber;
use super::pool::Pool;
use crate::prim::reason::Place;
use std::cell::Cell;
use std::ptr;

/// See the [module](self).
pub(crate) struct Current {
    /// The worker of this thread, as the scheduler knows it; null on other threads.
    pub(crate) worker: Cell<*const ()>,
    /// The fiber that runs on it; none on other threads, and while the worker looks for one.
    pub(crate) fiber: Cell<Option<FiberRef>>,
    /// The number of its runtime.
    pub(crate) runtime: Cell<u32>,
    /// Where the fiber has said that it will not wait, in debug builds.
    pub(crate) no_park: Cell<Option<Place>>,
    pool: Pool,
}

impl Current {
    /// Calls `f`, which is somebody else's code, in the name of no fiber.
    pub(crate) fn as_nobody<R>(&self, f: impl FnOnce() -> R) -> R {
        let fiber = self.fiber.take();
        let result = f();
        // In the child of a fork this is no worker any more, and only workers run fibers.
        if !self.worker.get().is_null() {
            self.fiber.set(fiber);
        }
        result
    }

    /// Where the worker of this thread keeps memory for control blocks; none on other threads.
    #[inline]
    pub(crate) fn pool(&self) -> Option<&Pool> {
        (!self.worker.get().is_null()).then_some(&self.pool)
    }
}

thread_local! {
    static CURRENT: Current = const {
        Current {
            worker: Cell::new(ptr::null()),
            fiber: Cell::new(None),
            runtime: Cell::new(0),
            no_park: Cell::new(None),
            pool: Pool::new(),
        }
    };
}

/// The worker of this thread, as the scheduler knows it, or null; and the fiber that runs on it. No closure is passed: each would be a copy of the
/// access in the code of whoever uses this.
#[inline(always)]
pub(crate) fn both() -> (*const (), Option<FiberRef>) {
    CURRENT.with(|current| (current.worker.get(), current.fiber.get()))
}

/// The fiber that runs on this thread.
#[inline(always)]
pub(crate) fn fiber() -> Option<FiberRef> {
    both().1
}

/// Gives access to the thread's own.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Current) -> R) -> R {
    CURRENT.with(f)
}

/// Whether the caller runs in a fiber. Blocking calls of sisal park the fiber then, and block the thread otherwise.
///
/// ```
/// assert!(!sisal::in_fiber());
/// sisal::run(|| assert!(sisal::in_fiber()));
/// ```
#[inline]
pub fn in_fiber() -> bool {
    fiber().is_some()
}

/// The fiber that runs, or none outside of fibers.
///
/// ```
/// assert!(sisal::fiber::current().is_none());
/// sisal::run(|| assert_eq!(sisal::fiber::current().unwrap().name(), Some("main")));
/// ```
pub fn current() -> Option<Fiber> {
    fiber().map(|fiber| Fiber::of(&fiber))
}
