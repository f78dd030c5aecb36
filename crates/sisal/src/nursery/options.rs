//! Nurseries that are not like all others.

use super::inside::Nursery;
use super::open::{Plan, open};
use super::policy::Policy;
use crate::prim::clock::Moment;
use crate::spawn::Handle;
use std::panic::Location;
use std::time::{Duration, Instant};

/// How a nursery is to be. Made by [`Nursery::options`].
///
/// ```
/// use sisal::{Nursery, NurseryOptions};
/// use std::time::Duration;
/// sisal::run(|| {
///     let options: NurseryOptions = Nursery::options().name("patient").timeout(Duration::from_secs(3600));
///     assert_eq!(options.run(|_| Ok::<_, ()>(7)), Ok(7));
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until they are run"]
pub struct NurseryOptions {
    runtime: Option<Handle>,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
    collects_all: bool,
    ends_on_signals: bool,
    name: Option<Box<str>>,
}

impl NurseryOptions {
    /// At this time waits inside are cancelled, with [`Cause::Deadline`](crate::Cause::Deadline), and what has not started never runs.
    /// Of several limits the first counts.
    ///
    /// The limit of a nursery that a plain thread opens is kept by that thread: it looks at the clock when it waits, at the end of the
    /// nursery at the latest.
    ///
    /// ```
    /// use sisal::{Cause, Nursery};
    /// use std::time::{Duration, Instant};
    /// sisal::run(|| {
    ///     let cause = Nursery::options().deadline(Instant::now() + Duration::from_millis(2)).run(|_| {
    ///         Ok::<_, ()>(sisal::sleep(Duration::from_secs(3600)).unwrap_err().cause)
    ///     });
    ///     assert_eq!(cause, Ok(Cause::Deadline));
    /// });
    /// ```
    pub fn deadline(self, instant: Instant) -> NurseryOptions {
        NurseryOptions { deadline: Some(self.deadline.map_or(instant, |before| before.min(instant))), ..self }
    }

