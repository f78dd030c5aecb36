//! Giving fibers their turn: calling a fresh one, leaving one that waits, resuming a ready one.
//!
//! # Which stack is whose
//! Every stack has the [loop](Worker::run_loop) as its bottom frame. A fresh fiber is *called* by that loop. If it
//! returns, that was a function call. If it waits, the stack is its own from now on, and the worker goes on elsewhere: by one
//! switch to the next ready fiber, or to a new loop on another stack. When the fiber ends later, its call returns to the loop
//! frame below it, and that loop goes on: the stack serves as the worker's again.
//!
//! A loop that finds a ready fiber switches to it and is never resumed: its stack is *abandoned*, and put back by whoever
//! arrives, since nobody can free the stack under its own feet. Across the call of a fiber the loop's frame holds nothing but
//! `&Worker`, so nothing is lost with it.
//!
//! A fiber of another size class gets a stack of its own first, with a frame that calls it and then leaves for a new loop.
//!
//! If no stack can be had, the worker stays on the frame of the fiber that waits and resumes ready fibers from there; fresh
//! ones have to wait until a stack is free.
#![allow(unsafe_code, reason = "contexts and stacks are switched here")]

use super::no_park;
use super::search::{FreshDue, Next};
use super::shared::Phase;
use super::worker::{Unwinding, Worker};
use crate::fiber::body::Ended;
use crate::fiber::current;
use crate::fiber::end::Freeing;
use crate::fiber::header::FiberRef;
use crate::fiber::spans;
use crate::prim::atomic::Ordering;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::drop_quietly::drop_quietly;
use crate::prim::fork;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use sisal_context::stack::Stack;
use sisal_context::switch::{self, Suspended, sanitizer};
use std::cell::Cell;
use std::time::Duration;

/// How many different places there are for the first frame of a stack, and how far apart.
const COLOURS: usize = 16;
const COLOUR_STEP: usize = 64;

/// How long a worker with nobody ready waits for the system to have memory again.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(1);

impl Worker {
    /// Runs fibers until the runtime has ended (or this worker is to go). Called on the thread's own stack, with no fiber
    /// running.
    pub(super) fn run_until_done(&self) {
        loop {
            if let Some(stack) = self.stacks.take(&self.shared) {
                return self.enter_loop(self.root.as_ptr(), stack);
            }
            // A worker is made with a stack, so this is the main fiber of `run` that has ended in a shortage.
            if self.may_leave() {
                self.shared.end_if_quiescent();
                return;
            }
            if let Some(next) = self.wait_for_ready_or_stack() {
                self.resume_bookkeeping(next);
                return self.hop(self.root.as_ptr(), next.context.get());
            }
        }
    }

    /// Leaves the running context in `save` for a new loop on `stack`; returns when that context is resumed.
    #[inline(never)]
    fn enter_loop(&self, save: *mut Suspended, stack: Stack) {
        self.hungry_since.set(Moment::NEVER);
        self.leave_for(&Cell::new(Some(stack)), None);
        sanitizer::fresh(stack);
        // SAFETY: the stack is free, and large enough for a first frame.
        let context = unsafe { switch::prepare(first_frame(stack), loop_entry) };
        self.hop(save, context);
    }

    /// The worker is about to switch to `stack`, and to run `fiber` there. Until it has [`arrived`](Self::arrived) nobody may look at
    /// its fibers.
    #[inline(always)]
    fn leave_for(&self, stack: &Cell<Option<Stack>>, fiber: Option<FiberRef>) {
        if self.recording.get() {
            self.record_switch(fiber);
        }
        // Read only now: what is read before has to wait in memory for that call, though it is seldom made.
        self.stack.set(stack.get());
        self.current().fiber.set(fiber);
        self.remote().presence.begin_switch(fiber);
    }

    /// The worker runs `fiber`, or none, on the stack it is on.
    #[inline]
    fn set_current(&self, fiber: Option<FiberRef>) {
        if self.recording.get() {
            self.record_switch(fiber);
        }
        self.current().fiber.set(fiber);
        self.remote().presence.set_running(fiber);
    }

