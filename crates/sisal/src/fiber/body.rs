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

/// How a fiber ended that has not returned.
enum NoValue {
    Panicked(Box<KeptPanic>),
    Cancelled(Cause),
}

impl NoValue {
    /// What came of a closure that has unwound.
    #[cold]
    fn of(payload: Payload, unseen: &Arc<UnseenPanics>) -> NoValue {
        match payload.downcast::<EndCancelled>() {
            Ok(end) => NoValue::Cancelled(end.0),
            Err(payload) => NoValue::Panicked(KeptPanic::new(payload, unseen)),
        }
    }

    fn kind(&self) -> Ended {
        match self {
            NoValue::Panicked(_) => Ended::Panicked,
            NoValue::Cancelled(_) => Ended::Cancelled,
        }
    }
}

/// What kind of outcome there is, for counting.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Returned,
    Panicked,
    Cancelled,
}

/// The parts of a fiber that depend on its closure's type. As little as can be: there is a copy of it for every closure of a program.
///
/// Each function takes the header of a fiber made by [`allocate`] with the same types.
pub(crate) struct VTable {
    /// Calls the closure and writes what it returns. Once, by the home worker. It may unwind, and then [`end`](Self::end) is called.
    call: unsafe fn(NonNull<Header>),
    /// Drops the closure. Instead of `call`, and the same holds.
    drop_closure: unsafe fn(NonNull<Header>),
    /// Writes how it ended without a value, when the closure is gone.
    end: unsafe fn(NonNull<Header>, NoValue),
    /// Where the outcome is.
    outcome: unsafe fn(NonNull<Header>) -> *mut (),
    /// Drops an outcome that nobody took. It may unwind.
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
        call: Self::call,
        drop_closure: Self::drop_closure,
        end: Self::end,
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

    unsafe fn take_closure(header: NonNull<Header>) -> F {
        // SAFETY: a fiber is run or cancelled once, so the closure is there and is moved out once.
        unsafe { ManuallyDrop::take(&mut (*Self::body(header)).closure) }
    }

    unsafe fn call(header: NonNull<Header>) {
        // SAFETY: the contract of the vtable.
        let closure = unsafe { Self::take_closure(header) };
        let value = closure();
        // SAFETY: the closure is gone.
        unsafe { Self::write(header, Outcome::Returned(value)) };
    }

    unsafe fn drop_closure(header: NonNull<Header>) {
        // SAFETY: the contract of the vtable.
        drop(unsafe { Self::take_closure(header) });
    }

    unsafe fn end(header: NonNull<Header>, end: NoValue) {
        let outcome = match end {
            NoValue::Panicked(panic) => Outcome::Panicked(panic),
            NoValue::Cancelled(cause) => Outcome::Cancelled(cause),
        };
        // SAFETY: the contract of the vtable.
        unsafe { Self::write(header, outcome) };
    }

    unsafe fn outcome(header: NonNull<Header>) -> *mut () {
        // SAFETY: as for `body`; all fields of a union start where it starts.
        unsafe { Self::body(header) }.cast()
    }

    unsafe fn drop_outcome(header: NonNull<Header>) {
        // SAFETY: the fiber is done and nobody took the outcome, so it is there and is moved out once.
        drop(unsafe { ManuallyDrop::take(&mut (*Self::body(header)).outcome) });
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
        match catch_unwind(AssertUnwindSafe(|| unsafe { (self.vtable.call)(self.as_ptr()) })) {
            Ok(()) => Ended::Returned,
            // SAFETY: it has unwound, and the closure with it.
            Err(payload) => unsafe { self.end(NoValue::of(payload, unseen)) },
        }
    }

    /// # Safety
    /// The closure is gone, and has left no value.
    unsafe fn end(self, end: NoValue) -> Ended {
        let kind = end.kind();
        // SAFETY: as in `run`.
        unsafe { (self.vtable.end)(self.as_ptr(), end) };
        kind
    }

    /// Drops the closure instead of calling it.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(crate) unsafe fn cancel(self, cause: Cause, unseen: &Arc<UnseenPanics>) -> Ended {
        // SAFETY: as in `run`.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { (self.vtable.drop_closure)(self.as_ptr()) }));
        let end = match dropped {
            Ok(()) => NoValue::Cancelled(cause),
            Err(payload) => NoValue::Panicked(KeptPanic::new(payload, unseen)),
        };
        // SAFETY: the closure is gone.
        unsafe { self.end(end) }
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

    /// Drops an outcome that nobody took; a panic in it is caught.
    ///
    /// # Safety
    /// The fiber is done and its outcome was neither taken nor dropped.
    pub(crate) unsafe fn drop_outcome(self) {
        // SAFETY: the caller's promise.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { (self.vtable.drop_outcome)(self.as_ptr()) }));
        if let Err(payload) = dropped {
            // Its own drop may panic too. There is an end to politeness.
            std::mem::forget(payload);
        }
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
