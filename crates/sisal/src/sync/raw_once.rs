//! Something to be done once: its state, without what is done.
//!
//! # The word
//! ```text
//!   Incomplete ──1──> Running ──2──> Complete
//!        ^               │ │
//!        └───────3───────┘ └┬──4───> Poisoned
//!                           └───5────────┘
//! ```
//! 1. *Call*: somebody runs the initialiser. 2. It returned. It panicked: 3. the next one is to try, or 4. nobody ever, 5. unless it is
//!    *forced*.
//!
//! # Protocol
//! The word is read by everybody, and written under the lock of the list of those who wait. Who finds Complete goes on. Who finds Incomplete
//! under the lock writes Running, and runs the initialiser without the lock; then, under the lock, it writes what has become of it, and claims
//! all who wait, who are unparked when the lock is free again and look anew. Who finds Running under the lock joins the list and
//! parks, unless it is the very one that runs it: that would wait for itself, and panics.
//!
//! Nobody is forgotten: who joins the list has seen Running under the lock, and whoever changes that claims the list. None of these waits
//! can be cancelled.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use super::runner;
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_fn;
use crate::prim::lock::{Lock, LockGuard};
use crate::prim::object::{Object, OwnerWord, Sight, Watched};
use crate::prim::reason::{Place, Reason};

const INCOMPLETE: u32 = 0;
const RUNNING: u32 = 1;
const COMPLETE: u32 = 2;
const POISONED: u32 = 3;

/// See the [module](self).
pub(super) struct RawOnce {
    word: AtomicU32,
    /// Who runs the initialiser, or ran it last.
    owner: OwnerWord,
    run: Lock<Run>,
}

struct Run {
    /// Who runs the initialiser.
    runner: Option<Who>,
    waiting: WaitList<Who>,
}

/// What becomes of it when the initialiser panics.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Panicking {
    /// Nobody will ever complete it, and who calls it panics.
    Poisons,
    /// The next one to call it tries.
    LeavesIncomplete,
    /// As `Poisons`; but if that has happened before, it is tried, or waited for, all the same.
    PoisonsAgain,
}

/// What to do with one that may be incomplete.
enum Look<'a> {
    Complete,
    Poisoned(LockGuard<'a, Run>),
    Incomplete(LockGuard<'a, Run>),
}

impl Watched for RawOnce {
    fn sight(&self) -> Sight {
        Sight { owner: self.owner.get(), ..Sight::new("once") }
    }
}

impl RawOnce {
    const_fn! {
        pub(super) fn new() -> RawOnce {
            RawOnce { word: AtomicU32::new(INCOMPLETE), owner: OwnerWord::new(), run: Lock::new(Run { runner: None, waiting: WaitList::new() }) }
        }
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `end`: what the initialiser did is seen.
        self.word.load(Ordering::Acquire) == COMPLETE
    }

    /// Forgets that it is complete, if it is.
    pub(super) fn reset(&mut self) -> bool {
        // Nobody else has it, so nobody runs it or waits.
        let was_complete = self.is_complete();
        *self = RawOnce::new();
        was_complete
    }

    /// Returns when it is complete, having called `initialise` if nobody else has, with whether it was poisoned.
    #[inline]
    pub(super) fn call(&self, panicking: Panicking, place: Place, initialise: impl FnOnce(bool)) {
        if !self.is_complete() {
            let mut initialise = Some(initialise);
            self.call_incomplete(panicking, place, &mut |was_poisoned| {
                if let Some(initialise) = initialise.take() {
                    initialise(was_poisoned);
                }
            });
        }
    }

    #[cold]
    fn call_incomplete(&self, panicking: Panicking, place: Place, initialise: &mut dyn FnMut(bool)) {
        loop {
            let who = park::me();
            let (mut run, was_poisoned) = match self.look() {
                Look::Complete => return,
                Look::Poisoned(run) => (panicking.unless_it_refuses(run), true),
                Look::Incomplete(run) => (run, false),
            };
            if run.runner.is_none() {
                run.runner = Some(who);
                self.word.store(RUNNING, Ordering::Relaxed);
                self.owner.set(park::myself());
                drop(run);
                let mut running = Running { once: self, becomes: panicking.becomes() };
                initialise(was_poisoned);
                running.becomes = COMPLETE;
                return;
            }
            self.park(run, who, place);
        }
    }

    /// Returns when somebody else has completed it.
    pub(super) fn wait(&self, panicking: Panicking, place: Place) {
        loop {
            let who = park::me();
            match self.look() {
                Look::Complete => return,
                Look::Poisoned(run) => self.park(panicking.unless_it_refuses(run), who, place),
                Look::Incomplete(run) => self.park(run, who, place),
            }
        }
    }

    fn look(&self) -> Look<'_> {
        let run = self.run.lock();
        match self.word.load(Ordering::Relaxed) {
            COMPLETE => Look::Complete,
            POISONED => Look::Poisoned(run),
            _ => Look::Incomplete(run),
        }
    }

    /// Waits for a change.
    fn park(&self, mut run: LockGuard<'_, Run>, who: Who, place: Place) {
        if run.runner.as_ref().is_some_and(|runner| runner::is(runner, &who)) {
            drop(run);
            panic!("an initialiser waits for itself");
        }
        let wait = Wait::new(who);
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed and unparked below, since nothing else ends this wait.
        unsafe { run.waiting.push(&waiter) };
        drop(run);
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Once, object, place, deadline: None, cancellable: false };
        let woken = park::park(&wait, &waiting);
        debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but a change ends this wait");
    }

    /// The initialiser has ended.
    fn end(&self, word: u32) {
        let mut run = self.run.lock();
        // ORDERING: Release pairs with the Acquire in `is_complete`.
        self.word.store(word, Ordering::Release);
        let runner = run.runner.take();
        let all = run.waiting.claim_all();
        drop(run);
        drop(runner);
        all.for_each(park::unpark);
    }
}

