//! The fibers on a worker: the one that runs there, and those that have waited there and are not done; and how others look at them.
//!
//! # Protocol
//! A worker changes all this, and leaves and resumes fibers, inside its [`Gate`]: it enters before it says which fiber it will run, and
//! leaves when it has arrived on that fiber's stack. So whoever holds the gate finds
//! - the list as it is, and nobody in it freed;
//! - every fiber but the one that *runs* still: its stack, its cells and what it waits for stay as they are, since its worker can't resume
//!   it. (A worker that has no stack to leave for looks for work on the frame of a fiber that waits, and one that lingers stays there for a
//!   moment. That fiber is shown as running.)
//! - the one that runs alive, with what never changes of it; of the rest only atomics may be read.
//!
//! A look at all of them takes the gate for a few at a time. The `cursor` says where to go on; a fiber that is done moves it on. Fibers
//! are put in front of the list: who was there throughout is seen, once.
#![allow(unsafe_code, reason = "other threads read cells of the worker while they hold its gate")]

use crate::fiber::header::{FiberRef, Header};
use crate::fiber::info::Fiber;
use crate::prim::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use crate::prim::gate::{Gate, HoldGuard};
use crate::prim::id::FiberId;
use crate::queue::link::as_ptr;
use std::cell::Cell;
use std::panic::RefUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many fibers are looked at while the worker is kept out. (With 100,000 of them and their stacks that keeps others waiting for half a
/// millisecond: `examples/dump_cost.rs`.)
const AT_A_TIME: usize = 128;

/// See the [module](self).
pub(crate) struct Presence {
    gate: Gate,
    /// Null while the worker looks for one.
    running: AtomicPtr<Header>,
    /// Whether that one is counted in `homed`.
    running_is_homed: AtomicU8,
    /// INVARIANT: touched inside the gate, or while it is held.
    first: Cell<Option<FiberRef>>,
    /// The next to be looked at. INVARIANT: as for `first`.
    cursor: Cell<Option<FiberRef>>,
    /// How many started, unfinished fibers that have waited here there are.
    homed: AtomicUsize,
    /// Taken by whoever looks at all of them.
    looking: Mutex<()>,
}

// SAFETY: the cells are touched inside the gate, by the worker, or by one who holds it.
unsafe impl Sync for Presence {}

// Nothing that could panic is done inside the gate, so nobody sees a half-done change.
impl RefUnwindSafe for Presence {}

/// A fiber that somebody looks at, while its worker is kept out.
pub(crate) struct Sighted<'a> {
    pub(crate) fiber: &'a Header,
    /// If not, it is still: see the [module](self).
    pub(crate) runs: bool,
}

impl Presence {
    pub(crate) fn new() -> Presence {
        Presence {
            gate: Gate::new(),
            running: AtomicPtr::new(std::ptr::null_mut()),
            running_is_homed: AtomicU8::new(0),
            first: Cell::new(None),
            cursor: Cell::new(None),
            homed: AtomicUsize::new(0),
            looking: Mutex::new(()),
        }
    }

    /// How many fibers live here, the running one included if it has waited.
    #[inline]
    pub(crate) fn homed(&self) -> usize {
        self.homed.load(Ordering::Relaxed)
    }

    /// How many fibers live here besides the one that runs, as far as can be seen.
    pub(crate) fn homed_besides_running(&self) -> usize {
        self.homed().saturating_sub(self.running_is_homed.load(Ordering::Relaxed).into())
    }

    /// Whether the fiber that runs has waited before, as far as can be seen.
    pub(crate) fn running_has_waited(&self) -> bool {
        self.running_is_homed.load(Ordering::Relaxed) != 0
    }

    /// Whether a fiber runs here, as far as can be seen.
    pub(crate) fn runs_one(&self) -> bool {
        !self.running.load(Ordering::Relaxed).is_null()
    }

    /// What runs here.
    pub(crate) fn running(&self) -> Option<Fiber> {
        let _guard = self.gate.hold();
        // SAFETY: we hold the gate, and the worker takes it out inside the gate before it ends.
        unsafe { self.running.load(Ordering::Relaxed).as_ref() }.map(Fiber::of)
    }

