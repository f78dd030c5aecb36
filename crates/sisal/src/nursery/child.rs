//! The children of a nursery.
//!
//! A child is a fiber whose closure is a [`Task`]: the user's closure, and the nursery that it is inside. Run or dropped, a task goes
//! through the steps that the [module](super) names, and then nothing in it leads to the nursery's frame any more; what the fiber
//! does afterwards concerns its own block only, where its outcome is whether there was a value. That itself goes by [`value`](super::value).
#![allow(unsafe_code, reason = "children borrow from frames around them, which wait for their end")]

use super::inside::Nursery;
use super::policy::ChildResult;
use super::roster::Roster;
use super::value::Handover;
use crate::join::{JoinError, JoinHandle};
use crate::park::scope::{Entry, within};
use crate::prim::cancel::{Cancelled, Cause};
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::reason::Place;
use crate::spawn::SpawnErrorKind;
use crate::spawn::launch::{Options, launch};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// Spawns a child.
///
/// # Safety
/// The closure and its value may go to another thread, unless the start is [`Here`](Start::Here).
#[track_caller]
#[inline]
pub(super) unsafe fn spawn<'scope, E, F, R>(
    nursery: &'scope Nursery<'scope, '_, E>,
    options: Options,
    place: Place,
    f: F,
) -> Child<'scope, R::Value>
where
    E: Send,
    F: FnOnce() -> R + 'scope,
    R: ChildResult<E, Value: 'scope>,
{
    nursery.roster.come();
    let (given, value) = Handover::pair();
    let task = Task { parts: MaybeUninit::new((f, given)), nursery: NonNull::from(nursery) };
    let options = Options { is_part: nursery.are_parts(), ..options };
    // SAFETY: the closure and its value live as long as the nursery, which does not end before the task has. They may go where they are going by
    // the caller's promise, and errors because they are `Send`.
    match unsafe { launch(nursery.runtime(), options, place, move || task.run()) } {
        Ok(handle) => Child { handle, value, scope: PhantomData },
        Err(error) => refuse(error.kind()),
    }
}

#[cold]
#[track_caller]
fn refuse(kind: SpawnErrorKind) -> ! {
    match kind {
        SpawnErrorKind::NoRuntime => panic!("sisal: can't spawn into the nursery: {kind}, with Handle::nursery"),
        kind => panic!("sisal: can't spawn into the nursery: {kind}"),
    }
}

/// What a child runs. It counts in the roster of its nursery, whether it is run or dropped.
///
/// INVARIANT: the nursery's frame is there until the task has counted itself out, and may be gone right after, in the middle of its
/// own last call. Hence a pointer rather than a reference, and `MaybeUninit` around the closure and the share of its value, in which there may
/// be references, too.
struct Task<'scope, 'env, E: Send, F: FnOnce() -> R, R: ChildResult<E>> {
    parts: MaybeUninit<(F, Handover<R::Value>)>,
    nursery: NonNull<Nursery<'scope, 'env, E>>,
}

impl<E: Send, F: FnOnce() -> R, R: ChildResult<E>> Task<'_, '_, E, F, R> {
    /// Ok if there is a value now.
    #[inline]
    fn run(self) -> Result<(), Cause> {
        // SAFETY: it is not dropped.
        unsafe { ManuallyDrop::new(self).finish(true) }
    }

    /// Calls the closure, or only drops it if it is not wanted, and counts the child out. Says why there is no value; nobody asks that of one which
    /// was not wanted.
    ///
    /// # Safety
    /// Called once.
    #[inline]
    unsafe fn finish(&mut self, is_wanted: bool) -> Result<(), Cause> {
        // SAFETY: we are inside.
        let nursery = unsafe { self.nursery.as_ref() };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            within(Entry::Child(nursery.node()), Moment::NEVER, |_| {
                // SAFETY: they are there, and taken out once.
                let (f, given) = unsafe { self.parts.assume_init_read() };
                if !is_wanted {
                    return Err(Cause::Request);
                }
                if let Some(cause) = nursery.is_over() {
                    return Err(cause);
                }
                match f().into_result() {
                    Ok(value) => {
                        given.put(value);
                        Ok(())
                    }
                    Err(error) => {
                        nursery.failed(error);
                        Err(Cause::Failure)
                    }
                }
            })
        }));
        let outcome = ended.unwrap_or_else(|payload| {
            nursery.child_panicked(payload);
            Err(Cause::Failure)
        });
        // SAFETY: a field of the nursery, which is still there. Closure, result and scope are gone, the value too or the handle's, and this is
        // the last touch.
        unsafe { Roster::go(NonNull::from(&nursery.roster)) };
        outcome
    }
}

impl<E: Send, F: FnOnce() -> R, R: ChildResult<E>> Drop for Task<'_, '_, E, F, R> {
    /// It is not to run: the fiber was cancelled when it was fresh, or the runtime is stopping, or it could not be spawned.
    fn drop(&mut self) {
        // SAFETY: one that runs is not dropped.
        _ = unsafe { self.finish(false) };
    }
}

