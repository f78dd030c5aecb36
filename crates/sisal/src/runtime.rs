//! Starting and ending runtimes.
#![allow(unsafe_code, reason = "a closure run to its end may borrow from its caller")]

use crate::blocking;
use crate::builder::RuntimeBuilder;
use crate::fiber::info::Fiber;
use crate::inspect::{self, Attendance, Attendants, Metrics, Snapshot};
use crate::io;
use crate::join::{JoinError, JoinHandle};
use crate::output;
use crate::park::scope;
use crate::prim::clock::Moment;
use crate::prim::own_threads;
use crate::prim::reason::Place;
use crate::prim::say::say;
use crate::sched::shared::{Config, Phase, Shared};
use crate::sched::shutdown::Leftover;
use crate::sched::threads;
use crate::sched::worker;
use crate::settings::BuildError;
use crate::spawn::launch::{Options, launch};
use crate::spawn::{Handle, Stats, install_default};
use std::fmt;
use std::mem;
use std::panic::{Location, resume_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// Runs `f` as the main fiber of a runtime and returns what it returns. The calling thread is a worker meanwhile.
///
/// `f` runs on the thread's own stack and need not be [`Send`]. Settings come from the environment, and else have defaults; see
/// [`RuntimeBuilder`]. Inside a fiber this just calls `f`. What the calling thread is inside of, as a [`timeout`](crate::timeout) or a
/// [`CancelToken`](crate::CancelToken), reaches the main fiber.
///
/// # The end
/// When `f` returns, the runtime stops: fibers that were not started end as [cancelled](crate::JoinError::Cancelled); sleeps and
/// joins of the others return [`Cancelled`](crate::Cancelled), now and from now on; then the others are waited for. After the
/// [timeout](RuntimeBuilder::shutdown_timeout) those that are still there are named on standard error and left behind, with their
/// threads; only those that live on the calling thread are waited for however long they take. A panic of `f` goes on after that.
///
/// # Panics
/// If the environment has a setting that makes no sense. [`RuntimeBuilder::run`] gives an error instead.
///
/// ```
/// let sum: u64 = sisal::run(|| {
///     let handles: Vec<_> = (0..100u64).map(|i| sisal::spawn(move || i)).collect();
///     handles.into_iter().map(|handle| handle.join().unwrap()).sum()
/// });
/// assert_eq!(sum, 4950);
/// ```
#[track_caller]
pub fn run<T>(f: impl FnOnce() -> T) -> T {
    match RuntimeBuilder::default().run_at(Location::caller(), f) {
        Ok(value) => value,
        Err(error) => panic!("sisal: {error}"),
    }
}

/// Runs `f` with the calling thread as worker 0 of a new runtime.
pub(crate) fn run_here<T>(
    config: Config,
    attendance: &Attendance,
    place: Place,
    f: impl FnOnce() -> T,
) -> Result<T, BuildError> {
    if worker::with_current(|worker| worker.is_some()) {
        return Ok(f());
    }
    crate::prim::fork::refuse_in_child();
    let shared = new_shared(config)?;
    let attendants = attend(attendance, &shared)?;
    let stack = threads::first_stack(&shared).map_err(|error| BuildError::io("the first stack", error))?;
    if let Err(error) = threads::start(&shared, 1) {
        threads::give_back(&shared, stack);
        return Err(BuildError::io("the worker threads", error));
    }
    if let Some(limit) = &shared.limit {
        // The main fiber has a place like all others.
        let _ = limit.try_enter();
    }
    let result = threads::run_main(&shared, stack, place, scope::as_on_this_thread(f));
    let report = conclude(&shared, attendants, Duration::ZERO);
    if !report.is_clean() {
        say(format_args!("sisal: {report}\n"));
    }
    output::settle(place);
    Ok(result.unwrap_or_else(|payload| resume_unwind(payload)))
}

fn new_shared(config: Config) -> Result<Arc<Shared>, BuildError> {
    let shared = Arc::new(Shared::new(config));
    inspect::watch(&shared);
    if shared.config.trace.is_some() {
        inspect::record_from_the_start(&shared);
    }
    if shared.config.verbose {
        let Config { workers, max_workers, class, max_fibers, .. } = &shared.config;
        let limit = max_fibers.map_or("any number of".to_owned(), |most| format!("up to {most}"));
        let files = if io::ring::is_available() { "io_uring and threads" } else { "threads (io_uring is refused)" };
        say(format_args!(
            "sisal: {workers} workers (up to {max_workers}), {limit} fibers, stacks of {} KiB, files by {files}\n",
            class.usable() >> 10
        ));
    }
    Ok(shared)
}

/// Has those look at a runtime who are asked for.
fn attend(asked: &Attendance, shared: &Arc<Shared>) -> Result<Attendants, BuildError> {
    Attendants::start(asked, &Handle::new(Arc::clone(shared)))
        .map_err(|error| BuildError::io("the live view, or what dumps at a signal", error))
}

/// Waits for the end of a stopped runtime, and says what is left of it. Until then it is shown.
fn conclude(shared: &Shared, attendants: Attendants, timeout: Duration) -> ShutdownReport {
    let has_ended = {
        let _shown = attendants;
        shared.wait_for_fibers(Moment::now().after(timeout))
    };
    let leftover = if has_ended {
        threads::join_all(shared);
        blocking::end(shared);
        shared.release_memory();
        Leftover { fibers: Vec::new(), unlisted: 0 }
    } else {
        shared.leftover()
    };
    inspect::write_at_the_end(shared);
    let stats = Stats::of(shared);
    if shared.config.stats {
        say(format_args!("sisal: {stats}\n"));
        say(format_args!("sisal: {}\n", Metrics::of(shared).work_done()));
    }
    ShutdownReport { leaked: leftover.fibers, unlisted: leftover.unlisted, stats }
}

/// A runtime in the background: its workers are threads of its own, and the thread that made it stays free.
///
/// Dropping it stops it and waits like the end of [`run`]. Use [`shutdown`](Self::shutdown) for a timeout of your own and a report.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(2).build()?;
/// let handle = runtime.spawn(|| 7);
/// // This thread could run a user interface now.
/// assert_eq!(handle.join().unwrap(), 7);
/// # Ok::<(), sisal::BuildError>(())
/// ```
pub struct Runtime {
    handle: Handle,
    attendants: Attendants,
}

impl Runtime {
    /// A runtime with the settings of the environment, or the defaults.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// ```
    /// let runtime = sisal::Runtime::new()?;
    /// assert_eq!(runtime.run(|| 6 * 7), 42);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn new() -> Result<Runtime, BuildError> {
        Runtime::builder().build()
    }

    /// Everything that can be seen of the runtime: its workers, its fibers and what they wait for. Printed, it is for people;
    /// [`to_json`](Snapshot::to_json) is for machines. Looking does not stop the runtime.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let sleeper = runtime.spawn(|| sisal::sleep(std::time::Duration::from_secs(3600)));
    /// println!("{}", runtime.dump());
    /// sleeper.cancel();
    /// ```
    pub fn dump(&self) -> Snapshot {
        self.handle.dump()
    }

    /// Sets up a runtime.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).name("crunch").build()?;
    /// assert_eq!(runtime.handle().base_workers(), 2);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    pub(crate) fn start(config: Config, attendance: &Attendance) -> Result<Runtime, BuildError> {
        crate::prim::fork::refuse_in_child();
        let shared = new_shared(config)?;
        let attendants = attend(attendance, &shared)?;
        threads::start(&shared, 0).map_err(|error| BuildError::io("the worker threads", error))?;
        Ok(Runtime { handle: Handle::new(shared), attendants })
    }

    /// Runs `f` in a fiber of this runtime and returns what it returns. The caller waits: a thread blocks, a fiber of another
    /// runtime parks. In a fiber of this runtime, `f` is just called. `f` may borrow from the caller.
    ///
    /// What the caller is inside of, as a [`timeout`](crate::timeout) or a [`CancelToken`](crate::CancelToken), reaches `f`.
    ///
    /// # Panics
    /// If `f` panics, its panic goes on here. If the runtime is stopping, so that `f` was not run.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let mut words = vec!["plain", "blocking", "code"];
    /// runtime.run(|| words.sort());
    /// assert_eq!(words[0], "blocking");
    /// ```
    #[track_caller]
    pub fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        let shared = self.handle.shared();
        if worker::with_current(|worker| worker.is_some_and(|worker| ptr::eq(&**worker.shared(), &**shared))) {
            return f();
        }
        let place = Location::caller();
        let outcome = scope::lend(|lent| {
            // SAFETY: both are `Send`. What `f` borrows outlives the fiber, and so does what is lent, since we don't return before it has ended:
            // the wait below goes on until then, also if it is cancelled.
            let handle = unsafe { launch(Some(shared), Options::default(), place, || scope::inside_of(lent, f)) };
            let handle = handle.unwrap_or_else(|error| panic!("sisal: {error}"));
            handle.wait_uncancelled(place);
            handle.take_outcome()
        });
        match outcome {
            Ok(value) => value,
            Err(JoinError::Panicked(panic)) => panic.resume(),
            Err(error) => panic!("sisal: Runtime::run: {error}"),
        }
    }

    /// Spawns a fiber. See [`Handle::spawn`].
    ///
    /// ```
    /// let runtime = sisal::Runtime::new()?;
    /// let (one, two) = (runtime.spawn(|| 1), runtime.spawn(|| 2));
    /// assert_eq!(one.join().unwrap() + two.join().unwrap(), 3);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.handle.spawn(f)
    }

    /// The handle by which threads and fibers give this runtime work.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.spawn(|| 7).join().unwrap());
    /// assert_eq!(thread.join().unwrap(), 7);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What the runtime is doing and has done.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// runtime.run(|| ());
    /// assert_eq!(runtime.metrics().spawned, 1);
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics()
    }

    /// Makes this the runtime in which threads that are in none run what they call of [`par`](crate::par). It stays to the end of the
    /// process.
    ///
    /// # Errors
    /// If there is a default runtime already, this one is given back.
    ///
    /// ```standalone_crate
    /// let runtime = sisal::Runtime::new().unwrap();
    /// runtime.install_default().unwrap();
    /// // On this thread, which is no worker:
    /// let sum: u64 = sisal::par::iter(0..1_000_000u64).sum();
    /// assert_eq!(sum, 499_999_500_000);
    /// ```
    pub fn install_default(self) -> Result<(), Runtime> {
        if !install_default(&self.handle) {
            return Err(self);
        }
        mem::forget(self);
        Ok(())
    }

    /// Asks the runtime to stop, and returns at once.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::new()?;
    /// let sleeper = runtime.spawn(|| sisal::sleep(Duration::from_secs(3600)));
    /// runtime.request_stop();
    /// // It was woken, or never started.
    /// assert!(!matches!(sleeper.join(), Ok(Ok(()))));
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn request_stop(&self) {
        self.handle.request_stop();
    }

    /// Stops the runtime and waits for its end, at most for `timeout`: see [`run`] for what that means for its fibers. (If all of them
    /// have ended by then, the workers are given up to a second to see that.)
    ///
    /// What is left then is named in the report, and left behind with its threads. Called in a fiber of the runtime itself, or in what one
    /// [calls on another thread](crate::blocking), it does not wait, since that would be for itself.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::new().unwrap();
    /// drop(runtime.spawn(|| sisal::sleep(Duration::from_secs(3600))));
    /// let report = runtime.shutdown(Duration::from_secs(10));
    /// assert!(report.is_clean());
    /// assert_eq!(report.stats.spawned, 1);
    /// ```
    pub fn shutdown(mut self, timeout: Duration) -> ShutdownReport {
        let attendants = mem::take(&mut self.attendants);
        // Dropping would do it again.
        let runtime = mem::ManuallyDrop::new(self);
        // SAFETY: taken out once, of a runtime that is not dropped.
        let handle = unsafe { ptr::read(&runtime.handle) };
        stop(handle.shared(), attendants, timeout)
    }
}

