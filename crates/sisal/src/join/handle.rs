//! The handle of a fiber.
//!
//! There is one for each fiber, and it owns the control block together with the fiber itself: see
//! [`end`](crate::fiber::end) for who frees it.
#![allow(unsafe_code, reason = "a handle owns its fiber's control block")]

use super::error::{JoinError, Panic};
use super::future;
use crate::fiber::body::Outcome;
use crate::fiber::end::Freeing;
use crate::fiber::header::FiberRef;
use crate::fiber::info::Fiber;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::park::{self, Waiting};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::sched::fuel::pay_fuel;
use crate::sched::poke::request_cancel;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// The handle of a spawned fiber. Dropping it detaches the fiber, which then goes on by itself.
///
/// ```
/// sisal::run(|| {
///     let handle = sisal::spawn(|| 6 * 7);
///     assert_eq!(handle.join().unwrap(), 42);
/// });
/// ```
#[must_use = "a dropped handle detaches its fiber; say so with `drop` if that is meant"]
pub struct JoinHandle<T> {
    fiber: FiberRef,
    outcome: PhantomData<*const T>,
}

// SAFETY: what can be had through a handle is the outcome, once, by whoever owns the handle.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: through a shared handle nothing can be had but the news that the fiber has ended.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The fiber was made with this `T`, and this is its only handle.
    #[inline]
    pub(crate) unsafe fn new(fiber: FiberRef) -> JoinHandle<T> {
        JoinHandle { fiber, outcome: PhantomData }
    }

    pub(super) fn fiber(&self) -> FiberRef {
        self.fiber
    }

    /// Waits for the fiber's end and returns its result. Parks the fiber that calls it, or blocks the thread.
    ///
    /// The result is kept until then, however long ago the fiber ended.
    ///
    /// # Errors
    /// See [`JoinError`].
    ///
    /// ```
    /// sisal::run(|| {
    ///     let numbers = vec![1, 2, 3];
    ///     let sum = sisal::spawn(move || numbers.iter().sum::<i32>());
    ///     assert_eq!(sum.join().unwrap(), 6);
    ///     assert!(sisal::spawn(|| panic!("no more tea")).join().is_err());
    /// });
    /// ```
    #[track_caller]
    #[inline]
    pub fn join(self) -> Result<T, JoinError> {
        self.join_at(Location::caller())
    }

    #[inline]
    pub(super) fn join_at(self, place: Place) -> Result<T, JoinError> {
        if self.fiber.end.is_done() {
            pay_fuel(place);
        } else if let Err(cancelled) = self.wait_at(place)
            // What has come meanwhile is not lost.
            && !self.fiber.end.is_done()
        {
            return Err(JoinError::Interrupted(cancelled));
        }
        self.take_outcome()
    }

    /// The fiber is done: takes the outcome and frees the block.
    #[inline]
    pub(crate) fn take_outcome(self) -> Result<T, JoinError> {
        debug_assert!(self.fiber.end.is_done(), "INVARIANT: the outcome is there when the fiber is done");
        let fiber = ManuallyDrop::new(self).fiber;
        // SAFETY: the fiber is done, and this was its only handle, so the outcome is there, and nobody else touches it.
        let outcome = unsafe { fiber.take_outcome::<T>() };
        let result = result_of(fiber, outcome);
        // SAFETY: as above, and the outcome is out.
        unsafe { fiber.free() };
        result.unwrap_or_else(|| refuse_twice())
    }

    /// As [`take_outcome`](Self::take_outcome), but the handle stays, and has nothing more to give.
    pub(super) fn give_outcome(&mut self) -> Result<T, JoinError> {
        debug_assert!(self.fiber.end.is_done(), "INVARIANT: the outcome is there when the fiber is done");
        // SAFETY: the fiber is done, and this is its only handle, so nobody else touches the outcome.
        let outcome = unsafe { self.fiber.replace_outcome::<T>() };
        result_of(self.fiber, outcome).unwrap_or_else(|| refuse_twice())
    }

    /// Waits for the fiber's end, without taking the result.
    ///
    /// # Errors
    /// [`Cancelled`] if something from outside ended the wait: see [`Cause`](crate::Cause).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::spawn(|| 7);
    ///     handle.wait().unwrap();
    ///     assert!(handle.is_finished());
    ///     assert_eq!(handle.join().unwrap(), 7);
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> Result<(), Cancelled> {
        self.wait_at(Location::caller())
    }

    /// Waits for the fiber's end, whatever else happens.
    pub(crate) fn wait_uncancelled(&self, place: Place) {
        let woken = wait_for_end(self.fiber, place, None, false);
        debug_assert!(matches!(woken, Woken::Object(_)), "INVARIANT: nothing but the end ends this wait");
    }

    /// Waits for the fiber's end, until `deadline` at most, and says what ended the wait.
    pub(crate) fn wait_by(&self, deadline: Option<Moment>, place: Place) -> Woken {
        wait_for_end(self.fiber, place, deadline, true)
    }

    fn wait_at(&self, place: Place) -> Result<(), Cancelled> {
        match wait_for_end(self.fiber, place, None, true) {
            Woken::Object(_) => Ok(()),
            Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
            Woken::Deadline => unreachable!("INVARIANT: this wait has no deadline"),
        }
    }

    /// Asks the fiber to end. One that has not started never runs, and its join returns [`JoinError::Cancelled`]. The waits of one
    /// that has return [`Cancelled`] from now on, and it ends as it sees fit. To one that has ended nothing happens.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let sleeper = sisal::spawn_local(|| sisal::sleep(Duration::from_secs(3600)));
    ///     sisal::yield_now();
    ///     sleeper.cancel();
    ///     assert_eq!(sleeper.join().unwrap().unwrap_err().cause, sisal::Cause::Request);
    /// });
    /// ```
    pub fn cancel(&self) {
        request_cancel(self.fiber);
    }

    /// Whether the fiber has ended.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (tell, told) = sisal::chan::oneshot();
    ///     let handle = sisal::spawn(move || told.recv());
    ///     assert!(!handle.is_finished());
    ///     tell.send(7).unwrap();
    ///     handle.wait().unwrap();
    ///     assert!(handle.is_finished());
    /// });
    /// ```
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.fiber.end.is_done()
    }

    /// The fiber's number.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (one, other) = (sisal::spawn(|| sisal::fiber::current().unwrap().id()), sisal::spawn(|| ()));
    ///     let id = one.id();
    ///     assert_ne!(id, other.id());
    ///     assert_eq!(one.join().unwrap(), id);
    /// });
    /// ```
    pub fn id(&self) -> FiberId {
        self.fiber.id
    }

    /// The fiber's name, if it has one.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (one, other) = (sisal::Builder::new().name("parser").spawn(|| ()), sisal::spawn(|| ()));
    ///     assert_eq!((one.name(), other.name()), (Some("parser"), None));
    /// });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.fiber.name.as_deref()
    }
}

