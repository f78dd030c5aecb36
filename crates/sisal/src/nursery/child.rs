//! The children of a nursery.
//!
//! A child is a fiber whose closure is a [`Task`]: the user's closure, and the nursery that it is inside. Run or dropped, a task goes
//! through the steps that the [module](super) names, and then nothing in it leads to the nursery's frame any more; what the fiber
//! does afterwards concerns its own block only, where its outcome is `()`.
#![allow(unsafe_code, reason = "children borrow from frames around them, which wait for their end")]

use super::inside::Nursery;
use super::policy::ChildResult;
use super::roster::Roster;
use crate::join::JoinHandle;
use crate::park::scope::{Entry, within};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::reason::Place;
use crate::spawn::SpawnErrorKind;
use crate::spawn::launch::{Options, Start, launch};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Spawns a child.
///
/// # Safety
/// The closure may go to another thread, unless the start is [`Here`](Start::Here).
#[track_caller]
#[inline]
pub(super) unsafe fn spawn<'scope, E, F, R>(
    nursery: &'scope Nursery<'scope, '_, E>,
    options: Options,
    place: Place,
    f: F,
) -> Child<'scope>
where
    E: Send,
    F: FnOnce() -> R + 'scope,
    R: ChildResult<E>,
{
    nursery.roster.come();
    let task = Task { f: MaybeUninit::new(f), nursery: NonNull::from(nursery), result: PhantomData };
    let options = Options { is_part: nursery.is_whole(), ..options };
    // SAFETY: the closure lives as long as the nursery, which does not end before the task has. It may go where it is going by the
    // caller's promise, and its errors because they are `Send`.
    match unsafe { launch(nursery.runtime(), options, place, move || task.run()) } {
        Ok(handle) => Child { handle, scope: PhantomData },
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
/// own last call. Hence a pointer rather than a reference, and `MaybeUninit` around the closure, in which there may be
/// references, too.
struct Task<'scope, 'env, E: Send, F: FnOnce() -> R, R: ChildResult<E>> {
    f: MaybeUninit<F>,
    nursery: NonNull<Nursery<'scope, 'env, E>>,
    result: PhantomData<fn() -> R>,
}

impl<E: Send, F: FnOnce() -> R, R: ChildResult<E>> Task<'_, '_, E, F, R> {
    #[inline]
    fn run(self) {
        // SAFETY: it is not dropped.
        unsafe { ManuallyDrop::new(self).finish(true) };
    }

    /// Calls the closure, or only drops it, and counts the child out.
    ///
    /// # Safety
    /// Called once.
    #[inline]
    unsafe fn finish(&mut self, is_wanted: bool) {
        // SAFETY: we are inside.
        let nursery = unsafe { self.nursery.as_ref() };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            within(Entry::Child(nursery.node()), Moment::NEVER, |_| {
                // SAFETY: it is there, and taken out once.
                let f = unsafe { self.f.assume_init_read() };
                if !nursery.wants(is_wanted) {
                    return;
                }
                if let Err(error) = f().into_result() {
                    nursery.failed(error);
                }
            });
        }));
        if let Err(payload) = ended {
            nursery.child_panicked(payload);
        }
        // SAFETY: a field of the nursery, which is still there. Closure, result and scope are gone, and this is the last touch.
        unsafe { Roster::go(NonNull::from(&nursery.roster)) };
    }
}

impl<E: Send, F: FnOnce() -> R, R: ChildResult<E>> Drop for Task<'_, '_, E, F, R> {
    /// It is not to run: the fiber was cancelled when it was fresh, or the runtime is stopping, or it could not be spawned.
    fn drop(&mut self) {
        // SAFETY: one that runs is not dropped.
        unsafe { self.finish(false) };
    }
}

/// A child of a nursery. Dropping this does nothing: the nursery waits for the child in any case.
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
pub struct Child<'scope> {
    handle: JoinHandle<()>,
    scope: PhantomData<&'scope ()>,
}

impl Child<'_> {
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

    /// Its name, if it was given one by [`ChildBuilder::name`].
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
}

/// A child's end can be awaited, in any executor. Its result is the nursery's.
///
/// # Panics
/// If it is polled after it was ready.
///
/// ```
/// sisal::run(|| {
///     sisal::nursery(|n| {
///         let (one, two) = (n.spawn(|| ()), n.spawn(|| ()));
///         sisal::block_on(async { (one.await, two.await) });
///         Ok::<_, ()>(())
///     }).unwrap();
/// });
/// ```
impl Future for Child<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Also if it was never started.
        Pin::new(&mut self.get_mut().handle).poll(context).map(drop)
    }
}

