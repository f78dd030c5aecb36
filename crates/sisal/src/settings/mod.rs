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
/// Debug builds of big protocol crates need 128 KiB; with its guard this fills a 256 KiB slot.
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
        Some(found) => Some(found.if_allowed(Token::is_usable)?),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    /// Resolves with the given variables on a machine with `cpus` CPUs.
    fn resolved(overrides: &Overrides, variables: &[(&str, &str)], cpus: usize) -> Result<Settings, BuildError> {
        let env = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        resolve_with(overrides, &env, || cpus)
    }

    fn refused(overrides: &Overrides, variables: &[(&str, &str)], cpus: usize) -> String {
        match resolved(overrides, variables, cpus) {
            Ok(settings) => panic!("{overrides:?} {variables:?} was taken: {settings:?}"),
            Err(error) => error.to_string(),
        }
    }

    fn nothing() -> Overrides {
        Overrides::default()
    }

    #[test]
    fn defaults_follow_the_cpus() {
        let expected = Settings {
            workers: 3,
            max_workers: 6,
            stack_size: 192 * 1024,
            max_fibers: None,
            max_stacks: None,
            max_blocking_threads: 512,
            name: "sisal".to_owned(),
            verbose: false,
            stats: false,
            shutdown_timeout: Duration::from_secs(10),
            on_deadlock: OnDeadlock::default(),
            dump_on: None,
            blocked_after: None,
            serve: None,
            trace: None,
        };
        assert_eq!(resolved(&nothing(), &[], 3).unwrap(), expected);
        assert!(resolve(&nothing(), |_| None).unwrap().workers >= 1);
    }

    #[test]
    fn the_environment_wins_over_defaults() {
        let variables = [
            ("SISAL_WORKERS", "5"),
            ("SISAL_MAX_WORKERS", "7"),
            ("SISAL_STACK_SIZE", "1M"),
            ("SISAL_MAX_FIBERS", "100"),
            ("SISAL_MAX_STACKS", "64"),
            ("SISAL_MAX_BLOCKING_THREADS", "17"),
            ("SISAL_NAME", "herd"),
            ("SISAL_VERBOSE", "1"),
            ("SISAL_STATS", "1"),
            ("SISAL_SHUTDOWN_TIMEOUT", "500ms"),
            ("SISAL_BLOCKED_AFTER", "20ms"),
            ("SISAL_SERVE", "0.0.0.0:6060"),
            ("SISAL_SERVE_TOKEN", "secret"),
            ("SISAL_TRACE", "traces/1.json"),
        ];
        let expected = Settings {
            workers: 5,
            max_workers: 7,
            stack_size: 1 << 20,
            max_fibers: Some(100),
            max_stacks: Some(64),
            max_blocking_threads: 17,
            name: "herd".to_owned(),
            verbose: true,
            stats: true,
            shutdown_timeout: Duration::from_millis(500),
            on_deadlock: OnDeadlock::default(),
            dump_on: None,
            blocked_after: Some(Duration::from_millis(20)),
            serve: Some(Asked {
                address: "0.0.0.0:6060".parse().unwrap(),
                token: Some(Token::new("secret")),
                by_builder: false,
            }),
            trace: Some(PathBuf::from("traces/1.json")),
        };
        assert_eq!(resolved(&nothing(), &variables, 2).unwrap(), expected);
    }

    #[test]
    fn the_builder_wins_over_the_environment_whatever_that_holds() {
        let overrides = Overrides {
            workers: Some(2),
            max_workers: Some(3),
            stack_size: Some(64 << 10),
            max_fibers: Some(9),
            max_stacks: Some(10),
            max_blocking_threads: Some(11),
            name: Some("mine".to_owned()),
            verbose: Some(false),
            stats: Some(false),
            shutdown_timeout: Some(Duration::from_secs(1)),
            on_deadlock: Some(OnDeadlock::Cancel),
            dump_on: Some(Signal::USER2),
            blocked_after: Some(Duration::ZERO),
            serve: Some("[::1]:0".parse().unwrap()),
            serve_token: Some(Token::new("mine")),
            trace: Some(PathBuf::from("mine.json")),
        };
        let variables = [
            ("SISAL_WORKERS", "abc"),
            ("SISAL_MAX_WORKERS", ""),
            ("SISAL_STACK_SIZE", "1M"),
            ("SISAL_MAX_FIBERS", "0"),
            ("SISAL_MAX_STACKS", "1"),
            ("SISAL_MAX_BLOCKING_THREADS", "0"),
            ("SISAL_NAME", "theirs"),
            ("SISAL_VERBOSE", "1"),
            ("SISAL_STATS", "maybe"),
            ("SISAL_SHUTDOWN_TIMEOUT", "-1"),
            ("SISAL_ON_DEADLOCK", "maybe"),
            ("SISAL_DUMP", "always"),
            ("SISAL_BLOCKED_AFTER", "soon"),
            ("SISAL_SERVE", "nowhere"),
            ("SISAL_SERVE_TOKEN", ""),
            ("SISAL_TRACE", ""),
        ];
        let expected = Settings {
            workers: 2,
            max_workers: 3,
            stack_size: 64 << 10,
            max_fibers: Some(9),
            max_stacks: Some(10),
            max_blocking_threads: 11,
            name: "mine".to_owned(),
            verbose: false,
            stats: false,
            shutdown_timeout: Duration::from_secs(1),
            on_deadlock: OnDeadlock::Cancel,
            dump_on: Some(Signal::USER2),
            blocked_after: Some(Duration::ZERO),
            serve: Some(Asked {
                address: "[::1]:0".parse().unwrap(),
                token: Some(Token::new("mine")),
                by_builder: true,
            }),
            trace: Some(PathBuf::from("mine.json")),
        };
        assert_eq!(resolved(&overrides, &variables, 8).unwrap(), expected);
    }

    #[test]
    fn defaults_give_way_to_limits() {
        // (max_workers, max_stacks, CPUs) to (workers, max_workers)
        let cases = [
            ((Some(2), None, 16), (2, 2)),
            ((Some(20), None, 4), (4, 20)),
            ((None, Some(64), 128), (63, 63)),
            ((None, Some(6), 4), (4, 5)),
            ((None, Some(2), 4), (1, 1)),
            ((Some(8), Some(64), 128), (8, 8)),
            ((None, None, 600), (600, 1024)),
            ((None, None, 5000), (1024, 1024)),
        ];
        for ((max_workers, max_stacks, cpus), expected) in cases {
            let overrides = Overrides { max_workers, max_stacks, ..nothing() };
            let settings = resolved(&overrides, &[], cpus).unwrap();
            assert_eq!((settings.workers, settings.max_workers), expected, "{overrides:?}");
        }
    }

    #[test]
    fn a_builder_is_told_what_it_may_be_told() {
        let cases: [(Overrides, &str); 12] = [
            (
                Overrides { workers: Some(0), ..nothing() },
                "workers(0): expected a whole number from 1 to 1024; leave it out to use every CPU this process may use",
            ),
            (Overrides { workers: Some(1025), ..nothing() }, "workers(1025): expected a whole number from 1 to 1024;"),
            (
                Overrides { workers: Some(8), max_workers: Some(4), ..nothing() },
                "max_workers(4): expected a whole number from 8 (`workers`) to 1024;",
            ),
            (
                Overrides { max_workers: Some(0), ..nothing() },
                "max_workers(0): expected a whole number from 1 (`workers`) to 1024;",
            ),
            (
                Overrides { stack_size: Some(0), ..nothing() },
                "stack_size(0): expected bytes, or a whole number with K or M, from 4K to 1024M;",
            ),
            (
                Overrides { stack_size: Some(usize::MAX), ..nothing() },
                "stack_size(18446744073709551615): expected bytes,",
            ),
            (
                Overrides { max_fibers: Some(1), ..nothing() },
                "max_fibers(1): expected a whole number, 2 or more; a fiber that spawns waits for a free place, and with only one it would wait for itself;",
            ),
            (
                Overrides { workers: Some(2), max_stacks: Some(2), ..nothing() },
                "max_stacks(2): expected a whole number, 3 (`max_workers` and one more) or more; each worker needs a stack",
            ),
            (
                Overrides { max_blocking_threads: Some(0), ..nothing() },
                "max_blocking_threads(0): expected a whole number, 1 or more; calls that block need a thread",
            ),
            (Overrides { name: Some(String::new()), ..nothing() }, "name(\"\"): expected text that isn't empty"),
            (
                Overrides { name: Some("a\0b".to_owned()), ..nothing() },
                "name(\"a\\0b\"): expected text that isn't empty and has no NUL in it",
            ),
            (
                Overrides { trace: Some(PathBuf::from("traces/")), ..nothing() },
                "trace(\"traces/\"): expected the name of a file to write, such as trace.json; leave it out",
            ),
        ];
        for (overrides, expected) in cases {
            let text = refused(&overrides, &[], 4);
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_variable_that_makes_no_sense_is_an_error_that_names_it() {
        let cases = [
            (("SISAL_WORKERS", "abc"), "SISAL_WORKERS=abc: expected a whole number from 1 to 1024"),
            (("SISAL_WORKERS", "0"), "SISAL_WORKERS=0: expected a whole number from 1 to 1024"),
            (("SISAL_WORKERS", ""), "SISAL_WORKERS=\"\" (set, but empty): expected a whole number"),
            (("SISAL_WORKERS", "4 4"), "SISAL_WORKERS=\"4 4\": expected a whole number"),
            (("SISAL_MAX_WORKERS", "2000"), "SISAL_MAX_WORKERS=2000: expected a whole number from 4"),
            (("SISAL_STACK_SIZE", "1K"), "SISAL_STACK_SIZE=1K: expected bytes, or a whole number with"),
            (("SISAL_STACK_SIZE", "2G"), "SISAL_STACK_SIZE=2G: expected bytes, or a whole number with"),
            (("SISAL_MAX_FIBERS", "1"), "SISAL_MAX_FIBERS=1: expected a whole number, 2 or more"),
            (("SISAL_MAX_STACKS", "none"), "SISAL_MAX_STACKS=none: expected a whole number, 2 or more"),
            (("SISAL_MAX_STACKS", "1"), "SISAL_MAX_STACKS=1: expected a whole number, 2 ("),
            (("SISAL_MAX_BLOCKING_THREADS", "0"), "SISAL_MAX_BLOCKING_THREADS=0: expected a whole number, 1 or more"),
            (("SISAL_NAME", ""), "SISAL_NAME=\"\" (set, but empty): expected text that isn't empty"),
            (("SISAL_VERBOSE", "yes"), "SISAL_VERBOSE=yes: expected 0 or 1"),
            (("SISAL_STATS", "true"), "SISAL_STATS=true: expected 0 or 1"),
            (("SISAL_BLOCKED_AFTER", "20us"), "SISAL_BLOCKED_AFTER=20us: expected seconds such as"),
            (("SISAL_TRACE", ""), "SISAL_TRACE=\"\" (set, but empty): expected the name of a file"),
            (("SISAL_TRACE", ".."), "SISAL_TRACE=..: expected the name of a file to write"),
            (("SISAL_SHUTDOWN_TIMEOUT", "soon"), "SISAL_SHUTDOWN_TIMEOUT=soon: expected seconds such as"),
            (("SISAL_SERVE", "6060"), "SISAL_SERVE=6060: expected a loopback address with a port such as"),
            (("SISAL_SERVE", "0.0.0.0:6060"), "SISAL_SERVE=0.0.0.0:6060: expected a loopback address"),
            (("SISAL_SERVE_TOKEN", "two words"), "SISAL_SERVE_TOKEN=\"two words\": expected ASCII letters"),
        ];
        for (variable, expected) in cases {
            let text = refused(&nothing(), &[variable], 4);
            assert!(text.starts_with(expected), "{text}");
            assert!(text.contains("; "), "{text}: no advice");
        }
    }

    #[test]
    fn a_variable_that_is_not_utf_8_is_an_error_too() {
        let raw = OsString::from_vec(b"\xff4".to_vec());
        let error = resolve_with(&nothing(), &|name| (name == "SISAL_WORKERS").then(|| raw.clone()), || 4);
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("SISAL_WORKERS=\"\\xFF4\" (not UTF-8): expected"), "{text}");
    }

    #[test]
    fn settings_from_different_places_are_checked_against_each_other() {
        let overrides = Overrides { max_workers: Some(4), ..nothing() };
        let text = refused(&overrides, &[("SISAL_WORKERS", "8")], 2);
        assert!(text.starts_with("max_workers(4): expected a whole number from 8"), "{text}");
    }

    #[test]
    fn timeouts_are_cut_to_what_an_instant_can_take() {
        let overrides = Overrides { shutdown_timeout: Some(Duration::MAX), ..nothing() };
        let timeout = resolved(&overrides, &[], 1).unwrap().shutdown_timeout;
        assert!(std::time::Instant::now().checked_add(timeout).is_some());
    }
}