impl Panicking {
    fn becomes(self) -> u32 {
        match self {
            Panicking::Poisons | Panicking::PoisonsAgain => POISONED,
            Panicking::LeavesIncomplete => INCOMPLETE,
        }
    }

    /// It is poisoned: goes on, or panics with the lock free.
    fn unless_it_refuses(self, run: LockGuard<'_, Run>) -> LockGuard<'_, Run> {
        if self != Panicking::PoisonsAgain {
            drop(run);
            panic!("an initialiser has panicked: this will never be complete");
        }
        run
    }
}

/// Says what has become of a run when it goes, also by a panic.
struct Running<'a> {
    once: &'a RawOnce,
    becomes: u32,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.once.end(self.becomes);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check};
    use super::*;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;
    use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

    /// Something to be done once, and how often it was.
    struct Task {
        once: RawOnce,
        done: UnsafeCell<u32>,
    }

    // SAFETY: the cell is written by the initialiser and read afterwards, which the model checks.
    unsafe impl Sync for Task {}
    // SAFETY: as above.
    unsafe impl Send for Task {}

    impl Task {
        fn call(&self) -> bool {
            let mut mine = false;
            self.once.call(Panicking::LeavesIncomplete, Location::caller(), |_| {
                // SAFETY: run once.
                self.done.with_mut(|done| unsafe { *done += 1 });
                mine = true;
            });
            mine
        }

        fn assert_done(&self) {
            // SAFETY: complete.
            self.done.with(|done| assert_eq!(unsafe { *done }, 1));
        }
    }

    fn spawn<T: 'static>(task: &Arc<Task>, f: impl FnOnce(&Task) -> T + 'static) -> thread::JoinHandle<T> {
        let task = task.clone();
        thread::spawn(move || f(&task))
    }

    fn new() -> Arc<Task> {
        Arc::new(Task { once: RawOnce::new(), done: UnsafeCell::new(0) })
    }

    /// Two call it and one waits: it is done once, and seen by all. Reached: either one does it.
    #[test]
    fn loom_once_is_done_once_and_seen_by_all() {
        let first = Outcomes::new();
        check(3, move || {
            let task = new();
            let caller = spawn(&task, |task| {
                let mine = task.call();
                task.assert_done();
                mine
            });
            let waiter = spawn(&task, |task| {
                task.once.wait(Panicking::LeavesIncomplete, Location::caller());
                task.assert_done();
            });
            let mine = task.call();
            task.assert_done();
            assert_ne!(mine, caller.join().unwrap());
            waiter.join().unwrap();
            first.note(mine);
        });
        first.assert([false, true]);
    }

    /// The first who calls it may panic: then another does it, and nobody waits for ever. Reached: it panicked, or came too late.
    #[test]
    fn loom_once_left_incomplete_is_done_by_the_next() {
        let panicked = Outcomes::new();
        check(3, move || {
            let task = new();
            let caller = spawn(&task, |task| {
                task.call();
                task.assert_done();
            });
            let waiter = spawn(&task, |task| {
                task.once.wait(Panicking::LeavesIncomplete, Location::caller());
                task.assert_done();
            });
            let result = catch_unwind(AssertUnwindSafe(|| {
                task.once.call(Panicking::LeavesIncomplete, Location::caller(), |_| resume_unwind(Box::new(())));
            }));
            panicked.note(result.is_err());
            caller.join().unwrap();
            waiter.join().unwrap();
        });
        panicked.assert([false, true]);
    }
}