/// A child of a nursery, which returns a `T`. Dropping this drops a value that was returned, and does nothing else: the nursery waits for the child in
/// any case.
///
/// ```
/// sisal::run(|| {
///     sisal::nursery(|n| {
///         let first = n.spawn(|| sisal::yield_now());
///         first.wait().unwrap();
///         assert!(first.is_finished());
///         n.spawn(|| ());
///         Ok::<_, ()>(())
///     }).unwrap();
/// });
/// ```
pub struct Child<'scope, T = ()> {
    handle: JoinHandle<Result<(), Cause>>,
    value: Handover<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> Child<'_, T> {
    /// The number of its fiber.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let (sender, receiver) = sisal::chan::oneshot();
    ///         let child = n.spawn(move || drop(sender.send(sisal::fiber::current().unwrap().id())));
    ///         assert_eq!(receiver.recv(), Ok(child.id()));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn id(&self) -> FiberId {
        self.handle.id()
    }

    /// Its name, if it was given one by [`ChildBuilder::name`](crate::ChildBuilder::name).
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         assert_eq!(n.builder().name("parser").spawn(|| ()).name(), Some("parser"));
    ///         assert_eq!(n.spawn(|| ()).name(), None);
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.handle.name()
    }

    /// Asks this child to end, as [`JoinHandle::cancel`] does: if it has not started, it never runs; else its waits are cancelled.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let child = n.spawn(|| drop(sisal::sleep(Duration::from_secs(3600))));
    ///         child.cancel();
    ///         assert!(!n.is_cancelled());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Whether it has ended, in whatever way.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let (tell, told) = sisal::chan::oneshot();
    ///         let child = n.spawn(move || _ = told.recv());
    ///         assert!(!child.is_finished());
    ///         tell.send(7).unwrap();
    ///         child.wait().unwrap();
    ///         assert!(child.is_finished());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits until it has ended, in whatever way.
    ///
    /// # Errors
    /// [`Cancelled`] if something from outside ended the wait: the child's own failure, for instance, which ends the nursery.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::unbounded();
    ///     sisal::nursery(|n| {
    ///         let child = n.spawn(|| sender.send(7).unwrap());
    ///         child.wait().unwrap();
    ///         assert_eq!(receiver.try_recv(), Ok(7));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> Result<(), Cancelled> {
        self.handle.wait()
    }

    /// Waits until it has ended, and gives what it returned.
    ///
    /// # Errors
    /// [`Cancelled`] if there is no value: because the child failed or panicked, and the error or the panic is the nursery's; because it never
    /// ran; or because something from outside ended the wait, and then the child may still be running. The cause does not tell these apart:
    /// [`Cause::Failure`] is this child's failure, or that of a sibling which has ended the nursery.
    ///
    /// # Panics
    /// If it has given its value to somebody who awaited it.
    ///
    /// ```
    /// use std::io;
    /// sisal::run(|| -> io::Result<()> {
    ///     let text = String::from("plain blocking code");
    ///     let counts = sisal::nursery(|n| {
    ///         let words = n.spawn(|| Ok(text.split(' ').count()));
    ///         let letters = n.spawn(|| Ok(text.len()));
    ///         Ok::<_, io::Error>((words.join()?, letters.join()?))
    ///     })?;
    ///     assert_eq!(counts, (3, 19));
    ///     Ok(())
    /// }).unwrap();
    /// ```
    ///
    /// The first error is the nursery's, whatever comes of it in those who join:
    ///
    /// ```
    /// sisal::run(|| {
    ///     let result = sisal::nursery(|n| {
    ///         let number = n.spawn(|| "seven".parse::<u32>().map_err(|_| "no number"));
    ///         number.join().map_err(|_| "nothing to add to")
    ///     });
    ///     assert_eq!(result, Err("no number"));
    /// });
    /// ```
    ///
    /// A value goes from thread to thread, and stays in the nursery with its child:
    ///
    /// ```compile_fail,E0277
    /// sisal::run(|| sisal::nursery(|n| n.spawn(|| Ok::<_, ()>(std::rc::Rc::new(7))).wait().map_err(drop)));
    /// ```
    ///
    /// ```compile_fail,E0277
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let child = n.spawn_local(|| Ok::<_, ()>(std::rc::Rc::new(7)));
    ///         n.spawn(move || drop(child));
    ///         Ok(())
    ///     })
    /// });
    /// ```
    ///
    /// ```compile_fail
    /// sisal::run(|| drop(sisal::nursery(|n| Ok::<_, ()>(n.spawn(|| Ok(7))))));
    /// ```
    #[track_caller]
    pub fn join(mut self) -> Result<T, Cancelled> {
        let outcome = self.handle.join();
        // SAFETY: just that is asked.
        value_of(outcome).map(|()| unsafe { self.value.take() })
    }
}

/// Ok if there is a value.
fn value_of(outcome: Result<Result<(), Cause>, JoinError>) -> Result<(), Cancelled> {
    match outcome {
        Ok(ended) => ended.map_err(Cancelled::by),
        Err(JoinError::Cancelled(cancelled) | JoinError::Interrupted(cancelled)) => Err(cancelled),
        // Its own would be the nursery's: a subscriber of `tracing` has panicked around it.
        Err(JoinError::Panicked(panic)) => panic.resume(),
    }
}

/// A child can be awaited, in any executor, which gives what [`join`](Child::join) does.
///
/// # Panics
/// If it is polled or joined after it has given its value.
///
/// ```
/// sisal::run(|| {
///     sisal::nursery(|n| {
///         let (one, two) = (n.spawn(|| Ok(1)), n.spawn(|| Ok(2)));
///         let sum = sisal::block_on(async { one.await.unwrap() + two.await.unwrap() });
///         assert_eq!(sum, 3);
///         Ok::<_, ()>(())
///     }).unwrap();
/// });
/// ```
impl<T> Future for Child<'_, T> {
    type Output = Result<T, Cancelled>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, Cancelled>> {
        let child = self.get_mut();
        let outcome = ready!(Pin::new(&mut child.handle).poll(context));
        // SAFETY: just that is asked; and once, since the handle gives its result once.
        Poll::Ready(value_of(outcome).map(|()| unsafe { child.value.take() }))
    }
}

impl<T> fmt::Debug for Child<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("fiber", &self.id()).field("is_finished", &self.is_finished()).finish()
    }
}
