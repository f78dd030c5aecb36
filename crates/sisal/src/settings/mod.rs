//! What a runtime is told: settings, where they come from, and what is refused.
//!
//! A setting comes from the builder; else from its `SISAL_*` variable; else it has a default. The
//! first that has it wins, and the others aren't looked at: a program that sets its workers runs
//! whatever `SISAL_WORKERS` holds. A value that makes no sense is an error that says so, never a
//! silent default.
//!
//! Defaults give way to what was asked for. With `max_workers(2)` on a machine with 16 CPUs the
//! default of `workers` is 2, not an error: only what somebody asked for can contradict something
//! else somebody asked for.
//!
//! [`resolve`] is pure but for counting CPUs: the environment is handed in. The parts: `setting`
//! finds one value, `env` reads it, `cpus` counts, `error` is what the user gets to see.

mod cpus;
mod env;
mod error;
mod setting;
#[cfg(test)]
mod tests;

pub use error::BuildError;

use crate::inspect::asked::{Asked, Token, is_loopback};
use crate::sched::stillness::OnDeadlock;
use crate::signal::Signal;
use setting::{
    BLOCKED_AFTER, DUMP_ON, Environment, MAX_BLOCKING_THREADS, MAX_FIBERS, MAX_STACKS, MAX_WORKERS, NAME, ON_DEADLOCK,
    SERVE, SERVE_TOKEN, SHUTDOWN_TIMEOUT, STACK_SIZE, STATS, TRACE, VERBOSE, WORKERS,
};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most workers there may be: as many as the kernel's CPU mask names.
pub(crate) const MOST_WORKERS: usize = 1024;
/// The smallest stack: one page.
pub(crate) const SMALLEST_STACK: usize = 4 << 10;
/// The biggest stack: 1 GiB. Beyond it stands a mistake in a unit, not a wish.
pub(crate) const BIGGEST_STACK: usize = 1 << 30;
/// Debug builds of big protocol crates need 128 KiB; with its guard this fills a slot of 256 KiB and a page.
pub(crate) const DEFAULT_STACK: usize = 192 << 10;
/// The smallest limit on fibers: one that spawns, and the one it spawns.
pub(crate) const FEWEST_FIBERS: usize = 2;
/// More calls than that at once seldom go faster; the others wait in line.
pub(crate) const DEFAULT_BLOCKING_THREADS: usize = 512;
/// What thread names start with.
pub(crate) const DEFAULT_NAME: &str = "sisal";
/// How long the end of a run waits for fibers that don't end.
pub(crate) const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// A fiber that holds its worker for so long is worth a word.
pub(crate) const DEFAULT_BLOCKED_AFTER: Duration = Duration::from_millis(100);
/// Longer timeouts are cut to this: 30 years, which can be added to any `Instant`.
pub(crate) const LONGEST_TIMEOUT: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Every setting of a runtime, checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Worker threads at the start. INVARIANT: from 1 to [`MOST_WORKERS`].
    pub(crate) workers: usize,
    /// Worker threads at most. INVARIANT: from `workers` to [`MOST_WORKERS`].
    pub(crate) max_workers: usize,
    /// Usable bytes of a fiber's stack. INVARIANT: [`SMALLEST_STACK`] to [`BIGGEST_STACK`].
    pub(crate) stack_size: usize,
    /// Unfinished fibers at most. INVARIANT: at least [`FEWEST_FIBERS`].
    pub(crate) max_fibers: Option<usize>,
    /// Stacks at most. INVARIANT: more than `max_workers`.
    pub(crate) max_stacks: Option<usize>,
    /// Threads for calls that block, at most. INVARIANT: at least 1.
    pub(crate) max_blocking_threads: usize,
    /// What thread names start with. INVARIANT: neither empty nor with a NUL inside.
    pub(crate) name: String,
    /// Whether the runtime says on standard error what it does.
    pub(crate) verbose: bool,
    /// Whether the runtime prints its statistics when it ends.
    pub(crate) stats: bool,
    /// How long the end of a run waits. INVARIANT: at most [`LONGEST_TIMEOUT`].
    pub(crate) shutdown_timeout: Duration,
    /// What to do when no fiber can ever run again.
    pub(crate) on_deadlock: OnDeadlock,
    /// The signal to print a dump at.
    pub(crate) dump_on: Option<Signal>,
    /// When a fiber that blocks its worker is named, if somebody has said that; nothing is for never.
    pub(crate) blocked_after: Option<Duration>,
    /// Where the live view is served, if it is. INVARIANT: with a token, or on the loopback interface.
    pub(crate) serve: Option<Asked>,
    /// The file that a trace is written to at the end. INVARIANT: has a file name.
    pub(crate) trace: Option<PathBuf>,
}

