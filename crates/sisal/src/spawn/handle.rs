//! A runtime, for whoever wants to give it work.

use super::builder::Builder;
use super::error::SpawnError;
use crate::join::JoinHandle;
use crate::sched::shared::Shared;
use crate::sched::worker;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A runtime, to be given to threads and fibers that spawn in it. Cheap to clone.
///
/// A handle does not keep the runtime going: what is spawned when it is stopping ends as cancelled.
///
/// ```
/// let runtime = sisal::Runtime::new().unwrap();
/// let handle = runtime.handle().clone();
/// let thread = std::thread::spawn(move || handle.spawn(|| 7).join().unwrap());
/// assert_eq!(thread.join().unwrap(), 7);
/// ```
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Handle {
        Handle { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The runtime that the caller runs in, or none outside of one.
    ///
    /// ```
    /// assert!(sisal::Handle::current().is_none());
    /// sisal::run(|| {
    ///     let handle = sisal::Handle::current().unwrap();
    ///     // A plain thread can now spawn here.
    ///     std::thread::spawn(move || handle.spawn(|| 1)).join().unwrap().join().unwrap();
    /// });
    /// ```
    pub fn current() -> Option<Handle> {
        worker::with_current(|worker| worker.map(|worker| Handle::new(Arc::clone(worker.shared()))))
    }

    /// Spawns a fiber, from anywhere. Waits at the limit of `max_fibers`: a fiber parks, a thread blocks.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.spawn(|| 6 * 7).join().unwrap());
    /// assert_eq!(thread.join().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.builder().spawn(f)
    }

    /// Spawns a fiber, or gives the closure back where [`spawn`](Self::spawn) would wait.
    ///
    /// # Errors
    /// See [`SpawnErrorKind`](crate::SpawnErrorKind).
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().max_fibers(2).build().unwrap();
    /// let handle = runtime.handle().clone();
    /// runtime.run(|| {
    ///     let (tell, told) = sisal::chan::oneshot();
    ///     let other = handle.try_spawn(move || told.recv()).unwrap();
    ///     assert!(handle.try_spawn(|| ()).is_err(), "these are two");
    ///     tell.send(7).unwrap();
    ///     assert_eq!(other.join().unwrap(), Ok(7));
    /// });
    /// ```
    #[track_caller]
    pub fn try_spawn<F, T>(&self, f: F) -> Result<JoinHandle<T>, SpawnError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.builder().try_spawn_at(Location::caller(), f)
    }

    /// Spawns a fiber on one worker, where it stays.
    ///
    /// # Panics
    /// If there is no such worker.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).build().unwrap();
    /// let on = |worker| runtime.handle().spawn_on(worker, || std::thread::current().id()).join().unwrap();
    /// assert!(on(0) == on(0) && on(0) != on(1));
    /// ```
    #[track_caller]
    pub fn spawn_on<F, T>(&self, worker: usize, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.builder().spawn_on(worker, f)
    }

    /// A [`Builder`] for fibers of this runtime.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let fiber = runtime.handle().builder().name("parser").spawn(|| 7);
    /// assert_eq!(fiber.name(), Some("parser"));
    /// assert_eq!(fiber.join().unwrap(), 7);
    /// ```
    pub fn builder(&self) -> Builder {
        Builder::within(self.clone())
    }

    /// Asks the runtime to stop, and returns at once. See [`Runtime::shutdown`](crate::Runtime::shutdown) for what that means.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     sisal::Handle::current().unwrap().request_stop();
    ///     // Waits end from now on.
    ///     assert_eq!(sisal::sleep(Duration::from_secs(3600)).unwrap_err().cause, sisal::Cause::Shutdown);
    /// });
    /// ```
    pub fn request_stop(&self) {
        self.shared.request_stop();
        self.shared.end_if_quiescent();
    }

    /// How many workers there are at this moment, added ones included.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).max_workers(4).build().unwrap();
    /// assert!((2..=4).contains(&runtime.handle().workers()));
    /// ```
    pub fn workers(&self) -> usize {
        self.shared.workers()
    }

    /// How many workers there are always: those that [`spawn_on`](Self::spawn_on) accepts.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).build().unwrap();
    /// let handle = runtime.handle();
    /// let sum: usize = (0..handle.base_workers()).map(|worker| handle.spawn_on(worker, move || worker).join().unwrap()).sum();
    /// assert_eq!(sum, 1);
    /// ```
    pub fn base_workers(&self) -> usize {
        self.shared.config.workers
    }

    /// What the runtime has done so far.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::spawn(|| ()).join().unwrap();
    ///     assert_eq!(sisal::Handle::current().unwrap().stats().spawned, 1);
    /// });
    /// ```
    pub fn stats(&self) -> Stats {
        Stats::of(&self.shared)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("name", &self.shared.config.name).field("workers", &self.workers()).finish()
    }
}

/// What a runtime has done so far, and what it holds.
///
/// ```
/// sisal::run(|| {
///     sisal::spawn(|| ()).join().unwrap();
///     sisal::spawn(|| panic!("no more tea")).join().unwrap_err();
///     let stats: sisal::Stats = sisal::Handle::current().unwrap().stats();
///     assert_eq!((stats.spawned, stats.finished, stats.panicked, stats.detached_panics), (2, 2, 1, 0));
/// });
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Fibers spawned. The main fiber of [`run`](crate::run) is not counted here and below.
    pub spawned: u64,
    /// Fibers that have ended, in whatever way.
    pub finished: u64,
    /// Fibers that ended in a panic.
    pub panicked: u64,
    /// Of these, the ones that nobody has seen: whose handle was dropped without a join, before the panic or after it.
    pub detached_panics: u64,
    /// Fibers that ended without having been started, because the runtime was stopping, or their end was asked for.
    pub cancelled: u64,
    /// Workers at this moment.
    pub workers: usize,
    /// Stacks that fibers or workers have at this moment.
    pub stacks_in_use: usize,
    /// Address space mapped for stacks, but for what is kept ready for more. Only a small part of it is memory.
    pub stack_bytes_mapped: usize,
}

impl Stats {
    pub(crate) fn of(shared: &Shared) -> Stats {
        let counts = || shared.remotes.iter().map(|remote| &remote.shown.counts).chain([&*shared.outside]);
        let (usual, others) = (shared.depot.counts(), shared.others.counts());
        Stats {
            finished: counts().map(|counts| counts.finished.get()).sum(),
            // Before all panics, so that there are no fewer of those.
            detached_panics: shared.unseen_panics.get(),
            panicked: counts().map(|counts| counts.panicked.get()).sum(),
            cancelled: counts().map(|counts| counts.cancelled.get()).sum(),
            spawned: counts().map(|counts| counts.spawned.get()).sum(),
            workers: shared.workers(),
            stacks_in_use: usual.in_use + others.in_use,
            stack_bytes_mapped: usual.mapped_bytes + others.mapped_bytes,
        }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} fibers spawned, {} ended ({} panicked, {} of them detached; {} cancelled), {} workers, {} stacks in use, {} MiB mapped",
            self.spawned,
            self.finished,
            self.panicked,
            self.detached_panics,
            self.cancelled,
            self.workers,
            self.stacks_in_use,
            self.stack_bytes_mapped >> 20,
        )
    }
}