    /// The one place where contexts are switched.
    ///
    /// Inlined, like all that leads here from a wait: a processor predicts where a function returns to from the calls before, which after
    /// a switch were another fiber's. So every return on the way back is mispredicted, at 5 to 7 ns each (`pingpong-1`).
    #[inline(always)]
    fn hop(&self, save: *mut Suspended, to: Suspended) {
        let left = sanitizer::start(self.stack.get(), save != self.nowhere.as_ptr());
        // SAFETY: `to` was prepared, or left by this very function, on this thread, since fibers never change theirs; each
        // context is resumed once, since it is taken from a queue, which holds it once. `save` is a cell of a fiber or worker
        // that is alive. What is left behind is resumed, or has nothing on it.
        let word = unsafe { switch::switch(save, to, std::ptr::from_ref(self).expose_provenance()) };
        sanitizer::finish(Some(left));
        // The same worker, by what the switch has brought along: what lies on this stack has to be fetched first.
        // SAFETY: as in `loop_entry`.
        let here = unsafe { &*std::ptr::with_exposed_provenance::<Worker>(word) };
        debug_assert!(std::ptr::eq(here, self), "INVARIANT: a fiber never changes its worker");
        here.arrived();
    }

    /// First thing on arriving anywhere: lets others look again, and puts an abandoned stack back.
    #[inline(always)]
    fn arrived(&self) {
        self.remote().presence.end_switch();
        if self.abandoned.get().is_some() {
            self.put_abandoned_back();
        }
    }

    #[inline(never)]
    fn put_abandoned_back(&self) {
        if let Some(stack) = self.abandoned.take() {
            // SAFETY: its loop left it for good.
            unsafe { self.stacks.put(&self.shared, stack) };
        }
    }

