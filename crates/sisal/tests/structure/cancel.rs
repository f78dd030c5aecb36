//! Cancelling a fiber by its handle: fresh, parked, running, ended.

use crate::common::gate::Gate;
use crate::common::places::settle;
use crate::common::waits::cause;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, in_main_fiber, shut_down, until};
use sisal::chan::bounded;
use sisal::{Cause, JoinError, check_cancelled, deadline, sleep, spawn, spawn_local, timeout};
use sisal::{JoinHandle, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(1);

/// A fiber that says when it has started and then does this.
fn started<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let has_started = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&has_started);
    let fiber = spawn(move || {
        flag.store(true, Ordering::Release);
        body()
    });
    until(|| has_started.load(Ordering::Acquire));
    fiber
}

#[test]
fn a_fresh_fiber_that_is_cancelled_never_runs() {
    in_main_fiber(1, || {
        let ran = Arc::new(AtomicBool::new(false));
        for is_local in [false, true] {
            let fiber = loop {
                let flag = Arc::clone(&ran);
                let body = move || flag.store(true, Ordering::Relaxed);
                let fiber = if is_local { spawn_local(body) } else { spawn(body) };
                // A spawner whose time is over, perhaps because its thread was kept from its processor, gives way to it.
                if !ran.swap(false, Ordering::Relaxed) {
                    break fiber;
                }
            };
            fiber.cancel();
            match fiber.join() {
                Err(JoinError::Cancelled(cancelled)) => assert_eq!(cancelled.cause, Cause::Request),
                other => panic!("{other:?}"),
            }
        }
        assert!(!ran.load(Ordering::Relaxed));
        assert_eq!(Arc::strong_count(&ran), 1, "the closures were dropped");
    });
}

#[test]
fn a_fiber_that_is_cancelled_at_any_time_has_one_of_the_allowed_ends() {
    in_fiber_of_each(|| {
        for turns in 0..100 {
            let ran = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&ran);
            let fiber = spawn(move || {
                flag.store(true, Ordering::Relaxed);
                cause(sleep(LONG))
            });
            (0..turns % 5).for_each(|_| yield_now());
            fiber.cancel();
            match fiber.join() {
                Ok(slept) => assert!(ran.load(Ordering::Relaxed) && slept == Some(Cause::Request)),
                Err(JoinError::Cancelled(cancelled)) => {
                    assert!(!ran.load(Ordering::Relaxed) && cancelled.cause == Cause::Request);
                }
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn a_parked_fiber_that_is_cancelled_wakes_and_its_later_waits_end_at_once() {
    in_fiber_of_each(|| {
        let fiber = started(|| [cause(sleep(LONG)), cause(sleep(LONG)), cause(check_cancelled())]);
        settle();
        fiber.cancel();
        assert_eq!(fiber.join().unwrap(), [Some(Cause::Request); 3]);
    });
}

#[test]
fn a_running_fiber_that_is_cancelled_sees_it_when_it_looks() {
    in_fiber_of_each(|| {
        let fiber = started(|| {
            until(|| check_cancelled().is_err());
            cause(sleep(LONG))
        });
        fiber.cancel();
        assert_eq!(fiber.join().unwrap(), Some(Cause::Request));
    });
}

#[test]
fn a_fiber_that_is_cancelled_still_does_what_need_not_wait() {
    in_fiber_of_each(|| {
        let fiber = started(|| {
            until(|| check_cancelled().is_err());
            let (send, receive) = bounded(1);
            send.send(7).unwrap();
            yield_now();
            receive.recv()
        });
        fiber.cancel();
        assert_eq!(fiber.join().unwrap(), Ok(7));
    });
}

#[test]
fn a_fiber_that_has_ended_keeps_its_result_when_it_is_cancelled() {
    in_fiber_of_each(|| {
        let fiber = spawn(|| 7);
        fiber.wait().unwrap();
        fiber.cancel();
        fiber.cancel();
        assert!(fiber.is_finished());
        assert_eq!(fiber.join().unwrap(), 7);
        let fiber: JoinHandle<()> = spawn(|| panic!("on purpose"));
        fiber.wait().unwrap();
        fiber.cancel();
        assert!(matches!(fiber.join(), Err(JoinError::Panicked(_))));
    });
}

#[test]
fn cancelling_twice_is_cancelling_once() {
    in_fiber_of_each(|| {
        let fiber = started(|| cause(sleep(LONG)));
        (0..10).for_each(|_| fiber.cancel());
        assert_eq!(fiber.join().unwrap(), Some(Cause::Request));
    });
}

#[test]
fn a_fiber_may_be_cancelled_from_a_thread_outside() {
    guarded(|| {
        let runtime = background(2);
        let fibers: Vec<_> = (0..50).map(|_| runtime.spawn(|| cause(sleep(LONG)))).collect();
        thread::scope(|scope| {
            scope.spawn(|| fibers.iter().for_each(JoinHandle::cancel));
        });
        for fiber in fibers {
            match fiber.join() {
                Ok(slept) => assert_eq!(slept, Some(Cause::Request)),
                Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "{error}"),
            }
        }
        shut_down(runtime);
    });
}

#[test]
fn a_cancelled_joiner_leaves_the_one_it_waited_for_alone() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let work = started(move || way.pass()).shared();
        let joiner = {
            let work = work.clone();
            started(move || work.join())
        };
        settle();
        joiner.cancel();
        let joined = joiner.join().unwrap();
        assert!(matches!(joined, Err(JoinError::Interrupted(c)) if c.cause == Cause::Request));
        assert!(!work.is_finished());
        gate.open();
        work.join().unwrap().unwrap();
    });
}

#[test]
fn a_fiber_spawned_by_a_cancelled_one_is_not_cancelled() {
    in_fiber_of_each(|| {
        let fiber = started(|| {
            until(|| check_cancelled().is_err());
            spawn(|| check_cancelled().and_then(|()| sleep(SHORT)))
        });
        fiber.cancel();
        fiber.join().unwrap().join().unwrap().unwrap();
    });
}

#[test]
fn a_handle_that_is_dropped_cancels_nothing() {
    in_fiber_of_each(|| {
        let (gate, ended) = (Gate::closed(), Arc::new(AtomicBool::new(false)));
        let (way, flag) = (gate.way(), Arc::clone(&ended));
        drop(started(move || {
            way.pass().unwrap();
            flag.store(true, Ordering::Relaxed);
        }));
        settle();
        gate.open();
        until(|| ended.load(Ordering::Relaxed));
    });
}

#[test]
fn a_limit_and_a_request_are_told_apart() {
    in_fiber_of_each(|| {
        let fiber = started(|| timeout(LONG, || cause(sleep(LONG))));
        fiber.cancel();
        assert_eq!(fiber.join().unwrap(), Some(Cause::Request));
        let fiber = started(|| deadline(Instant::now(), || cause(sleep(LONG))));
        assert_eq!(fiber.join().unwrap(), Some(Cause::Deadline));
    });
}
