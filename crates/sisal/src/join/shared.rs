//! A handle for any number of waiters.
#![allow(unsafe_code, reason = "the outcome is read in its fiber's control block")]

use super::error::{JoinError, Panic};
use super::future;
use super::handle::{JoinHandle, refuse_twice};
use crate::fiber::body::Outcome;
use crate::fiber::info::Fiber;
use crate::prim::cancel::Cancelled;
use crate::prim::id::FiberId;
use crate::prim::task_parker::TaskParker;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A handle that can be cloned and joined any number of times, by fibers and threads, before and after the end.
///
/// ```
/// sisal::run(|| {
///     let answer = sisal::spawn(|| 42).shared();
///     let joiners: Vec<_> = (0..10).map(|_| { let answer = answer.clone(); sisal::spawn(move || answer.join().unwrap()) }).collect();
///     let sum: i32 = joiners.into_iter().map(|joiner| joiner.join().unwrap()).sum();
///     assert_eq!(sum, 420);
///     assert_eq!(answer.join().unwrap(), 42);
/// });
/// ```
pub struct SharedHandle<T> {
    handle: Arc<JoinHandle<T>>,
    /// Whom to wake, if this handle is awaited.
    task: Option<Arc<TaskParker>>,
    /// The value is read by all that have a clone, on whatever thread.
    value: PhantomData<Arc<T>>,
}

impl<T: Clone> JoinHandle<T> {
    /// Turns the handle into one that can be joined any number of times.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let answer = sisal::spawn(|| 42).shared();
    ///     assert_eq!((answer.join().unwrap(), answer.join().unwrap()), (42, 42));
    /// });
    /// ```
    pub fn shared(self) -> SharedHandle<T> {
        SharedHandle { handle: Arc::new(self), task: None, value: PhantomData }
    }
}

impl<T: Clone> SharedHandle<T> {
    /// Waits for the fiber's end and returns a clone of its result.
    ///
    /// # Errors
    /// See [`JoinError`]. The payload of a panic can't be cloned: every waiter gets its message instead.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let greeting = sisal::spawn(|| String::from("hello")).shared();
    ///     let other = { let greeting = greeting.clone(); sisal::spawn(move || greeting.join().unwrap()) };
    ///     assert_eq!(greeting.join().unwrap(), other.join().unwrap());
    /// });
    /// ```
    #[track_caller]
    pub fn join(&self) -> Result<T, JoinError> {
        self.handle.wait().map_err(JoinError::Interrupted)?;
        self.copy_outcome()
    }

    fn copy_outcome(&self) -> Result<T, JoinError> {
        let fiber = self.handle.fiber();
        // SAFETY: the fiber is done, and its outcome stays in its block as long as the handle does, which is not joined. It is
        // only read; that threads may do so at once is asked for by the bounds on sending and sharing this type.
        match unsafe { fiber.peek_outcome::<T>() } {
            Outcome::Returned(value) => Ok(value.clone()),
            Outcome::Panicked(panic) => Err(JoinError::Panicked(Panic::copy(Fiber::of(&fiber), panic.show()))),
            Outcome::Cancelled(cause) => Err(JoinError::Cancelled(Cancelled::by(*cause))),
            Outcome::Taken => refuse_twice(),
        }
    }

    /// Waits for the fiber's end, without a look at the result.
    ///
    /// # Errors
    /// As for [`JoinHandle::wait`].
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::spawn(|| 7).shared();
    ///     handle.wait().unwrap();
    ///     assert!(handle.is_finished());
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> Result<(), Cancelled> {
        self.handle.wait()
    }

    /// Asks the fiber to end: see [`JoinHandle::cancel`]. Whoever joins it, by whatever clone, hears of that.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let sleeper = sisal::spawn_local(|| sisal::sleep(Duration::from_secs(3600))).shared();
    ///     sisal::yield_now();
    ///     sleeper.clone().cancel();
    ///     assert_eq!(sleeper.join().unwrap().unwrap_err().cause, sisal::Cause::Request);
    /// });
    /// ```
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Whether the fiber has ended.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (tell, told) = sisal::chan::oneshot();
    ///     let shared = sisal::spawn(move || told.recv().unwrap()).shared();
    ///     assert!(!shared.is_finished());
    ///     tell.send(7).unwrap();
    ///     assert_eq!(shared.join().unwrap(), 7);
    ///     assert!(shared.is_finished());
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// The fiber's number.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::spawn(|| ());
    ///     let id = handle.id();
    ///     let shared = handle.shared();
    ///     assert_eq!((shared.id(), shared.clone().id()), (id, id));
    /// });
    /// ```
    pub fn id(&self) -> FiberId {
        self.handle.id()
    }

    /// The fiber's name, if it has one.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let shared = sisal::Builder::new().name("parser").spawn(|| ()).shared();
    ///     assert_eq!(shared.clone().name(), Some("parser"));
    /// });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.handle.name()
    }
}

/// A shared handle can be awaited, in any executor and any number of times.
///
/// ```
/// sisal::run(|| {
///     let mut answer = sisal::spawn(|| 42).shared();
///     assert_eq!(sisal::block_on(&mut answer).unwrap(), 42);
///     assert_eq!(sisal::block_on(answer).unwrap(), 42);
/// });
/// ```
impl<T: Clone> Future for SharedHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let shared = self.get_mut();
        let end = &shared.handle.fiber().end;
        if !end.is_done() && future::must_wait(end, &mut shared.task, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(shared.copy_outcome())
    }
}

impl<T> Drop for SharedHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            future::take_off(&self.handle.fiber().end, &task);
        }
    }
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> SharedHandle<T> {
        SharedHandle { handle: Arc::clone(&self.handle), task: None, value: PhantomData }
    }
}

impl<T> fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
