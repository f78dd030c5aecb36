//! What a fiber runs and what comes of it: the closure before, the outcome after, in the same place behind the
//! [`Header`]. Generic here at the edge; everything else goes through the [`VTable`].
#![allow(unsafe_code, reason = "closure and outcome share their memory, and are reached through an erased type")]

use super::header::{Birth, FiberRef, Header};
use super::pool;
use super::state::State;
use super::unseen::{KeptPanic, Payload, UnseenPanics};
use crate::prim::cancel::Cause;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// How a fiber ended.
pub(crate) enum Outcome<T> {
    Returned(T),
    Panicked(Box<KeptPanic>),
    /// It was never started, or ended by [`end_cancelled`].
    Cancelled(Cause),
    /// It was given out, while the handle stays.
    Taken,
}

/// What a fiber unwinds with that ends as cancelled.
struct EndCancelled(Cause);

/// Ends the running fiber as one that was cancelled. To be called where nothing but the fiber's own body is on the stack that could
/// catch it.
pub(crate) fn end_cancelled(cause: Cause) -> ! {
    std::panic::resume_unwind(Box::new(EndCancelled(cause)))
}

/// What came of a closure that has unwound.
#[cold]
fn unwound<T>(payload: Payload, unseen: &Arc<UnseenPanics>) -> (Outcome<T>, Ended) {
    match payload.downcast::<EndCancelled>() {
        Ok(end) => (Outcome::Cancelled(end.0), Ended::Cancelled),
        Err(payload) => (Outcome::Panicked(KeptPanic::new(payload, unseen)), Ended::Panicked),
    }
}

/// What kind of outcome there is, for counting.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Panicked,
    Cancelled,
}

/// The parts of a fiber that depend on its closure's type.
///
/// Each function takes the header of a fiber made by [`allocate`] with the same types.
pub(crate) struct VTable {
    /// Calls the closure and writes the outcome. Once, by the home worker.
    run: unsafe fn(NonNull<Header>, &Arc<UnseenPanics>) -> Ended,
    /// Drops the closure instead and writes that outcome. Instead of `run`.
    cancel: unsafe fn(NonNull<Header>, Cause, &Arc<UnseenPanics>) -> Ended,
    /// Where the outcome is.
    outcome: unsafe fn(NonNull<Header>) -> *mut (),
    /// Drops an outcome that nobody took; a panic in it is caught.
    drop_outcome: unsafe fn(NonNull<Header>),
    /// Frees the block, and nothing in it but the header's own fields.
    free: unsafe fn(NonNull<Header>),
}

#[repr(C)]
struct Task<F, T> {
    header: Header,
    body: UnsafeCell<Body<F, T>>,
}

union Body<F, T> {
    closure: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<T>>,
}

impl<F: FnOnce() -> T, T> Task<F, T> {
    const VTABLE: VTable = VTable {
        run: Self::run,
        cancel: Self::cancel,
        outcome: Self::outcome,
        drop_outcome: Self::drop_outcome,
        free: Self::free,
    };

    unsafe fn body(header: NonNull<Header>) -> *mut Body<F, T> {
        // SAFETY: the header is the first field of a `Task<F, T>`, by the contract of the vtable.
        UnsafeCell::raw_get(unsafe { &raw const (*header.cast::<Self>().as_ptr()).body })
    }

    unsafe fn write(header: NonNull<Header>, outcome: Outcome<T>) {
        // SAFETY: the closure has been moved out, so its place is free.
        unsafe { (*Self::body(header)).outcome = ManuallyDrop::new(outcome) };
    }

    unsafe fn run(header: NonNull<Header>, unseen: &Arc<UnseenPanics>) -> Ended {
        // SAFETY: a fiber is run or cancelled once, so the closure is there and is moved out once.
        let closure = unsafe { ManuallyDrop::take(&mut (*Self::body(header)).closure) };
        let (outcome, ended) = match catch_unwind(AssertUnwindSafe(closure)) {
            Ok(value) => (Outcome::Returned(value), Ended::Returned),
            Err(payload) => unwound(payload, unseen),
        };
        // SAFETY: the closure is gone.
        unsafe { Self::write(header, outcome) };
        ended
    }

    unsafe fn cancel(header: NonNull<Header>, cause: Cause, unseen: &Arc<UnseenPanics>) -> Ended {
        // SAFETY: a fiber is run or cancelled once, so the closure is there and is moved out once.
        let closure = unsafe { ManuallyDrop::take(&mut (*Self::body(header)).closure) };
        let (outcome, ended) = match catch_unwind(AssertUnwindSafe(|| drop(closure))) {
            Ok(()) => (Outcome::Cancelled(cause), Ended::Cancelled),
            Err(payload) => (Outcome::Panicked(KeptPanic::new(payload, unseen)), Ended::Panicked),
        };
        // SAFETY: the closure is gone.
        unsafe { Self::write(header, outcome) };
        ended
    }