/// What a builder was told; `None` is what it wasn't.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Overrides {
    pub(crate) workers: Option<usize>,
    pub(crate) max_workers: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) max_fibers: Option<usize>,
    pub(crate) max_stacks: Option<usize>,
    pub(crate) max_blocking_threads: Option<usize>,
    pub(crate) name: Option<String>,
    pub(crate) verbose: Option<bool>,
    pub(crate) stats: Option<bool>,
    pub(crate) shutdown_timeout: Option<Duration>,
    pub(crate) on_deadlock: Option<OnDeadlock>,
    pub(crate) dump_on: Option<Signal>,
    pub(crate) blocked_after: Option<Duration>,
    pub(crate) serve: Option<SocketAddr>,
    pub(crate) serve_token: Option<Token>,
    pub(crate) trace: Option<PathBuf>,
}

/// Settles every setting: builder first, then the environment, then the default.
///
/// `env` answers for a variable's name, as [`std::env::var_os`] does.
pub(crate) fn resolve(overrides: &Overrides, env: impl Fn(&str) -> Option<OsString>) -> Result<Settings, BuildError> {
    resolve_with(overrides, &env, cpus::available)
}

/// [`resolve`] with the CPUs counted by somebody else.
fn resolve_with(
    overrides: &Overrides,
    env: Environment<'_>,
    cpus: impl FnOnce() -> usize,
) -> Result<Settings, BuildError> {
    let crew = resolve_crew(overrides, env, cpus)?;
    let verbose = VERBOSE.find(overrides.verbose, env)?;
    let stats = STATS.find(overrides.stats, env)?;
    let on_deadlock = ON_DEADLOCK.find(overrides.on_deadlock, env)?;
    let timeout = SHUTDOWN_TIMEOUT.find(overrides.shutdown_timeout, env)?;
    Ok(Settings {
        workers: crew.workers,
        max_workers: crew.max_workers,
        stack_size: resolve_stack_size(overrides, env)?,
        max_fibers: resolve_max_fibers(overrides, env)?,
        max_stacks: crew.max_stacks,
        max_blocking_threads: resolve_max_blocking_threads(overrides, env)?,
        name: resolve_name(overrides, env)?,
        verbose: verbose.is_some_and(|found| found.value),
        stats: stats.is_some_and(|found| found.value),
        shutdown_timeout: timeout.map_or(DEFAULT_SHUTDOWN_TIMEOUT, |found| found.value).min(LONGEST_TIMEOUT),
        on_deadlock: on_deadlock.map_or_else(OnDeadlock::default, |found| found.value),
        dump_on: DUMP_ON.find(overrides.dump_on, env)?.map(|found| found.value),
        blocked_after: BLOCKED_AFTER.find(overrides.blocked_after, env)?.map(|found| found.value),
        serve: resolve_serve(overrides, env)?,
        trace: resolve_trace(overrides, env)?,
    })
}

/// The three settings that limit one another.
struct Crew {
    workers: usize,
    max_workers: usize,
    max_stacks: Option<usize>,
}

