//! Setting up a runtime.

use crate::inspect::Attendance;
use crate::inspect::OnDeadlock;
use crate::prim::reason::Place;
use crate::runtime::{self, Runtime};
use crate::sched::blockers::Naming;
use crate::sched::shared::Config;
use crate::settings::{self, BuildError, Overrides};
use crate::signal::Signal;
use sisal_context::stack::SizeClass;
use std::panic::Location;
use std::path::PathBuf;
use std::time::Duration;

/// How a runtime is to be. What is not set here comes from the environment, and else has a default.
///
/// | method | environment | default |
/// |---|---|---|
/// | [`workers`](Self::workers) | `SISAL_WORKERS` | the CPUs this process may use |
/// | [`max_workers`](Self::max_workers) | `SISAL_MAX_WORKERS` | twice that |
/// | [`stack_size`](Self::stack_size) | `SISAL_STACK_SIZE` | 192 KiB |
/// | [`max_fibers`](Self::max_fibers) | `SISAL_MAX_FIBERS` | no limit |
/// | [`max_stacks`](Self::max_stacks) | `SISAL_MAX_STACKS` | no limit |
/// | [`max_blocking_threads`](Self::max_blocking_threads) | `SISAL_MAX_BLOCKING_THREADS` | 512 |
/// | [`name`](Self::name) | `SISAL_NAME` | `sisal` |
/// | [`verbose`](Self::verbose) | `SISAL_VERBOSE` | no |
/// | [`stats`](Self::stats) | `SISAL_STATS` | no |
/// | [`blocked_after`](Self::blocked_after) | `SISAL_BLOCKED_AFTER` | 100 ms, if [`verbose`](Self::verbose) |
/// | [`shutdown_timeout`](Self::shutdown_timeout) | `SISAL_SHUTDOWN_TIMEOUT` | 10 seconds |
/// | [`on_deadlock`](Self::on_deadlock) | `SISAL_ON_DEADLOCK` | report, and exit code 124 |
/// | [`dump_on_signal`](Self::dump_on_signal) | `SISAL_DUMP=quit` | none |
/// | `serve` (feature `serve`) | `SISAL_SERVE` | nothing is served |
/// | `serve_token` (feature `serve`) | `SISAL_SERVE_TOKEN` | none |
/// | [`trace`](Self::trace) | `SISAL_TRACE` | none |
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(2).name("crunch").build()?;
/// assert_eq!(runtime.run(|| 6 * 7), 42);
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `build` or `run`"]
pub struct RuntimeBuilder {
    overrides: Overrides,
    ignores_environment: bool,
}

