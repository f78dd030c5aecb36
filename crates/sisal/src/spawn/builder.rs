//! The ways to spawn: four functions for the usual, a builder for the rest.
#![allow(unsafe_code, reason = "the bounds here are what makes launching sound")]

use super::error::{SpawnError, SpawnErrorKind};
use super::handle::Handle;
use super::launch::{Entry, Options, Start, launch};
use crate::join::JoinHandle;
use crate::prim::reason::Place;
use std::panic::Location;

/// Spawns a fiber in the caller's runtime.
///
/// It may start on any worker; from its first run it stays on that one. At the limit of `max_fibers` this waits.
///
/// # Panics
/// Outside of a runtime. Threads that are not part of one spawn through a [`Handle`].
///
/// ```
/// sisal::run(|| {
///     let handles: Vec<_> = (0..1000u64).map(|i| sisal::spawn(move || i)).collect();
///     let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
///     assert_eq!(sum, 499_500);
/// });
/// ```
///
/// What a fiber captures must be [`Send`], since another worker may start it:
///
/// ```compile_fail,E0277
/// let local = std::rc::Rc::new(1);
/// sisal::run(|| sisal::spawn(move || *local));
/// ```
#[track_caller]
#[inline]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let place = Location::caller();
    // SAFETY: both are `Send` and `'static`.
    unsafe { launch(None, Options::default(), place, f) }.unwrap_or_else(|error| refuse(error.kind()))
}

/// Spawns a fiber in the caller's runtime, or gives the closure back where [`spawn`] would wait or panic.
///
/// # Errors
/// See [`SpawnErrorKind`].
///
/// ```
/// let runtime = sisal::Runtime::builder().max_fibers(2).build().unwrap();
/// runtime.run(|| {
///     let one = sisal::try_spawn(|| 1).unwrap();
///     // This fiber and `one` are two.
///     assert!(sisal::try_spawn(|| 2).is_err() || one.is_finished());
/// });
/// ```
#[track_caller]
pub fn try_spawn<F, T>(f: F) -> Result<JoinHandle<T>, SpawnError<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().try_spawn_at(Location::caller(), f)
}

/// Spawns a fiber that stays on the caller's worker, and so need not be [`Send`].
///
/// # Panics
/// Outside of a runtime's fibers.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// sisal::run(|| {
///     let count = Rc::new(Cell::new(0));
///     let handles: Vec<_> = (0..10).map(|_| {
///         let count = Rc::clone(&count);
///         sisal::spawn_local(move || count.set(count.get() + 1))
///     }).collect();
///     handles.into_iter().for_each(|handle| handle.join().unwrap());
///     assert_eq!(count.get(), 10);
/// });
/// ```
///
/// What it returns need not be `Send` either; then the handle stays here too:
///
/// ```compile_fail,E0277
/// sisal::run(|| {
///     let handle = sisal::spawn_local(|| std::rc::Rc::new(1));
///     sisal::spawn(move || handle.join());
/// });
/// ```
#[track_caller]
pub fn spawn_local<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    Builder::new().spawn_local_at(Location::caller(), f)
}

/// Spawns a fiber that starts, and so stays, on the worker with this number. See [`Handle::base_workers`] for how many there are.
///
/// # Panics
/// If there is no such worker, and outside of a runtime.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(2).build().unwrap();
/// let ids = runtime.run(|| {
///     let on = |worker| sisal::spawn_on(worker, || std::thread::current().id()).join().unwrap();
///     [on(0), on(1), on(0)]
/// });
/// assert!(ids[0] == ids[2] && ids[0] != ids[1]);
/// ```
#[track_caller]
pub fn spawn_on<F, T>(worker: usize, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn_on_at(Location::caller(), worker, f)
}

#[cold]
#[track_caller]
fn refuse(kind: SpawnErrorKind) -> ! {
    panic!("sisal: can't spawn: {kind}")
}

/// How a fiber is to be: its name, its stack, where it starts.
///
/// ```
/// sisal::run(|| {
///     let handle = sisal::Builder::new().name("parser").stack_size(1 << 20).spawn(|| 7);
///     assert_eq!(handle.name(), Some("parser"));
///     assert_eq!(handle.join().unwrap(), 7);
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it spawns"]
pub struct Builder {
    runtime: Option<Handle>,
    name: Option<Box<str>>,
    stack_size: Option<usize>,
    anywhere: Start,
}

impl Builder {
    /// A fiber of the caller's runtime. For another one see [`Handle::builder`].
    ///
    /// ```
    /// sisal::run(|| assert_eq!(sisal::Builder::new().spawn(|| 7).join().unwrap(), 7));
    /// ```
    pub fn new() -> Builder {
        Builder::default()
    }

    pub(super) fn within(runtime: Handle) -> Builder {
        Builder { runtime: Some(runtime), ..Builder::default() }
    }

    /// Names the fiber, for messages and dumps.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::Builder::new().name("parser").spawn(|| sisal::fiber::current().unwrap().to_string());
    ///     assert!(handle.join().unwrap().starts_with("fiber 'parser'"));
    /// });
    /// ```
    pub fn name(self, name: impl Into<String>) -> Builder {
        Builder { name: Some(name.into().into_boxed_str()), ..self }
    }

    /// The size of its stack in usable bytes, at least; the runtime's if not given. Only pages that are used take memory.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::Builder::new().stack_size(1 << 20).spawn(|| std::hint::black_box([1u8; 300 << 10])[7]);
    ///     assert_eq!(handle.join().unwrap(), 1);
    /// });
    /// ```
    pub fn stack_size(self, bytes: usize) -> Builder {
        Builder { stack_size: Some(bytes), ..self }
    }

