//! A fiber that blocks its worker is named: whatever it does there, with its place and its stack, and once for that place.
//!
//! What blocks the fibers here ends when their names have been heard, and never by the clock alone.
#![allow(unsafe_code, reason = "a function of libc is called")]

mod common;

use common::overheard::Overheard;
use common::{child, fixed, until};
use sisal::join_all;
use std::hint::{black_box, spin_loop};
use std::io::{PipeReader, Read, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(20);

const HAVE_STACKS: bool = cfg!(feature = "stack-traces");

/// How often a stack is asked for: it can't be had of a thread that is not given a processor in time.
const ATTEMPTS: usize = 100;

/// What was said of a fiber.
#[derive(Debug)]
struct Report {
    first_line: String,
    stack: Vec<String>,
}

impl Report {
    /// Of all that was said, what was said of this fiber: once.
    fn of(name: &str, said: &[String]) -> Report {
        let is_first = |line: &String| line.starts_with(&format!("sisal: fiber '{name}' (#"));
        assert_eq!(said.iter().filter(|line| is_first(line)).count(), 1, "{said:#?}");
        let mut lines = said.iter().skip_while(|line| !is_first(line)).cloned();
        let first_line = lines.next().unwrap();
        Report { first_line, stack: lines.take_while(|line| line.starts_with("    ")).collect() }
    }

    /// For how many milliseconds the worker had been held.
    fn held(&self) -> Option<u128> {
        let (_, rest) = self.first_line.split_once(" for ")?;
        rest.strip_suffix(" ms without yielding")?.parse().ok()
    }
}

/// Where the next function spawns those who block.
const PLACE: &str = concat!("spawned at ", file!(), ":");
const LINE: u32 = line!() + 10;

/// Two fibers from one place that `block` their workers, until one of them has been named and the other could have been. Then `let_go` ends that.
fn report(block: impl Fn() + Clone + Send + 'static, let_go: impl FnOnce()) -> Report {
    let overheard = Overheard::start();
    let runtime = fixed(3).blocked_after(LIMIT).build().unwrap();
    let builder = |name| runtime.handle().builder().name(name);
    let begun = Arc::new(AtomicUsize::new(0));
    let spawn = |_| {
        let (block, begun) = (block.clone(), Arc::clone(&begun));
        builder("blocker").spawn(move || {
            begun.fetch_add(1, Ordering::Relaxed);
            block();
        })
    };
    let blockers: Vec<_> = (0..2).map(spawn).collect();
    until(|| begun.load(Ordering::Relaxed) == 2);
    until(overheard.listen_for("'blocker'"));
    // All workers are looked at each time. The look that found the first witness may have missed one who began just before, but not the next
    // look: so when the second witness is named, everybody who began before the first has been found out.
    let is_named = overheard.listen_for("'first witness'");
    builder("first witness").spawn(move || hold_worker_until(is_named)).join().unwrap();
    let is_named = overheard.listen_for("'second witness'");
    builder("second witness").spawn(move || hold_worker_until(is_named)).join().unwrap();
    let_go();
    join_all(blockers).into_iter().for_each(Result::unwrap);
    common::shut_down(runtime);
    Report::of("blocker", &overheard.end())
}

fn hold_worker_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

/// Checks the reports that `make` makes, up to the first with `function` in its stack. That may be missing, and others there, if the thread was kept
/// from its processor at the wrong time.
fn names_the_fiber_its_place_and(function: &str, make: impl Fn() -> Report) {
    for _ in 0..ATTEMPTS {
        let report = make();
        assert!(report.first_line.contains(&format!("{PLACE}{LINE}:")), "{report:#?}");
        assert!(report.held() >= Some(LIMIT.as_millis()), "{report:#?}");
        let is_there = report.stack.iter().any(|line| line.ends_with(function));
        assert!(HAVE_STACKS || !is_there, "{report:#?}");
        if is_there == HAVE_STACKS {
            return;
        }
    }
    panic!("no report has {function} in its stack");
}

#[inline(never)]
fn spin_until_told(told: &AtomicBool) {
    while !told.load(Ordering::Relaxed) {
        spin_loop();
    }
    black_box(());
}

#[test]
fn a_fiber_in_a_busy_loop_is_named() {
    let ended = child::run(|| {
        names_the_fiber_its_place_and("spin_until_told", || {
            let told = Arc::new(AtomicBool::new(false));
            let looked_at = Arc::clone(&told);
            report(move || spin_until_told(&looked_at), || told.store(true, Ordering::Relaxed))
        });
    });
    ended.well();
}

#[inline(never)]
fn lock_what_a_thread_holds(mutex: &Mutex<()>) {
    drop(black_box(mutex.lock().unwrap()));
}

#[test]
fn a_fiber_that_waits_for_a_mutex_of_the_standard_library_is_named() {
    let ended = child::run(|| {
        names_the_fiber_its_place_and("lock_what_a_thread_holds", || {
            let mutex = Arc::new(Mutex::new(()));
            let wanted = Arc::clone(&mutex);
            let held = mutex.lock().unwrap();
            report(move || lock_what_a_thread_holds(&wanted), || drop(held))
        });
    });
    ended.well();
}

#[inline(never)]
fn read_what_a_thread_writes(mut pipe: &PipeReader) {
    black_box(pipe.read_exact(&mut [0])).unwrap();
}

#[test]
fn a_fiber_in_a_blocking_system_call_is_named() {
    let ended = child::run(|| {
        names_the_fiber_its_place_and("read_what_a_thread_writes", || {
            let (reader, mut writer) = pipe().unwrap();
            let reader = Arc::new(reader);
            report(move || read_what_a_thread_writes(&reader), || writer.write_all(&[1, 2]).unwrap())
        });
    });
    ended.well();
}

/// Again and again, since a signal ends it, as it comes with the request for a stack.
#[inline(never)]
fn sleep_in_libc(told: &AtomicBool) {
    while !told.load(Ordering::Relaxed) {
        // SAFETY: it has no preconditions.
        black_box(unsafe { libc::sleep(1) });
    }
}

#[test]
fn a_fiber_that_sleeps_as_a_thread_does_is_named() {
    let ended = child::run(|| {
        names_the_fiber_its_place_and("sleep_in_libc", || {
            let told = Arc::new(AtomicBool::new(false));
            let looked_at = Arc::clone(&told);
            report(move || sleep_in_libc(&looked_at), || told.store(true, Ordering::Relaxed))
        });
    });
    ended.well();
}