    /// As [`deadline`](Self::deadline), so long after the nursery is opened.
    ///
    /// ```
    /// use sisal::{Cause, Nursery};
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let cause = Nursery::options().timeout(Duration::from_millis(2)).run(|_| {
    ///         Ok::<_, ()>(sisal::sleep(Duration::from_secs(3600)).unwrap_err().cause)
    ///     });
    ///     assert_eq!(cause, Ok(Cause::Deadline));
    /// });
    /// ```
    pub fn timeout(self, duration: Duration) -> NurseryOptions {
        NurseryOptions { timeout: Some(self.timeout.map_or(duration, |before| before.min(duration))), ..self }
    }

    /// Errors cancel nobody: all children do their work. [`run`](Self::run) then returns the first error, [`run_all`](Self::run_all) all. A panic
    /// still cancels the nursery.
    ///
    /// ```
    /// use sisal::Nursery;
    /// sisal::run(|| {
    ///     let result = Nursery::options().collect_all().run(|n| {
    ///         let child = n.spawn(|| Err::<(), _>("one of many"));
    ///         child.wait().unwrap();
    ///         assert!(!n.is_cancelled());
    ///         Ok(())
    ///     });
    ///     assert_eq!(result, Err("one of many"));
    /// });
    /// ```
    pub fn collect_all(self) -> NurseryOptions {
        NurseryOptions { collects_all: true, ..self }
    }

    /// SIGINT (Ctrl-C) and SIGTERM cancel the nursery, with [`Cause::Signal`](crate::Cause::Signal), instead of ending the process.
    ///
    /// That is so for the first. A second one, of whichever of the two, unless another nursery has been opened like this meanwhile, does what it would
    /// have done without: it ends the process, by default. When no such nursery is left, so does the first. If the process had handlers
    /// of its own for these signals, they are called as well, each time.
    ///
    /// # Panics
    /// Running it does, if the system has no thread or descriptor left for it.
    ///
    /// ```no_run
    /// use sisal::{Cause, Nursery};
    /// use std::time::Duration;
    ///
    /// sisal::run(|| {
    ///     let served = Nursery::options().cancel_on_signals().run(|n| {
    ///         n.spawn(|| while sisal::sleep(Duration::from_secs(1)).is_ok() {
    ///             println!("still here");
    ///         });
    ///         Ok::<_, ()>(())
    ///     });
    ///     println!("all have ended: {served:?}");
    /// });
    /// ```
    pub fn cancel_on_signals(self) -> NurseryOptions {
        NurseryOptions { ends_on_signals: true, ..self }
    }

    /// Names the nursery, for messages.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let opened = sisal::Nursery::options().name("fetchers").run(|n| Ok::<_, ()>(format!("{n:?}")));
    ///     assert!(opened.unwrap().contains("fetchers"));
    /// });
    /// ```
    pub fn name(self, name: impl Into<String>) -> NurseryOptions {
        NurseryOptions { name: Some(name.into().into_boxed_str()), ..self }
    }

    /// Children are fibers of this runtime, rather than of the caller's. For threads that are part of none.
    ///
    /// ```
    /// use sisal::Nursery;
    /// use std::time::Duration;
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let options = Nursery::options().runtime(runtime.handle()).timeout(Duration::from_millis(2));
    /// options.run(|n| {
    ///     n.spawn(|| drop(sisal::sleep(Duration::from_secs(3600))));
    ///     Ok::<_, ()>(())
    /// }).unwrap();
    /// ```
    pub fn runtime(self, runtime: &Handle) -> NurseryOptions {
        NurseryOptions { runtime: Some(runtime.clone()), ..self }
    }

    fn plan(self, policy: Policy) -> Plan {
        let deadline = self.deadline.map_or(Moment::NEVER, Moment::of);
        let limit = self.timeout.map_or(Moment::NEVER, |timeout| Moment::now().after(timeout));
        Plan {
            runtime: self.runtime,
            expiry: deadline.min(limit),
            policy,
            ends_on_signals: self.ends_on_signals,
            name: self.name,
        }
    }

    /// Opens the nursery, as [`nursery`](crate::nursery()) does.
    ///
    /// # Errors
    /// The first error of the body or a child.
    ///
    /// ```
    /// use sisal::Nursery;
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let value = Nursery::options().timeout(Duration::from_secs(3600)).name("quick").run(|n| {
    ///         n.spawn(|| ());
    ///         Ok::<_, ()>(7)
    ///     });
    ///     assert_eq!(value, Ok(7));
    /// });
    /// ```
    #[track_caller]
    pub fn run<'env, T, E: 'env, F>(self, f: F) -> Result<T, E>
    where
        F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, E>) -> Result<T, E>,
    {
        let policy = if self.collects_all { Policy::KeepFirst } else { Policy::EndWithFirst };
        open(self.plan(policy), Location::caller(), f).map_err(|errors| errors.first)
    }

    /// Opens the nursery and [collects all](Self::collect_all) errors.
    ///
    /// # Errors
    /// All errors, in the order they came; there is at least one.
    ///
    /// ```
    /// use sisal::Nursery;
    /// sisal::run(|| {
    ///     let result = Nursery::options().run_all(|n| {
    ///         for number in 0..10 {
    ///             n.spawn_local(move || if number % 4 == 0 { Err(number) } else { Ok(()) });
    ///         }
    ///         Ok(())
    ///     });
    ///     assert_eq!(result, Err(vec![0, 4, 8]));
    /// });
    /// ```
    #[track_caller]
    pub fn run_all<'env, T, E: 'env, F>(self, f: F) -> Result<T, Vec<E>>
    where
        F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, E>) -> Result<T, E>,
    {
        open(self.plan(Policy::KeepAll), Location::caller(), f).map_err(|errors| errors.into_vec())
    }
}