    /// The number of the fiber that runs here, for one who has stopped the worker's thread: it may stand inside the gate.
    ///
    /// # Safety
    /// The thread is stopped until this returns.
    #[cfg_attr(not(feature = "stack-traces"), allow(dead_code, reason = "only stack traces stop threads"))]
    pub(crate) unsafe fn running_id(&self) -> Option<FiberId> {
        // SAFETY: the worker takes out the fiber that it runs before it ends it, which it can't do now; and nobody else does.
        unsafe { self.running.load(Ordering::Relaxed).as_ref() }.map(|fiber| fiber.id)
    }

    /// Keeps the worker from starting or resuming any fiber.
    pub(super) fn hold(&self) -> HoldGuard<'_> {
        self.gate.hold()
    }

    /// Waits until nobody else looks at all fibers here, and lets nobody begin to.
    pub(super) fn look_alone(&self) -> MutexGuard<'_, ()> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at every fiber here.
    pub(crate) fn look(&self, mut see: impl FnMut(Sighted<'_>)) {
        let _alone = self.look_alone();
        let mut begun = false;
        loop {
            let _guard = self.gate.hold();
            let running = self.running.load(Ordering::Relaxed);
            if !begun {
                begun = true;
                self.cursor.set(self.first.get());
                // SAFETY: as in `running`.
                if let Some(fiber) = unsafe { running.as_ref() }.filter(|fiber| !fiber.is_homed.get()) {
                    see(Sighted { fiber, runs: true });
                }
            }
            for _ in 0..AT_A_TIME {
                let Some(fiber) = self.cursor.get() else { return };
                self.cursor.set(fiber.next_homed.get());
                see(Sighted { fiber: &fiber, runs: fiber.as_ptr().as_ptr() == running });
            }
        }
    }
}

/// For the worker.
impl Presence {
    /// It is about to leave the stack it is on, for that of `fiber` or for a loop.
    #[inline(always)]
    pub(super) fn begin_switch(&self, fiber: Option<FiberRef>) {
        self.gate.enter();
        self.show(fiber);
    }

    /// It has arrived.
    #[inline(always)]
    pub(super) fn end_switch(&self) {
        self.gate.leave();
    }

    /// It runs `fiber`, or none, on the stack it is on.
    #[inline]
    pub(super) fn set_running(&self, fiber: Option<FiberRef>) {
        self.gate.enter();
        self.show(fiber);
        self.gate.leave();
    }

    #[inline(always)]
    fn show(&self, fiber: Option<FiberRef>) {
        let is_homed = fiber.is_some_and(|fiber| fiber.is_homed.get());
        self.running_is_homed.store(is_homed.into(), Ordering::Relaxed);
        self.running.store(as_ptr(fiber.map(FiberRef::as_ptr)), Ordering::Relaxed);
    }

    /// `fiber` waits for the first time.
    pub(super) fn home(&self, fiber: FiberRef) {
        debug_assert_eq!(
            self.running.load(Ordering::Relaxed),
            fiber.as_ptr().as_ptr(),
            "INVARIANT: only the fiber that is shown to run waits"
        );
        self.gate.enter();
        let first = self.first.replace(Some(fiber));
        fiber.previous_homed.set(None);
        fiber.next_homed.set(first);
        if let Some(first) = first {
            first.previous_homed.set(Some(fiber));
        }
        fiber.is_homed.set(true);
        self.running_is_homed.store(1, Ordering::Relaxed);
        self.homed.store(self.homed() + 1, Ordering::Relaxed);
        self.gate.leave();
    }

    /// `fiber`, which runs, is about to end: nobody finds it here any more.
    #[inline]
    pub(super) fn strike_off(&self, fiber: FiberRef) {
        self.gate.enter();
        if fiber.is_homed.get() {
            self.unlink(fiber);
        }
        self.show(None);
        self.gate.leave();
    }

    fn unlink(&self, fiber: FiberRef) {
        let (previous, next) = (fiber.previous_homed.get(), fiber.next_homed.get());
        match previous {
            Some(previous) => previous.next_homed.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.previous_homed.set(previous);
        }
        if self.cursor.get() == Some(fiber) {
            self.cursor.set(next);
        }
        fiber.is_homed.set(false);
        self.homed.store(self.homed() - 1, Ordering::Relaxed);
    }

    /// Nobody is in the list.
    pub(super) fn is_empty(&self) -> bool {
        self.homed() == 0
    }

    /// All fibers that have waited here and are not done. Only the worker changes the list, so it may read it as it likes.
    pub(super) fn fibers(&self) -> impl Iterator<Item = FiberRef> {
        std::iter::successors(self.first.get(), |fiber| fiber.next_homed.get())
    }
}
