//! Storms of cancellation, of fibers by their handles and of trees by their tokens: everyone is told, at whatever moment it comes.

use crate::common::waits::cause;
use crate::common::{LONG, background, in_main_fiber, rounds, shut_down, with_workers};
use sisal::{CancelToken, Cause, JoinError, JoinHandle, sleep, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn fibers_that_are_cancelled_at_every_moment_of_their_lives_end_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let ran = Arc::new(AtomicUsize::new(0));
            let mut returned = 0;
            for round in 0..rounds(5_000) {
                let flag = Arc::clone(&ran);
                let fiber = spawn(move || {
                    flag.fetch_add(1, Ordering::Relaxed);
                    (0..round % 4).for_each(|_| yield_now());
                    let first = sleep(if round % 2 == 0 { LONG } else { Duration::from_micros(1) });
                    if round % 2 == 0 {
                        assert_eq!(cause(first), Some(Cause::Request));
                    }
                });
                (0..round % 7).for_each(|_| yield_now());
                fiber.cancel();
                match fiber.join() {
                    Ok(()) => returned += 1,
                    Err(JoinError::Cancelled(cancelled)) => assert_eq!(cancelled.cause, Cause::Request),
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(ran.load(Ordering::Relaxed), returned);
        });
    });
}

#[test]
fn tokens_that_are_cancelled_while_children_are_made_and_waited_for() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(1_000) {
                let token = CancelToken::new();
                let waiters: Vec<_> = (0..6)
                    .map(|number| {
                        let token = token.clone();
                        spawn(move || {
                            let mine = token.child().child();
                            match number % 3 {
                                0 => mine.wait().unwrap(),
                                1 => assert_eq!(mine.run(|| cause(sleep(LONG))), Some(Cause::Request)),
                                _ => assert!(mine.done().recv().is_err()),
                            }
                        })
                    })
                    .collect();
                yield_now();
                token.cancel();
                waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            }
        });
    });
}

#[test]
fn fibers_that_fall_asleep_while_a_thread_cancels_them_all_wake() {
    with_workers(|workers| {
        let runtime = background(workers);
        for _ in 0..rounds(5_000) {
            // Nothing else is there that could wake a worker.
            let fibers: Vec<_> = (0..20).map(|_| runtime.spawn(|| cause(sleep(LONG)))).collect();
            thread::scope(|scope| {
                scope.spawn(|| fibers.iter().for_each(JoinHandle::cancel));
            });
            for fiber in fibers {
                match fiber.join() {
                    Ok(slept) => assert_eq!(slept, Some(Cause::Request)),
                    Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "{error}"),
                }
            }
        }
        shut_down(runtime);
    });
}