impl fmt::Debug for Child<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("fiber", &self.id()).field("is_finished", &self.is_finished()).finish()
    }
}

/// How a child is to be: its name, its stack, where it starts. Made by [`Nursery::builder`].
///
/// ```
/// sisal::run(|| {
///     sisal::nursery(|n| {
///         let child = n.builder().name("parser").stack_size(1 << 20).spawn(|| ());
///         assert_eq!(child.name(), Some("parser"));
///         Ok::<_, ()>(())
///     }).unwrap();
/// });
/// ```
#[must_use = "a builder does nothing until it spawns"]
pub struct ChildBuilder<'scope, 'env, E> {
    nursery: &'scope Nursery<'scope, 'env, E>,
    options: Options,
}

impl<'scope, 'env, E: Send> ChildBuilder<'scope, 'env, E> {
    pub(super) fn new(nursery: &'scope Nursery<'scope, 'env, E>) -> ChildBuilder<'scope, 'env, E> {
        ChildBuilder { nursery, options: Options::default() }
    }

    /// Names the child, for messages and dumps.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().name("parser").spawn(|| assert_eq!(sisal::fiber::current().unwrap().name(), Some("parser")));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> ChildBuilder<'scope, 'env, E> {
        self.options.name = Some(name.into().into_boxed_str());
        self
    }

    /// The size of its stack in usable bytes, at least; the runtime's if not given. Only pages that are used take memory.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().stack_size(1 << 20).spawn(|| assert_eq!(std::hint::black_box([1u8; 300 << 10])[7], 1));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> ChildBuilder<'scope, 'env, E> {
        self.options.stack_size = Some(bytes);
        self
    }

    /// Starts it rather on the worker on which fewest fibers wait, to spread long-lived children evenly.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::unbounded();
    ///     sisal::nursery(|n| {
    ///         (0..10).for_each(|number| { let sender = &sender; n.builder().spread().spawn(move || _ = sender.send(number)); });
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(receiver.try_iter().sum::<i32>(), 45);
    /// });
    /// ```
    pub fn spread(mut self) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::Spread;
        self
    }

    /// Says that it computes for long without a wait: see [`Builder::cpu_bound`](crate::Builder::cpu_bound).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let mut sum = 0u64;
    ///     sisal::nursery(|n| {
    ///         n.builder().cpu_bound().spawn(|| sum = (0..1_000_000).sum());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(sum, 499_999_500_000);
    /// });
    /// ```
    pub fn cpu_bound(mut self) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::Alone;
        self
    }

    /// Starts it on this worker, one of the [base workers](crate::Handle::base_workers).
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().on(0).spawn(|| ());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn on(mut self, worker: usize) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::On(worker);
        self
    }

    /// Spawns it: see [`Nursery::spawn`].
    ///
    /// # Panics
    /// Outside of a runtime, if the stack size is impossible, and if there is no such worker.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let mut words = vec!["plain", "blocking", "code"];
    ///     sisal::nursery(|n| {
    ///         n.builder().name("sorter").spawn(|| words.sort());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(words, ["blocking", "code", "plain"]);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn<F, R>(self, f: F) -> Child<'scope>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: ChildResult<E>,
    {
        // SAFETY: it is `Send`.
        unsafe { spawn(self.nursery, self.options, Location::caller(), f) }
    }

    /// Spawns it on the caller's worker, where it stays: see [`Nursery::spawn_local`].
    ///
    /// # Panics
    /// Outside of the fibers of the nursery's runtime, and if the stack size is impossible.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::run(|| {
    ///     let count = Cell::new(0);
    ///     sisal::nursery(|n| {
    ///         (0..10).for_each(|_| { n.builder().name("counter").spawn_local(|| count.set(count.get() + 1)); });
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(count.get(), 10);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_local<F, R>(mut self, f: F) -> Child<'scope>
    where
        F: FnOnce() -> R + 'scope,
        R: ChildResult<E>,
    {
        self.options.start = Start::Here;
        // SAFETY: it starts on this thread and never leaves it.
        unsafe { spawn(self.nursery, self.options, Location::caller(), f) }
    }
}

impl<E> fmt::Debug for ChildBuilder<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { name, stack_size, .. } = &self.options;
        f.debug_struct("ChildBuilder").field("name", name).field("stack_size", stack_size).finish_non_exhaustive()
    }
}
