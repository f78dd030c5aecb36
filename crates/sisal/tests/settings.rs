//! Settings: the builder first, then the environment, then defaults; what makes no sense is an error that says so.

mod common;
#[path = "common/kernel/mod.rs"]
mod kernel;

use common::child::{self, Ended};
use common::{linux, until};
use kernel::rings::{has_rings, refuse_rings};
use sisal::{BuildError, Handle, Runtime, sleep, spawn};
use std::time::Duration;

/// Every variable with values that make no sense, and what the error says of them.
const NONSENSE: &[(&str, &str, &str)] = &[
    ("SISAL_WORKERS", "abc", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "0", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "-1", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "2.5", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "1025", "a whole number from 1 to 1024"),
    ("SISAL_WORKERS", "99999999999999999999999", "a whole number from 1 to 1024"),
    ("SISAL_MAX_WORKERS", "many", "a whole number"),
    ("SISAL_MAX_WORKERS", "0", "a whole number"),
    ("SISAL_STACK_SIZE", "big", "bytes, or a whole number with K or M"),
    ("SISAL_STACK_SIZE", "1K", "from 4K to 1024M"),
    ("SISAL_STACK_SIZE", "2000M", "from 4K to 1024M"),
    ("SISAL_STACK_SIZE", "18446744073709551615M", "from 4K to 1024M"),
    ("SISAL_MAX_FIBERS", "1", "a whole number, 2 or more"),
    ("SISAL_MAX_FIBERS", "0", "a whole number, 2 or more"),
    ("SISAL_MAX_FIBERS", "some", "a whole number, 2 or more"),
    ("SISAL_MAX_STACKS", "1", "or more"),
    ("SISAL_MAX_BLOCKING_THREADS", "0", "a whole number, 1 or more"),
    ("SISAL_NAME", "", "text that isn't empty"),
    ("SISAL_VERBOSE", "maybe", "0 or 1"),
    ("SISAL_STATS", "2", "0 or 1"),
    ("SISAL_BLOCKED_AFTER", "never", "seconds such as 1 or 0.5"),
    ("SISAL_SHUTDOWN_TIMEOUT", "soon", "seconds such as 10 or 2.5"),
    ("SISAL_SHUTDOWN_TIMEOUT", "-1", "seconds such as 10 or 2.5"),
    ("SISAL_SERVE", "6060", "a loopback address with a port"),
    ("SISAL_SERVE", "0.0.0.0:6060", "or any address if there is a token"),
    ("SISAL_SERVE_TOKEN", "", "ASCII letters, digits and punctuation"),
];

#[test]
fn a_variable_that_makes_no_sense_is_a_clear_error() {
    for &(variable, value, expected) in NONSENSE {
        let ended = child::run_in(&[(variable, value)], || {
            // The parent hands its one variable down; the error must be of that.
            let error = Runtime::new().unwrap_err();
            assert!(matches!(error, BuildError::Setting { .. }));
            eprintln!("the error: {error}");
        });
        let ended = ended.well().saying(&format!("the error: {variable}={value}")).saying(expected);
        assert!(ended.stderr.contains("leave it out"), "it says what to do: {ended:#?}");
    }
}

#[test]
fn run_panics_with_the_text_of_the_error() {
    let ended = child::run_in(&[("SISAL_WORKERS", "abc")], || {
        sisal::run(|| println!("this was not to run"));
    });
    let ended = ended.with_code(101).saying("sisal: SISAL_WORKERS=abc: expected a whole number from 1 to 1024");
    assert!(!ended.stdout.contains("this was not to run"));
}

#[test]
fn the_environment_wins_over_defaults() {
    let environment = [
        ("SISAL_WORKERS", "3"),
        ("SISAL_MAX_WORKERS", "3"),
        ("SISAL_STACK_SIZE", "1M"),
        ("SISAL_MAX_FIBERS", "5"),
        ("SISAL_MAX_STACKS", "9"),
        ("SISAL_NAME", "herd"),
        ("SISAL_STATS", "1"),
        ("SISAL_VERBOSE", "1"),
        ("SISAL_SHUTDOWN_TIMEOUT", "500ms"),
    ];
    let ended = child::run_in(&environment, || {
        let runtime = Runtime::new().unwrap();
        assert_eq!(runtime.handle().base_workers(), 3);
        assert!(runtime.run(|| std::thread::current().name().unwrap().starts_with("herd-")));
        runtime.run(|| {
            let sleepers: Vec<_> = (0..4).map(|_| spawn(|| sleep(common::LONG))).collect();
            assert!(sisal::try_spawn(|| ()).is_err(), "five fibers at most");
            drop(sleepers);
        });
    });
    // Verbose at the start, statistics at the end.
    let ended = ended.well().saying("3 workers (up to 3)").saying("up to 5 fibers").saying("fibers spawned");
    assert!(ended.stderr.contains("KiB") && ended.stderr.contains("MiB mapped"), "{ended:#?}");
}

#[test]
fn the_builder_wins_over_the_environment_whatever_that_holds() {
    let environment = [
        ("SISAL_WORKERS", "abc"),
        ("SISAL_MAX_WORKERS", "abc"),
        ("SISAL_STACK_SIZE", "abc"),
        ("SISAL_MAX_FIBERS", "abc"),
        ("SISAL_MAX_STACKS", "abc"),
        ("SISAL_NAME", ""),
        ("SISAL_STATS", "abc"),
        ("SISAL_VERBOSE", "abc"),
        ("SISAL_SHUTDOWN_TIMEOUT", "abc"),
    ];
    let ended = child::run_in(&environment, || {
        let builder = Runtime::builder().workers(2).max_workers(3).stack_size(64 << 10).max_fibers(10).max_stacks(20);
        let builder = builder.name("mine").stats(false).verbose(false).shutdown_timeout(Duration::from_secs(1));
        let workers = builder.clone().run(|| Handle::current().unwrap().workers());
        assert_eq!(workers.unwrap(), 2);
        assert_eq!(builder.build().unwrap().run(|| spawn(|| 7).join().unwrap()), 7);
    });
    ended.well().not_saying("sisal:");
}

