//! What is said of fibers that have not ended in time, and who is waited for all the same.

use crate::common::watchdog::guarded;
use crate::common::{child, fixed, until};
use sisal::{Builder, JoinHandle, Runtime, spawn_local, yield_now};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Not long enough for anything to end by itself.
const SHORT: Duration = Duration::from_millis(20);

/// Has a fiber started that neither ends nor gives way, and waits until it runs.
fn start_stubborn(spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> JoinHandle<()>) {
    let started = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&started);
    drop(spawn(Box::new(move || {
        flag.store(true, Ordering::Relaxed);
        loop {
            std::hint::spin_loop();
        }
    })));
    until(|| started.load(Ordering::Relaxed));
}

#[test]
fn a_timeout_names_what_is_left_and_leaves_it_behind() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
        let (open, opened) = mpsc::channel::<()>();
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        let stuck = runtime.handle().builder().name("stubborn").spawn(move || {
            flag.store(true, Ordering::Relaxed);
            opened.recv().unwrap();
            7
        });
        until(|| started.load(Ordering::Relaxed));
        let report = runtime.shutdown(SHORT);
        assert!(!report.is_clean());
        assert_eq!(report.leaked.len() + report.unlisted, 1, "{report:?}");
        assert_eq!(report.leaked[0].name(), Some("stubborn"));
        let text = report.to_string();
        assert!(text.contains("'stubborn'") && text.contains("tests/shutdown/late.rs"), "{text}");
        // Left behind, it goes on, and may even end.
        open.send(()).unwrap();
        assert_eq!(stuck.join().unwrap(), 7);
    });
    ended.well();
}

#[test]
fn a_timeout_counts_those_behind_a_stuck_fiber() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(1).max_workers(1).build().unwrap();
        let waiting = Arc::new(AtomicUsize::new(0));
        // These ignore the end as long as they can.
        for _ in 0..5 {
            let waiting = Arc::clone(&waiting);
            drop(runtime.spawn(move || {
                waiting.fetch_add(1, Ordering::Relaxed);
                loop {
                    yield_now();
                }
            }));
        }
        until(|| waiting.load(Ordering::Relaxed) == 5);
        start_stubborn(|body| runtime.handle().builder().name("stubborn").spawn(body));
        let report = runtime.shutdown(SHORT);
        assert_eq!(report.leaked.len() + report.unlisted, 6, "{report:?}");
        assert!(report.leaked.iter().any(|fiber| fiber.name() == Some("stubborn")), "{report}");
    });
    ended.well();
}

#[test]
fn fibers_that_yield_for_ever_are_named_with_what_they_do() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
        let started = Arc::new(AtomicUsize::new(0));
        for number in 0..4 {
            let started = Arc::clone(&started);
            drop(runtime.handle().builder().name(format!("restless {number}")).spawn(move || {
                loop {
                    yield_now();
                    started.fetch_or(1 << number, Ordering::Relaxed);
                }
            }));
        }
        until(|| started.load(Ordering::Relaxed) == 0b1111);
        let report = runtime.shutdown(SHORT);
        let mut names: Vec<_> = report.leaked.iter().map(|fiber| fiber.name().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["restless 0", "restless 1", "restless 2", "restless 3"], "{report}");
        assert_eq!(report.unlisted, 0);
    });
    ended.well();
}

#[test]
fn the_end_of_run_waits_for_its_timeout_and_names_who_is_left_on_other_threads() {
    let ended = child::run(|| {
        let result = fixed(2).shutdown_timeout(SHORT).run(|| {
            start_stubborn(|body| Builder::new().name("stubborn").spawn_on(1, body));
            7
        });
        assert_eq!(result.unwrap(), 7);
        println!("run has returned");
    });
    let ended = ended.well().saying("sisal: 1 fiber has not ended").saying("'stubborn'");
    assert!(ended.stdout.contains("run has returned"));
}

#[test]
fn dropping_a_runtime_with_a_stuck_fiber_says_so_after_its_timeout() {
    let ended = child::run(|| {
        let runtime = fixed(1).shutdown_timeout(SHORT).build().unwrap();
        start_stubborn(|body| runtime.handle().builder().name("stubborn").spawn(body));
    });
    ended.well().saying("'stubborn'");
}

#[test]
fn fibers_on_the_calling_thread_are_waited_for_however_long_they_take() {
    guarded(|| {
        let done = Rc::new(Cell::new(false));
        fixed(1)
            .shutdown_timeout(Duration::from_millis(1))
            .run(|| {
                let done = Rc::clone(&done);
                let started = Rc::new(Cell::new(false));
                let flag = Rc::clone(&started);
                drop(spawn_local(move || {
                    flag.set(true);
                    let timeout_is_over = Instant::now() + Duration::from_millis(30);
                    until(|| Instant::now() > timeout_is_over);
                    done.set(true);
                }));
                until(|| started.get());
            })
            .unwrap();
        assert!(done.get());
        assert_eq!(Rc::strong_count(&done), 1);
    });
}
