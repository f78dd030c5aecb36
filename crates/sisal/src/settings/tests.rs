//! What the builder, the environment and the defaults make of each other.

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
        serve: Some(Asked { address: "[::1]:0".parse().unwrap(), token: Some(Token::new("mine")), by_builder: true }),
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
        (Overrides { stack_size: Some(usize::MAX), ..nothing() }, "stack_size(18446744073709551615): expected bytes,"),
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
        (("SISAL_SERVE_TOKEN", "two words"), "SISAL_SERVE_TOKEN: expected ASCII letters"),
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