#[test]
fn settings_of_the_builder_that_make_no_sense_are_clear_errors() {
    let refused = |builder: sisal::RuntimeBuilder| {
        let error = builder.clone().build().unwrap_err().to_string();
        assert_eq!(builder.run(|| panic!("it ran")).unwrap_err().to_string(), error);
        error
    };
    let builder = Runtime::builder;
    for (builder, given) in [
        (builder().workers(0), "workers(0)"),
        (builder().workers(1025), "workers(1025)"),
        (builder().workers(usize::MAX), "workers("),
        (builder().workers(4).max_workers(3), "max_workers(3)"),
        (builder().max_workers(0), "max_workers(0)"),
        (builder().stack_size(0), "stack_size(0)"),
        (builder().stack_size(4095), "stack_size(4095)"),
        (builder().stack_size((1 << 30) + 1), "stack_size(1073741825)"),
        (builder().stack_size(usize::MAX), "stack_size("),
        (builder().max_fibers(0), "max_fibers(0)"),
        (builder().max_fibers(1), "max_fibers(1)"),
        (builder().workers(4).max_workers(4).max_stacks(4), "max_stacks(4)"),
        (builder().max_stacks(0), "max_stacks(0)"),
        (builder().max_blocking_threads(0), "max_blocking_threads(0)"),
        (builder().name(""), "name(\"\")"),
        (builder().name("a\0b"), "name("),
    ] {
        let error = refused(builder);
        assert!(error.contains(given) && error.contains("expected"), "{error}");
    }
}

#[test]
fn settings_at_the_edge_are_taken() {
    for builder in [
        common::fixed(1).max_fibers(2),
        common::fixed(1).max_stacks(2),
        common::fixed(1).stack_size(64 << 10),
        common::fixed(1).shutdown_timeout(Duration::MAX),
        common::fixed(64),
        common::fixed(2).name("a name that is longer than the fifteen bytes that Linux shows"),
    ] {
        let runtime = builder.build().unwrap();
        assert_eq!(runtime.spawn(|| 7).join().unwrap(), 7);
        common::shut_down(runtime);
    }
}

/// What a child prints of the workers it has by default.
fn print_default_workers() {
    println!("default workers: {}", Runtime::new().unwrap().handle().base_workers());
}

fn default_workers(ended: Ended) -> usize {
    let ended = ended.well();
    let number = ended.stdout.split("default workers: ").nth(1).and_then(|rest| rest.lines().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{ended:#?}"))
}

#[test]
fn the_default_of_workers_is_the_cpus_the_process_may_use() {
    let all = std::thread::available_parallelism().unwrap().get();
    let ended = child::run(|| {
        print_default_workers();
    });
    assert_eq!(default_workers(ended), all);
}

#[test]
fn the_default_of_workers_follows_the_affinity_of_the_process() {
    let ended = child::run(|| {
        let own = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| own.is_set(cpu)).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set(first);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        print_default_workers();
    });
    assert_eq!(default_workers(ended), 1);
}

#[test]
fn by_default_there_is_no_limit_on_fibers_and_little_is_said() {
    let ended = child::run(|| {
        let sum: usize = sisal::run(|| {
            let handles: Vec<_> = (0..20_000).map(|number| spawn(move || number)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).sum()
        });
        assert_eq!(sum, 199_990_000);
    });
    ended.well().not_saying("sisal");
}

#[test]
fn stats_at_exit_are_printed_when_asked_for() {
    let ended = child::run_in(&[("SISAL_STATS", "1")], || {
        sisal::run(|| {
            for number in 0..10 {
                assert_eq!(spawn(move || number).join().unwrap(), number);
            }
        });
    });
    ended.well().saying("sisal: 10 fibers spawned, 10 ended");
}

#[test]
fn verbose_says_how_the_runtime_is_set_up() {
    let ended = child::run_in(&[("SISAL_VERBOSE", "1")], || {
        common::fixed(2).stack_size(100 << 10).run(|| ()).unwrap();
    });
    ended.well().saying("sisal: 2 workers (up to 2), any number of fibers").saying(", files by ");
}

#[test]
fn verbose_says_that_the_kernel_reads_files_by_itself_exactly_where_it_has_rings() {
    let ended = child::run_in(&[("SISAL_VERBOSE", "1")], || common::fixed(1).run(|| ()).unwrap());
    let files = if has_rings() { "io_uring and threads" } else { "threads (io_uring is refused)" };
    ended.well().saying(&format!(", files by {files}\n"));
}

#[test]
fn verbose_says_that_threads_read_files_where_rings_are_refused() {
    let ended = child::run_in(&[("SISAL_VERBOSE", "1")], || {
        refuse_rings();
        common::fixed(1).run(|| ()).unwrap();
    });
    ended.well().saying(", files by threads (io_uring is refused)\n");
}

#[test]
fn a_runtime_has_as_many_threads_as_it_has_workers() {
    let ended = child::run(|| {
        let runtime = common::fixed(5).name("five").build().unwrap();
        until(|| (0..5).all(|worker| linux::threads_named(&format!("five-{worker}")) == 1));
        assert_eq!(linux::threads_named("five-5"), 0);
        common::shut_down(runtime);
    });
    ended.well();
}