    /// Starts it rather on the worker on which fewest fibers wait, to spread long-lived fibers evenly. If that worker is busy
    /// and another is not, the other takes it.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let spawn = |number: u32| sisal::Builder::new().spread().spawn(move || number);
    ///     let handles: Vec<_> = (0..10).map(spawn).collect();
    ///     assert_eq!(handles.into_iter().map(|handle| handle.join().unwrap()).sum::<u32>(), 45);
    /// });
    /// ```
    pub fn spread(self) -> Builder {
        Builder { anywhere: Start::Spread, ..self }
    }

    /// Says that it computes for long without a wait. It starts rather on a worker where nobody waits, so that it delays nobody: on one
    /// that is added for it, if need be, as long as there are fewer than `max_workers`.
    ///
    /// Fibers that are not said to be like that are found out: once one has held its worker for 10 ms before it ever waited, later
    /// fibers spawned at the same place are treated so.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let sum = sisal::Builder::new().cpu_bound().spawn(|| (0..1_000_000u64).sum::<u64>());
    ///     assert_eq!(sum.join().unwrap(), 499_999_500_000);
    /// });
    /// ```
    pub fn cpu_bound(self) -> Builder {
        Builder { anywhere: Start::Alone, ..self }
    }

    fn options(&mut self, start: Start, entry: Entry) -> Options {
        let start = if start == Start::Anywhere { self.anywhere } else { start };
        Options { name: self.name.take(), stack_size: self.stack_size, start, entry, is_part: false }
    }

    /// Spawns it.
    ///
    /// # Panics
    /// Outside of a runtime, and if the stack size is impossible.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::Builder::new().name("adder").spawn(|| 1 + 1);
    ///     assert_eq!(handle.join().unwrap(), 2);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(mut self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = self.options(Start::Anywhere, Entry::Waits);
        let runtime = self.runtime.as_ref().map(Handle::shared);
        // SAFETY: both are `Send` and `'static`.
        unsafe { launch(runtime, options, Location::caller(), f) }.unwrap_or_else(|error| refuse(error.kind()))
    }

    /// Spawns it, or gives the closure back where [`spawn`](Self::spawn) would wait or panic.
    ///
    /// # Errors
    /// See [`SpawnErrorKind`].
    ///
    /// ```
    /// use sisal::{Builder, SpawnErrorKind};
    /// sisal::run(|| {
    ///     assert_eq!(Builder::new().try_spawn(|| 7).unwrap().join().unwrap(), 7);
    ///     let refused = Builder::new().stack_size(usize::MAX).try_spawn(|| 7).unwrap_err();
    ///     assert_eq!(refused.kind(), SpawnErrorKind::StackSize { asked: usize::MAX });
    /// });
    /// ```
    #[track_caller]
    pub fn try_spawn<F, T>(self, f: F) -> Result<JoinHandle<T>, SpawnError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.try_spawn_at(Location::caller(), f)
    }

    pub(super) fn try_spawn_at<F, T>(mut self, place: Place, f: F) -> Result<JoinHandle<T>, SpawnError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = self.options(Start::Anywhere, Entry::AtOnce);
        let runtime = self.runtime.as_ref().map(Handle::shared);
        // SAFETY: both are `Send` and `'static`.
        unsafe { launch(runtime, options, place, f) }
    }

    /// Spawns it on the caller's worker, where it stays. See [`spawn_local`](crate::spawn_local).
    ///
    /// # Panics
    /// Outside of a runtime's fibers, and if the stack size is impossible.
    ///
    /// ```
    /// use std::rc::Rc;
    /// sisal::run(|| {
    ///     let words = Rc::new(["plain", "blocking", "code"]);
    ///     let handle = { let words = Rc::clone(&words); sisal::Builder::new().name("counter").spawn_local(move || words.len()) };
    ///     assert_eq!(handle.join().unwrap(), words.len());
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_local<F, T>(self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        self.spawn_local_at(Location::caller(), f)
    }

    #[track_caller]
    fn spawn_local_at<F, T>(mut self, place: Place, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let options = self.options(Start::Here, Entry::Waits);
        let runtime = self.runtime.as_ref().map(Handle::shared);
        // SAFETY: both are `'static`, and the fiber starts on this thread and never leaves it.
        unsafe { launch(runtime, options, place, f) }.unwrap_or_else(|error| refuse(error.kind()))
    }

    /// Spawns it on the worker with this number, where it stays. See [`spawn_on`](crate::spawn_on).
    ///
    /// # Panics
    /// If there is no such worker, outside of a runtime, and if the stack size is impossible.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).build().unwrap();
    /// let on = |worker| runtime.handle().builder().spawn_on(worker, || std::thread::current().id()).join().unwrap();
    /// assert!(on(0) == on(0) && on(0) != on(1));
    /// ```
    #[track_caller]
    pub fn spawn_on<F, T>(self, worker: usize, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_on_at(Location::caller(), worker, f)
    }

    #[track_caller]
    fn spawn_on_at<F, T>(mut self, place: Place, worker: usize, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = self.options(Start::On(worker), Entry::Waits);
        let runtime = self.runtime.as_ref().map(Handle::shared);
        // SAFETY: both are `Send` and `'static`.
        unsafe { launch(runtime, options, place, f) }.unwrap_or_else(|error| refuse(error.kind()))
    }
}