impl RuntimeBuilder {
    /// Settings come from this builder and the defaults alone, whatever `SISAL_*` say: for programs whose users have these set for another.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().ignore_environment().workers(3).build()?;
    /// assert_eq!(runtime.handle().base_workers(), 3);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn ignore_environment(mut self) -> RuntimeBuilder {
        self.ignores_environment = true;
        self
    }

    /// How many workers there are, from 1 to 1024.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(3).build()?;
    /// assert_eq!(runtime.handle().base_workers(), 3);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> RuntimeBuilder {
        self.overrides.workers = Some(workers);
        self
    }

    /// Up to how many workers there may be while some are stuck in code that does not yield.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).max_workers(4).build()?;
    /// assert!((2..=4).contains(&runtime.handle().workers()));
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn max_workers(mut self, max_workers: usize) -> RuntimeBuilder {
        self.overrides.max_workers = Some(max_workers);
        self
    }

    /// How large a fiber's stack is, in usable bytes. Only the pages that are used take memory.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().stack_size(1 << 20).build()?;
    /// let sum = runtime.run(|| std::hint::black_box([1u8; 300 << 10]).iter().map(|&byte| u64::from(byte)).sum::<u64>());
    /// assert_eq!(sum, 300 << 10);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> RuntimeBuilder {
        self.overrides.stack_size = Some(bytes);
        self
    }

    /// How many unfinished fibers there may be; whoever spawns more waits. At least 2: a fiber that waits to spawn counts too.
    ///
    /// ```
    /// use sisal::SpawnErrorKind;
    /// let runtime = sisal::Runtime::builder().max_fibers(2).build()?;
    /// runtime.run(|| {
    ///     // This fiber is the one, and the other waits to be told.
    ///     let (tell, told) = sisal::chan::oneshot();
    ///     let other = sisal::spawn(move || told.recv());
    ///     assert_eq!(sisal::try_spawn(|| ()).unwrap_err().kind(), SpawnErrorKind::LimitReached { max_fibers: 2 });
    ///     tell.send(7).unwrap();
    ///     assert_eq!(other.join().unwrap(), Ok(7));
    /// });
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn max_fibers(mut self, max_fibers: usize) -> RuntimeBuilder {
        self.overrides.max_fibers = Some(max_fibers);
        self
    }

    /// How many stacks of the usual size there may be. When they are used up, fresh fibers wait until others are done. If all who have one wait for
    /// fibers that can't start without one, it is exceeded rather than that nothing moves any more.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(1).max_workers(1).max_stacks(4).build()?;
    /// let sum = runtime.run(|| {
    ///     // More than four, which take turns.
    ///     let handles: Vec<_> = (0..100u64).map(|number| sisal::spawn(move || (sisal::yield_now(), number).1)).collect();
    ///     handles.into_iter().map(|handle| handle.join().unwrap()).sum::<u64>()
    /// });
    /// assert_eq!(sum, 4950);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn max_stacks(mut self, max_stacks: usize) -> RuntimeBuilder {
        self.overrides.max_stacks = Some(max_stacks);
        self
    }

    /// How many threads there may be for calls of [`blocking`](crate::blocking()), and of what is built on it. At least 1; fibers whose
    /// calls find them all busy wait in line.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().max_blocking_threads(1).build()?;
    /// runtime.run(|| {
    ///     // One after the other, so both find it free.
    ///     static DESK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ///     let call = || sisal::spawn(|| sisal::blocking(|| DESK.try_lock().is_ok()));
    ///     assert_eq!([call(), call()].map(|handle| handle.join().unwrap()), [true, true]);
    /// });
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn max_blocking_threads(mut self, max_blocking_threads: usize) -> RuntimeBuilder {
        self.overrides.max_blocking_threads = Some(max_blocking_threads);
        self
    }

    /// What the names of the runtime's threads begin with.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().name("crunch").build()?;
    /// assert!(runtime.run(|| std::thread::current().name().unwrap().starts_with("crunch")));
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> RuntimeBuilder {
        self.overrides.name = Some(name.into());
        self
    }

    /// Whether to say on standard error what the runtime is doing: how it is set up, when it adds workers, which fibers hold
    /// them.
    ///
    /// ```
    /// let answer = sisal::Runtime::builder().verbose(true).run(|| 42)?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn verbose(mut self, verbose: bool) -> RuntimeBuilder {
        self.overrides.verbose = Some(verbose);
        self
    }

    /// Names a fiber that holds its worker for so long without yielding: one that computes, or waits in a way that sisal knows nothing of.
    /// It is said within 20 ms after that, once for each place where such fibers are spawned: as a warning of `tracing`, with the feature of
    /// that name and if there is a subscriber, and else on standard error. [`Duration::ZERO`] is for never.
    ///
    /// If this is not set, a verbose runtime says it after 100 ms, of fibers that delay others; so do all that have a subscriber.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::builder().blocked_after(Duration::from_millis(20)).build()?;
    /// runtime.spawn(|| std::thread::sleep(Duration::from_millis(1))).join().unwrap();
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn blocked_after(mut self, limit: Duration) -> RuntimeBuilder {
        self.overrides.blocked_after = Some(limit);
        self
    }

    /// Whether to print on standard error what the runtime has done when it ends.
    ///
    /// ```
    /// let answer = sisal::Runtime::builder().stats(true).run(|| sisal::spawn(|| 42).join().unwrap())?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn stats(mut self, stats: bool) -> RuntimeBuilder {
        self.overrides.stats = Some(stats);
        self
    }

    /// How long the end of [`run`](crate::run) and the drop of a [`Runtime`] wait for fibers that do not end.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::builder().shutdown_timeout(Duration::from_secs(60)).build()?;
    /// let sleeper = runtime.spawn(|| sisal::sleep(Duration::from_secs(3600)));
    /// // Ends the sleep, and need not wait for long.
    /// drop(runtime);
    /// assert!(sleeper.is_finished());
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn shutdown_timeout(mut self, timeout: Duration) -> RuntimeBuilder {
        self.overrides.shutdown_timeout = Some(timeout);
        self
    }

    /// What to do when no fiber can ever run again: see [`OnDeadlock`].
    ///
    /// ```
    /// use sisal::inspect::OnDeadlock;
    ///
    /// let ended = sisal::Runtime::builder().on_deadlock(OnDeadlock::Cancel).run(|| {
    ///     let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    ///     // Nobody will ever send: the sender is right here.
    ///     receiver.recv()
    /// });
    /// assert!(ended.unwrap().is_err());
    /// ```
    pub fn on_deadlock(mut self, on_deadlock: OnDeadlock) -> RuntimeBuilder {
        self.overrides.on_deadlock = Some(on_deadlock);
        self
    }

    /// Prints a [dump](Runtime::dump) on standard error whenever this signal comes, and goes on.
    ///
    /// ```
    /// use sisal::signal::Signal;
    /// let runtime = sisal::Runtime::builder().dump_on_signal(Signal::USER1).build()?;
    /// // From now on `kill -USR1` shows what it is doing.
    /// assert_eq!(runtime.run(|| 42), 42);
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn dump_on_signal(mut self, signal: Signal) -> RuntimeBuilder {
        self.overrides.dump_on = Some(signal);
        self
    }

    /// Serves the [live view](crate::inspect::serve) at this address as long as the runtime is there. An address that is not a
    /// loopback one needs a [token](Self::serve_token).
    ///
    /// Where it is asked for by the environment, a failure is only said on standard error. Here it is an error.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().serve("127.0.0.1:0".parse().unwrap()).build()?;
    /// assert_eq!(runtime.run(|| 42), 42);
    /// // To be seen by others, it needs a secret.
    /// assert!(sisal::Runtime::builder().serve("0.0.0.0:0".parse().unwrap()).build().is_err());
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    #[cfg(feature = "serve")]
    pub fn serve(mut self, address: std::net::SocketAddr) -> RuntimeBuilder {
        self.overrides.serve = Some(address);
        self
    }

    /// The secret that requests to the live view have to bring. See [`ServeOptions::token`](crate::inspect::ServeOptions::token).
    ///
    /// ```
    /// let builder = sisal::Runtime::builder().serve("127.0.0.1:0".parse().unwrap());
    /// let runtime = builder.clone().serve_token("correct-horse").build()?;
    /// assert_eq!(runtime.run(|| 42), 42);
    /// assert!(builder.serve_token("").build().is_err());
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    #[cfg(feature = "serve")]
    pub fn serve_token(mut self, token: impl Into<String>) -> RuntimeBuilder {
        self.overrides.serve_token = Some(crate::inspect::asked::Token::new(token));
        self
    }

    /// Records what the runtime does from its start, and writes that to a file at its end, for <https://ui.perfetto.dev> or
    /// `chrome://tracing`: see [`inspect::Trace`](crate::inspect::Trace).
    ///
    /// Of each worker the last 65,536 events are kept; the file says how many came before. It is written whole or not at all; one that can't
    /// be written is said on standard error, and changes nothing else. A deadlock that ends the process is an end, too. If it ends by other means,
    /// such as [`std::process::exit`], or the runtime by none, since it was [made the default](crate::Runtime::install_default), nothing is written.
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("trace-{}.json", std::process::id()));
    /// sisal::Runtime::builder().trace(&file).run(|| sisal::spawn(|| ()).join().unwrap())?;
    /// assert!(std::fs::read_to_string(&file).unwrap().contains("traceEvents"));
    /// # std::fs::remove_file(&file).unwrap();
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn trace(mut self, file: impl Into<PathBuf>) -> RuntimeBuilder {
        self.overrides.trace = Some(file.into());
        self
    }

    /// Starts a runtime in the background.
    ///
    /// # Errors
    /// See [`BuildError`].
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(1).build()?;
    /// assert_eq!(runtime.spawn(|| 42).join().unwrap(), 42);
    /// assert!(sisal::Runtime::builder().workers(0).build().is_err());
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn build(self) -> Result<Runtime, BuildError> {
        let (config, attendance) = self.config()?;
        Runtime::start(config, &attendance)
    }

    /// Runs `f` as the main fiber of a runtime, of which the calling thread is a worker until `f` returns. See
    /// [`run`](crate::run). In a fiber `f` is just called, and settings that could be are of no effect.
    ///
    /// # Errors
    /// See [`BuildError`]; `f` has not run then.
    ///
    /// ```
    /// let error = sisal::Runtime::builder().workers(0).run(|| ()).unwrap_err();
    /// assert!(error.to_string().contains("workers"));
    /// ```
    #[track_caller]
    pub fn run<T>(self, f: impl FnOnce() -> T) -> Result<T, BuildError> {
        self.run_at(Location::caller(), f)
    }

    pub(crate) fn run_at<T>(self, place: Place, f: impl FnOnce() -> T) -> Result<T, BuildError> {
        let (config, attendance) = self.config()?;
        runtime::run_here(config, &attendance, place, f)
    }

    fn config(&self) -> Result<(Config, Attendance), BuildError> {
        let environment = |name: &str| if self.ignores_environment { None } else { std::env::var_os(name) };
        let settings = settings::resolve(&self.overrides, environment)?;
        let class = SizeClass::for_usable(settings.stack_size)
            .unwrap_or_else(|error| unreachable!("INVARIANT: the settings allow no other stack sizes: {error}"));
        let config = Config {
            workers: settings.workers,
            max_workers: settings.max_workers,
            class,
            max_fibers: settings.max_fibers,
            max_stacks: settings.max_stacks,
            max_blocking_threads: settings.max_blocking_threads,
            name: settings.name,
            verbose: settings.verbose,
            stats: settings.stats,
            shutdown_timeout: settings.shutdown_timeout,
            on_deadlock: settings.on_deadlock,
            naming: Naming {
                after: settings.blocked_after.unwrap_or(settings::DEFAULT_BLOCKED_AFTER),
                asked_for: settings.blocked_after.is_some(),
                aloud: settings.verbose || settings.blocked_after.is_some(),
            },
            trace: settings.trace,
        };
        Ok((config, Attendance { serve: settings.serve, dump_on: settings.dump_on }))
    }
}