fn resolve_crew(overrides: &Overrides, env: Environment<'_>, cpus: impl FnOnce() -> usize) -> Result<Crew, BuildError> {
    let workers = WORKERS.find(overrides.workers, env)?;
    let max_workers = MAX_WORKERS.find(overrides.max_workers, env)?;
    let max_stacks = MAX_STACKS.find(overrides.max_stacks, env)?;

    // How far defaults may go without contradicting a limit on stacks.
    let ceiling = match &max_stacks {
        Some(found) => found.value.saturating_sub(1).clamp(1, MOST_WORKERS),
        None => MOST_WORKERS,
    };
    let workers = match workers {
        Some(found) => found.if_allowed(|workers| (1..=MOST_WORKERS).contains(workers))?,
        None => {
            let asked = max_workers.as_ref().map_or(ceiling, |found| found.value);
            cpus().min(asked).clamp(1, ceiling)
        }
    };
    let max_workers = match max_workers {
        Some(found) => found.within(workers..=MOST_WORKERS, || {
            format!("a whole number from {workers} (`workers`) to {MOST_WORKERS}")
        })?,
        None => (2 * workers).min(ceiling).max(workers),
    };
    let max_stacks = match max_stacks {
        Some(found) => Some(found.within(max_workers + 1.., || {
            let least = max_workers + 1;
            format!("a whole number, {least} (`max_workers` and one more) or more")
        })?),
        None => None,
    };
    Ok(Crew { workers, max_workers, max_stacks })
}

fn resolve_stack_size(overrides: &Overrides, env: Environment<'_>) -> Result<usize, BuildError> {
    match STACK_SIZE.find(overrides.stack_size, env)? {
        Some(found) => found.if_allowed(|size| (SMALLEST_STACK..=BIGGEST_STACK).contains(size)),
        None => Ok(DEFAULT_STACK),
    }
}

fn resolve_max_fibers(overrides: &Overrides, env: Environment<'_>) -> Result<Option<usize>, BuildError> {
    match MAX_FIBERS.find(overrides.max_fibers, env)? {
        Some(found) => found.if_allowed(|&fibers| fibers >= FEWEST_FIBERS).map(Some),
        None => Ok(None),
    }
}

fn resolve_max_blocking_threads(overrides: &Overrides, env: Environment<'_>) -> Result<usize, BuildError> {
    match MAX_BLOCKING_THREADS.find(overrides.max_blocking_threads, env)? {
        Some(found) => found.if_allowed(|&threads| threads >= 1),
        None => Ok(DEFAULT_BLOCKING_THREADS),
    }
}

fn resolve_serve(overrides: &Overrides, env: Environment<'_>) -> Result<Option<Asked>, BuildError> {
    let token = match SERVE_TOKEN.find(overrides.serve_token.clone(), env)? {
        Some(found) => Some(found.unshown().if_allowed(Token::is_usable)?),
        None => None,
    };
    let Some(found) = SERVE.find(overrides.serve, env)? else {
        return Ok(None);
    };
    let is_private = |address: &SocketAddr| token.is_some() || is_loopback(address);
    let address = found.if_allowed(is_private)?;
    Ok(Some(Asked { address, token, by_builder: overrides.serve.is_some() }))
}

fn resolve_name(overrides: &Overrides, env: Environment<'_>) -> Result<String, BuildError> {
    match NAME.find(overrides.name.clone(), env)? {
        Some(found) => found.if_allowed(|name| !name.is_empty() && !name.contains('\0')),
        None => Ok(DEFAULT_NAME.to_owned()),
    }
}

fn resolve_trace(overrides: &Overrides, env: Environment<'_>) -> Result<Option<PathBuf>, BuildError> {
    // `Path::file_name` would take `traces/` for a file called `traces`.
    let is_directory = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.file_name().is_none();
    match TRACE.find(overrides.trace.clone(), env)? {
        Some(found) => found.if_allowed(|path| !is_directory(path)).map(Some),
        None => Ok(None),
    }
}