fn stop(shared: &Arc<Shared>, attendants: Attendants, timeout: Duration) -> ShutdownReport {
    crate::prim::fork::refuse_in_child();
    shared.request_stop();
    shared.end_if_quiescent();
    let inside = worker::with_current(|worker| worker.is_some_and(|worker| ptr::eq(&**worker.shared(), &**shared)))
        || own_threads::serves(Arc::as_ptr(shared).addr());
    if inside && shared.phase() != Phase::Ended {
        // There will be no better moment.
        inspect::write_at_the_end(shared);
        return ShutdownReport { leaked: Vec::new(), unlisted: 1, stats: Stats::of(shared) };
    }
    // A fiber of another runtime parks meanwhile: those that are waited for may need its worker.
    blocking::blocking(|| conclude(shared, attendants, timeout))
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let attendants = mem::take(&mut self.attendants);
        let shared = self.handle.shared();
        let report = stop(shared, attendants, shared.config.shutdown_timeout);
        if !report.is_clean() {
            say(format_args!("sisal: {report}\n"));
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("handle", &self.handle).finish()
    }
}

/// How a runtime ended.
///
/// ```
/// use std::time::Duration;
/// let runtime = sisal::Runtime::new().unwrap();
/// assert_eq!(runtime.run(|| 7), 7);
/// let report: sisal::ShutdownReport = runtime.shutdown(Duration::from_secs(10));
/// assert_eq!((report.leaked.len(), report.stats.finished), (0, 1));
/// assert!(report.to_string().starts_with("all fibers have ended"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// The fibers that were still there when the time was up: they are left behind, with their threads.
    pub leaked: Vec<Fiber>,
    /// How many more there are, which have not started.
    pub unlisted: usize,
    /// What the runtime has done.
    pub stats: Stats,
}

impl ShutdownReport {
    /// Whether all fibers have ended.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::new().unwrap();
    /// drop(runtime.spawn(|| sisal::sleep(Duration::from_secs(3600))));
    /// assert!(runtime.shutdown(Duration::from_secs(10)).is_clean());
    /// ```
    pub fn is_clean(&self) -> bool {
        self.leaked.is_empty() && self.unlisted == 0
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return write!(f, "all fibers have ended; {}", self.stats);
        }
        match self.leaked.len() + self.unlisted {
            1 => write!(f, "1 fiber has not ended and is left behind")?,
            count => write!(f, "{count} fibers have not ended and are left behind")?,
        }
        self.leaked.iter().try_for_each(|fiber| write!(f, "\n  {fiber}"))?;
        if self.unlisted > 0 && !self.leaked.is_empty() {
            write!(f, "\n  and {} more that wait behind them", self.unlisted)?;
        }
        Ok(())
    }
}