    /// The bottom frame of every stack: gives fibers their turn until the worker is to go.
    fn run_loop(&self) -> ! {
        loop {
            match self.next() {
                // One that will only be cancelled needs no stack of its own.
                Next::Fresh(fiber)
                    if fiber.class == self.shared.config.class || (self.is_stopping() && !fiber.flags.is_job()) =>
                {
                    self.call(fiber)
                }
                Next::Fresh(fiber) => self.call_on_own_stack(fiber),
                Next::Ready(fiber) => self.abandon_for(fiber),
                Next::Leave => self.abandon_for_root(),
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.shared.phase() != Phase::Running
    }

    /// Calls a fresh fiber on the stack we stand on.
    #[inline]
    fn call(&self, fiber: FiberRef) {
        fiber.set_home(self.index, self.thread);
        fiber.state.start();
        if fiber.flags.is_hog() {
            self.shared.start_hog(fiber);
        }
        self.set_current(Some(fiber));
        if !self.remote().presence.is_empty() {
            self.expect_something();
            if self.shared.watch.is_asleep() {
                // Somebody has to see whether those who wait here are delayed.
                self.shared.watch.wake();
            }
        }
        // SAFETY: a fresh fiber comes out of the queues once, and is called by the worker that got it. If its closure is not
        // `Send`, it is pinned to this worker.
        let ended = unsafe {
            match self.refusal(fiber) {
                None => fiber.run(&self.shared.unseen_panics),
                Some(cause) => fiber.cancel(cause, &self.shared.unseen_panics),
            }
        };
        self.finish(fiber, ended);
    }

    /// Why a fresh fiber is not to run at all. The half of a fork is part of a fiber that has been started, and may be what it waits for.
    #[inline]
    fn refusal(&self, fiber: FiberRef) -> Option<Cause> {
        if self.is_stopping() && !fiber.flags.is_job() {
            return Some(Cause::Shutdown);
        }
        fiber.poke.is_requested().then_some(Cause::Request)
    }

    /// A fiber's closure is done. What it leaves behind is dropped as long as it is the running fiber, since that may wait.
    #[inline]
    fn finish(&self, fiber: FiberRef, ended: Ended) {
        if current::fiber().is_none() {
            // Forgotten by the handler that runs in the child of a `fork`.
            fork::refuse_in_child();
        }
        self.check_canary(fiber);
        drop_locals(fiber);
        let shown = &self.remote().shown;
        shown.counts.note(ended);
        let detached = fiber.end.is_detached();
        if detached {
            self.drop_remains(fiber);
        } else {
            self.strike_off(fiber);
        }
        // Before anybody is told of its end: whoever knows of it finds its place free, and it counted.
        if let Some(limit) = &self.shared.limit
            && let Some(token) = limit.leave()
        {
            self.unpark(token);
        }
        shown.counts.finished.increment();
        let freeing = self.tell_joiners(fiber);
        if freeing == Freeing::Mine {
            if !detached {
                // The handle was dropped meanwhile. What is dropped now runs as this fiber once more.
                fiber.poke.reopen();
                self.remote().presence.set_running(Some(fiber));
                self.drop_remains(fiber);
            }
            // SAFETY: end and handle are past, and no wait record leads to a fiber that runs.
            unsafe { fiber.free() };
        }
        if self.recording.get() {
            self.record_end();
        }
        self.current().fiber.set(None);
        self.forget_to_yield();
        no_park::forget();
        shown.counts.gone.increment();
    }

    /// Drops the outcome of a fiber that has no handle any more. That is user code, which may wait and use fiber-locals.
    fn drop_remains(&self, fiber: FiberRef) {
        // SAFETY: the outcome was written, and there is no handle that could take it.
        unsafe { fiber.drop_outcome() };
        drop_locals(fiber);
        self.strike_off(fiber);
    }

    /// No user code runs as `fiber` any more: nobody finds it from this worker.
    #[inline]
    fn strike_off(&self, fiber: FiberRef) {
        fiber.poke.close(|| _ = self.heed_pokes());
        self.remote().presence.strike_off(fiber);
    }

    /// Runs `f` as `fiber`, which is made for it and lives on the thread's own stack, and frees the fiber.
    pub(super) fn run_as<R>(&self, fiber: FiberRef, f: impl FnOnce() -> R) -> R {
        fiber.set_home(self.index, self.thread);
        self.set_current(Some(fiber));
        let result = f();
        fork::refuse_in_child();
        drop_locals(fiber);
        self.strike_off(fiber);
        self.set_current(None);
        no_park::forget();
        // SAFETY: it has run to its end, has no handle, and its outcome is nothing.
        unsafe { fiber.free() };
        result
    }

    /// Calls a fresh fiber of another size class on a stack of its own. Does not return: that stack leaves for a new loop.
    fn call_on_own_stack(&self, fiber: FiberRef) {
        let Some(stack) = self.stacks.take_class(&self.shared, fiber.class) else {
            self.postpone(fiber);
            return self.go_on_without_fresh();
        };
        self.abandoned.set(self.stack.get());
        self.leave_for(&Cell::new(Some(stack)), None);
        self.starting.set(Some(fiber));
        sanitizer::fresh(stack);
        // SAFETY: the stack is free, and large enough for a first frame.
        let context = unsafe { switch::prepare(stack.top(), own_stack_entry) };
        self.hop(self.nowhere.as_ptr(), context);
    }

    /// There is no memory for a fresh fiber's stack: those who have theirs go first, however long fresh ones have waited. By their ends there will be.
    #[cold]
    fn go_on_without_fresh(&self) {
        if let Some(next) = self.pop_ready() {
            return self.abandon_for(next);
        }
        if !self.heed_calls() && !self.fire_timers(self.read_clock()) && self.remote().inbox.is_empty() {
            // What is kept for others of the usual size may be all that there is.
            self.stacks.give_all(&self.shared);
            self.shared.depot.trim();
            self.shared.others.trim();
            std::thread::sleep(SHORTAGE_PAUSE);
        }
        if let Some(next) = self.pop_ready() {
            self.abandon_for(next);
        }
    }

    /// A fiber of another size class is done: its stack is no place for a loop, and is left for good.
    fn leave_own_stack(&self) -> ! {
        loop {
            if let Some(stack) = self.stacks.take(&self.shared) {
                self.abandoned.set(self.stack.get());
                self.enter_loop(self.nowhere.as_ptr(), stack);
            } else if self.may_leave() {
                self.shared.end_if_quiescent();
                self.abandon_for_root();
            } else if let Some(next) = self.wait_for_ready_or_stack() {
                self.abandon_for(next);
            }
        }
    }

    /// Leaves a loop for good, for a ready fiber.
    fn abandon_for(&self, fiber: FiberRef) {
        self.abandoned.set(self.stack.get());
        self.resume_bookkeeping(fiber);
        self.hop(self.nowhere.as_ptr(), fiber.context.get());
    }

    /// Leaves a loop for good, for the thread's root frame.
    fn abandon_for_root(&self) {
        self.abandoned.set(self.stack.get());
        self.leave_for(&Cell::new(None), None);
        self.hop(self.nowhere.as_ptr(), self.root.get());
    }

    #[inline]
    fn resume_bookkeeping(&self, fiber: FiberRef) {
        self.leave_for(&fiber.stack, Some(fiber));
    }

    /// Parks the running fiber; returns when it has been unparked, which may have happened already.
    #[inline(always)]
    pub(crate) fn park(&self, me: FiberRef) {
        self.remote().shown.activity.parks.tally(1);
        me.state.park();
        self.suspend(me);
        me.state.resume();
    }

    /// Lets others have a turn.
    pub(crate) fn yield_now(&self, me: FiberRef, place: Place) {
        self.remote().told.must_yield.store(0, Ordering::Relaxed);
        if self.nothing_else_to_do() {
            if me.hidden().next().is_none() {
                return;
            }
            // The first half of a fork may give way until the second has run.
            self.expose_all(me);
            self.fresh_due.set(FreshDue::ByTurns);
        }
        me.wait.write(Reason::Yield, Object::NONE, place, self.coarse_now());
        self.time_if_due(me);
        // SAFETY: a running fiber stands in no queue, and is alive until it has run to its end.
        unsafe { self.ready.push(me.as_ptr()) };
        self.suspend(me);
        self.note_resumed(me);
    }

    /// The running fiber has ended: what it was asked for is not asked of the next. (One that waits is not asked to do so: the next gives way once in
    /// its place.)
    #[inline]
    fn forget_to_yield(&self) {
        let must_yield = &self.remote().told.must_yield;
        if must_yield.load(Ordering::Relaxed) != 0 {
            must_yield.store(0, Ordering::Relaxed);
        }
    }

    /// Leaves `me`, which is parked or stands in the ready list, and returns when its turn comes again.
    #[inline(always)]
    fn suspend(&self, me: FiberRef) {
        no_park::check(&me);
        let spans = spans::leave();
        if std::thread::panicking() {
            self.suspend_in_unwinding(me);
        } else {
            if self.unwinding.get().fibers != 0 {
                self.unwinding.set(self.unwinding.get().over());
            }
            self.leave(me);
        }
        spans.enter_again();
    }

    /// While a fiber is suspended in its unwinding, the thread's panic count tells others nothing about themselves. The one that
    /// is suspended here may be such another; counting it too errs on the safe side, and ends with the panic count.
    #[cold]
    fn suspend_in_unwinding(&self, me: FiberRef) {
        let before = self.unwinding.get();
        self.unwinding.set(Unwinding { fibers: before.fibers + 1, ..before });
        self.leave(me);
        let after = self.unwinding.get();
        if after.spell == before.spell {
            self.unwinding.set(Unwinding { fibers: after.fibers - 1, ..after });
        }
    }

    /// Whether the running fiber is certainly unwinding from a panic of its own.
    #[inline(always)]
    pub(crate) fn is_unwinding(&self) -> bool {
        std::thread::panicking() && self.unwinding.get().fibers == 0
    }

    #[inline(always)]
    fn leave(&self, me: FiberRef) {
        self.check_canary(me);
        if !me.is_homed.get() {
            self.leave_first(me);
        }
        if me.jobs.get().is_some() {
            self.expose_all(me);
        }
        debug_assert_eq!(
            me.stack.get().map(Stack::top),
            self.stack.get().map(Stack::top),
            "INVARIANT: it knows its stack"
        );
        if let Some(next) = self.pick() {
            return self.resume_from(me, next);
        }
        if let Some(next) = self.linger(me) {
            return self.resume_from(me, next);
        }
        match self.stacks.take(&self.shared) {
            Some(stack) => self.enter_loop(me.context.as_ptr(), stack),
            None => self.suspend_without_stack(me),
        }
    }

    /// The fiber waits for the first time.
    #[inline(never)]
    fn leave_first(&self, me: FiberRef) {
        // From now on it stays, but while the fiber goes deep: see `grow`.
        me.stack.set(self.stack.get());
        self.remote().presence.home(me);
        self.go_on_starting();
    }

    /// Goes from `me` straight to `next`, which may be the same.
    #[inline(always)]
    fn resume_from(&self, me: FiberRef, next: FiberRef) {
        if next == me {
            if self.recording.get() {
                self.record_switch(Some(me));
            }
            return;
        }
        self.resume_bookkeeping(next);
        self.hop(me.context.as_ptr(), next.context.get());
    }

    /// There is no stack for a loop: the worker stays on the frame of `me`, and looks for ready fibers and stacks only.
    #[cold]
    fn suspend_without_stack(&self, me: FiberRef) {
        if self.recording.get() {
            self.record_switch(None);
        }
        // To others it goes on to be the one that runs, since its frame is in use.
        self.current().fiber.set(None);
        loop {
            if let Some(next) = self.wait_for_ready_or_stack() {
                if next == me {
                    self.current().fiber.set(Some(me));
                }
                return self.resume_from(me, next);
            }
            if let Some(stack) = self.stacks.take(&self.shared) {
                return self.enter_loop(me.context.as_ptr(), stack);
            }
        }
    }

    /// On stacks that can't be guarded otherwise: has the one we are about to leave overflowed?
    #[inline(always)]
    fn check_canary(&self, me: FiberRef) {
        if let Some(stack) = self.stack.get().filter(|stack| stack.needs_canary_check()) {
            check_canary_of(stack, me);
        }
    }
}

#[cold]
fn check_canary_of(stack: Stack, me: FiberRef) {
    if !stack.canary_intact() {
        super::overflow::abort_for(&me, stack);
    }
}

/// Where the first frame of a loop's stack goes. All stacks end at the same place within a page, so their hot frames would
/// compete for the same few sets of the first cache; they are moved apart by up to a quarter of a page (`yield-1000`).
fn first_frame(stack: Stack) -> *mut u8 {
    let number = stack.top().addr() / stack.class().slot_size();
    stack.top().wrapping_sub(number % COLOURS * COLOUR_STEP)
}

extern "C" fn loop_entry(worker: usize) -> ! {
    // SAFETY: passed by `hop`: the worker of this thread, which lives until its loop has left for the root.
    let worker = unsafe { &*std::ptr::with_exposed_provenance::<Worker>(worker) };
    sanitizer::finish(None);
    worker.arrived();
    worker.run_loop()
}

extern "C" fn own_stack_entry(worker: usize) -> ! {
    // SAFETY: as in `loop_entry`.
    let worker = unsafe { &*std::ptr::with_exposed_provenance::<Worker>(worker) };
    sanitizer::finish(None);
    worker.arrived();
    if let Some(fiber) = worker.starting.take() {
        worker.call(fiber);
    }
    worker.leave_own_stack()
}

fn drop_locals(fiber: FiberRef) {
    let Some(locals) = fiber.locals.get() else { return };
    // A destructor that panics must not take the worker with it.
    locals.drop_each(drop_quietly);
}