    unsafe fn outcome(header: NonNull<Header>) -> *mut () {
        // SAFETY: as for `body`; all fields of a union start where it starts.
        unsafe { Self::body(header) }.cast()
    }

    unsafe fn drop_outcome(header: NonNull<Header>) {
        // SAFETY: the fiber is done and nobody took the outcome, so it is there and is moved out once.
        let outcome = unsafe { ManuallyDrop::take(&mut (*Self::body(header)).outcome) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(outcome))) {
            // Its own drop may panic too. There is an end to politeness.
            std::mem::forget(payload);
        }
    }

    unsafe fn free(header: NonNull<Header>) {
        let task = header.cast::<Self>();
        // SAFETY: made by `allocate`; dropped once, and the body drops nothing.
        unsafe {
            task.drop_in_place();
            pool::free(task);
        }
    }
}

/// Makes a fiber of a closure: all of it in one block.
#[inline]
pub(crate) fn allocate<F: FnOnce() -> T, T>(birth: Birth, closure: F) -> FiberRef {
    // Allocated first, so that the parts are written where they stay.
    let block = pool::allocate::<Task<F, T>>();
    // SAFETY: the block is free and made for this type. It is freed by `free` only, when the fiber's end and its handle are past.
    unsafe {
        (&raw mut (*block.as_ptr()).header).write(Header::new(birth, State::fresh(), const { &Task::<F, T>::VTABLE }));
        (&raw mut (*block.as_ptr()).body).write(UnsafeCell::new(Body { closure: ManuallyDrop::new(closure) }));
        FiberRef::new(block.cast())
    }
}

/// Makes the control block of a fiber that runs already and whose outcome is not kept here: the main fiber of `run`.
pub(crate) fn allocate_running(birth: Birth) -> FiberRef {
    type Main = Task<fn(), ()>;
    let block = pool::allocate::<Main>();
    let header = Header::new(birth, State::running(), const { &Main::VTABLE });
    // SAFETY: as in `allocate`.
    unsafe {
        block.write(Task { header, body: UnsafeCell::new(Body { outcome: ManuallyDrop::new(Outcome::Returned(())) }) });
        FiberRef::new(block.cast())
    }
}

impl FiberRef {
    /// Calls the closure. If it panics and nobody sees that, it counts as `unseen`.
    ///
    /// # Safety
    /// Neither this nor [`cancel`](Self::cancel) was called before; on a thread where the closure may run.
    #[inline]
    pub(crate) unsafe fn run(self, unseen: &Arc<UnseenPanics>) -> Ended {
        // SAFETY: the vtable belongs to this block, the rest is the caller's promise.
        unsafe { (self.vtable.run)(self.as_ptr(), unseen) }
    }

    /// Drops the closure instead of calling it.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(crate) unsafe fn cancel(self, cause: Cause, unseen: &Arc<UnseenPanics>) -> Ended {
        // SAFETY: as in `run`.
        unsafe { (self.vtable.cancel)(self.as_ptr(), cause, unseen) }
    }

    /// Takes the outcome out.
    ///
    /// # Safety
    /// The fiber was made with this `T`, is done, and its outcome was neither taken nor dropped.
    #[inline]
    pub(crate) unsafe fn take_outcome<T>(self) -> Outcome<T> {
        // SAFETY: the caller's promise.
        unsafe { (self.vtable.outcome)(self.as_ptr()).cast::<Outcome<T>>().read() }
    }

    /// Takes the outcome out and leaves word of that.
    ///
    /// # Safety
    /// As for [`take_outcome`](Self::take_outcome), except that it may have been taken by this.
    pub(crate) unsafe fn replace_outcome<T>(self) -> Outcome<T> {
        // SAFETY: the caller's promise.
        unsafe { (self.vtable.outcome)(self.as_ptr()).cast::<Outcome<T>>().replace(Outcome::Taken) }
    }

    /// Looks at the outcome.
    ///
    /// # Safety
    /// As for [`take_outcome`](Self::take_outcome), for as long as the reference lives.
    pub(crate) unsafe fn peek_outcome<'a, T>(self) -> &'a Outcome<T> {
        // SAFETY: the caller's promise.
        unsafe { &*(self.vtable.outcome)(self.as_ptr()).cast::<Outcome<T>>() }
    }

    /// Drops an outcome that nobody took.
    ///
    /// # Safety
    /// The fiber is done and its outcome was neither taken nor dropped.
    pub(crate) unsafe fn drop_outcome(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.vtable.drop_outcome)(self.as_ptr()) }
    }

    /// Frees the block.
    ///
    /// # Safety
    /// The outcome was taken or dropped, and nobody uses a `FiberRef` to it any more.
    #[inline]
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.vtable.free)(self.as_ptr()) }
    }
}