/// Waits for the fiber's end.
fn wait_for_end(fiber: FiberRef, place: Place, deadline: Option<Moment>, cancellable: bool) -> Woken {
    let end = &fiber.end;
    if end.is_done() {
        pay_fuel(place);
        return Woken::Object(0);
    }
    let wait = Wait::new(park::me());
    let waiter = Waiter::solo(&wait);
    // SAFETY: the record stays in this frame until it was claimed and unparked, or delisted below.
    if !unsafe { end.enlist(&waiter) } {
        return Woken::Object(0);
    }
    let object = Object::of(&*fiber);
    let waiting = Waiting { reason: Reason::Join, object, place, deadline, cancellable };
    park::park_or_leave(&wait, &waiting, || end.delist(&waiter))
}

/// What a join returns; none if the outcome was given out before.
#[inline]
fn result_of<T>(fiber: FiberRef, outcome: Outcome<T>) -> Option<Result<T, JoinError>> {
    match outcome {
        Outcome::Returned(value) => Some(Ok(value)),
        Outcome::Panicked(panic) => Some(Err(JoinError::Panicked(Panic::new(Fiber::of(&fiber), panic.receive())))),
        Outcome::Cancelled(cause) => Some(Err(JoinError::Cancelled(Cancelled::by(cause)))),
        Outcome::Taken => None,
    }
}

#[cold]
pub(super) fn refuse_twice() -> ! {
    panic!("sisal: this handle was awaited as a future and has given its result already")
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.fiber.end.detach(future::forget) == Freeing::Mine {
            // SAFETY: the fiber is done and nobody took its outcome; with its only handle gone nobody can reach the block.
            unsafe {
                self.fiber.drop_outcome();
                self.fiber.free();
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("fiber", &self.id()).field("is_finished", &self.is_finished()).finish()
    }
}
