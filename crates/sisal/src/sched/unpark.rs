//! Waking whoever a claim was won on.
#![allow(unsafe_code, reason = "a fiber names its runtime by pointer")]

use super::events::Kind;
use super::shared::Shared;
use super::worker::{self, Worker};
use crate::fiber::end::Freeing;
use crate::fiber::header::FiberRef;
use crate::fiber::waiter::ClaimToken;
use crate::fiber::who::Who;
use std::sync::Arc;

/// Unparks the waiter of a claim, from any thread.
pub(crate) fn unpark(token: ClaimToken<Who>) {
    match token.0 {
        Who::Thread(parker) => parker.unpark(),
        Who::Task(parker) => parker.unpark(),
        Who::Fiber(fiber) => worker::with_current(|worker| match worker {
            Some(worker) if worker.runs(fiber) => worker.unpark_fiber(fiber),
            _ => unpark_from_outside(fiber),
        }),
    }
}

/// From a thread that is no worker of the fiber's runtime. The fiber may run, end, and with it the whole runtime, before we
/// are done with waking its worker: so the runtime is held meanwhile.
fn unpark_from_outside(fiber: FiberRef) {
    let runtime = fiber.runtime.cast::<Shared>();
    // SAFETY: a fiber that is not done keeps its runtime alive, and a claimed one is not done before its unpark. The pointer
    // is an `Arc`'s.
    let shared = unsafe {
        Arc::increment_strong_count(runtime);
        Arc::from_raw(runtime)
    };
    shared.events.note_outside(Kind::Wake, fiber);
    shared.wake(fiber);
}

impl Shared {
    /// Unparks a fiber of another worker.
    fn wake(&self, fiber: FiberRef) {
        if !fiber.state.tell() {
            self.send(fiber.home(), fiber);
        }
    }
}

impl Worker {
    fn runs(&self, fiber: FiberRef) -> bool {
        fiber.runtime == Arc::as_ptr(&self.shared).cast()
    }

    /// Unparks the waiter of a claim, from this worker.
    #[inline(never)]
    pub(crate) fn unpark(&self, token: ClaimToken<Who>) {
        match token.0 {
            Who::Fiber(fiber) if self.runs(fiber) => self.unpark_fiber(fiber),
            who => unpark(ClaimToken(who)),
        }
    }

    /// As [`unpark`](Self::unpark), of a fiber of this worker, and most likely the only one: in line, and nothing more.
    #[inline(always)]
    pub(crate) fn unpark_near(&self, token: ClaimToken<Who>) {
        if let Who::Fiber(fiber) = token.0
            && self.run_next.get().is_none()
            && self.tick.get() < self.sample_at.get()
            && !self.recording.get()
            && !fiber.wait.is_for_any()
        {
            debug_assert!(
                fiber.thread() == self.thread && self.runs(fiber),
                "INVARIANT: a thread has one worker at a time"
            );
            self.run_next.set(Some(fiber));
            // A fiber is nothing to be dropped.
            std::mem::forget(token);
            return self.show_ready(1);
        }
        self.unpark(token);
    }

    /// Unparks those who wait for the end of the running fiber, which has come; tasks last, as in [`unpark_all`](crate::park::unpark_all). A waker is
    /// foreign code and may call anything, but the fiber is done: nothing may be done in its name, and its block may be gone.
    #[inline]
    pub(super) fn tell_joiners(&self, fiber: FiberRef) -> Freeing {
        let mut tasks = Vec::new();
        let freeing = fiber.end.finish(|token| match token.0 {
            Who::Task(parker) => tasks.push(parker),
            who => self.unpark(ClaimToken(who)),
        });
        if !tasks.is_empty() {
            self.as_nobody(|| tasks.into_iter().for_each(|parker| parker.unpark()));
        }
        freeing
    }

    /// Calls `f`, which may call the wakers of tasks, in the name of no fiber: those are somebody else's code, and the fiber that was running may
    /// stand in a queue by now, or be done.
    pub(super) fn as_nobody<R>(&self, f: impl FnOnce() -> R) -> R {
        self.current().as_nobody(f)
    }

    /// The fiber goes first on this worker, on the rest of the running fiber's turn; or its own worker gets it. One that waits for any of several
    /// things goes last instead: those who are ready may have more for it, and it need not wait for each of them (`select-8-rv`).
    #[inline]
    fn unpark_fiber(&self, fiber: FiberRef) {
        self.time_if_due(fiber);
        if self.recording.get() {
            self.record_wake(fiber);
        }
        let home = fiber.home();
        if home != self.index {
            return self.shared.wake(fiber);
        }
        // One that was just timed does not say any more what it waited for, and goes first.
        let pushed_out = if fiber.wait.is_for_any() { Some(fiber) } else { self.run_next.replace(Some(fiber)) };
        if let Some(last) = pushed_out {
            // SAFETY: a ready fiber, in no queue.
            unsafe { self.ready.push(last.as_ptr()) };
        }
        self.show_ready(usize::from(self.run_next.get().is_some()));
    }

    /// Unparks a fiber of this worker to the end of the ready list.
    pub(super) fn unpark_to_the_end(&self, token: ClaimToken<Who>) {
        match token.0 {
            Who::Fiber(fiber) if fiber.home() == self.index && self.runs(fiber) => {
                self.time_if_due(fiber);
                if self.recording.get() {
                    self.record_wake(fiber);
                }
                // SAFETY: a claimed fiber is in no queue: it is unparked once.
                unsafe { self.ready.push(fiber.as_ptr()) };
            }
            who => unpark(ClaimToken(who)),
        }
    }
}
