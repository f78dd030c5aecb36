//! Time limits: they bound every wait inside, however deep, and nothing else; and ticks that do not drift.

use crate::common::gate::Gate;
use crate::common::places::{everywhere, settle};
use crate::common::waits::{cause, in_fibers_and_a_thread};
use crate::common::{LONG, in_fiber_of_each, in_main_fiber, until};
use sisal::chan::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, bounded};
use sisal::sync::{Mutex, RwLock};
use sisal::{Cause, JoinError, check_cancelled, deadline, interval, sleep, sleep_until, spawn, timeout};
use sisal::{spawn_local, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn what_the_closure_returns_is_returned_in_time_and_late() {
    in_fibers_and_a_thread(|| {
        assert_eq!(timeout(LONG, || 7), 7);
        assert_eq!(deadline(Instant::now() + LONG, || 8), 8);
        let text = timeout(Duration::ZERO, || {
            assert!(sleep(LONG).is_err());
            String::from("late")
        });
        assert_eq!(text, "late");
        assert_eq!(deadline(Instant::now(), || 9), 9);
    });
}

#[test]
fn a_wait_inside_ends_at_the_limit_and_not_before() {
    in_fibers_and_a_thread(|| {
        let start = Instant::now();
        assert_eq!(cause(timeout(SHORT, || sleep(LONG))), Some(Cause::Deadline));
        assert!(start.elapsed() >= SHORT);
        let end = Instant::now() + SHORT;
        assert_eq!(cause(deadline(end, || sleep_until(Instant::now() + LONG))), Some(Cause::Deadline));
        assert!(Instant::now() >= end);
    });
}

#[test]
fn a_wait_that_ends_in_time_is_left_alone() {
    in_fibers_and_a_thread(|| {
        timeout(LONG, || sleep(SHORT)).unwrap();
        sleep(Duration::from_micros(10)).unwrap();
    });
}

#[test]
fn the_limit_reaches_down_through_calls_locks_and_closures() {
    fn deep(levels: usize) -> Option<Cause> {
        if levels == 0 { cause(sleep(LONG)) } else { std::hint::black_box(deep(levels - 1)) }
    }
    in_fibers_and_a_thread(|| {
        let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
        let cause = timeout(SHORT, || {
            let _held = (mutex.lock(), lock.write());
            deep(50)
        });
        assert_eq!(cause, Some(Cause::Deadline));
        assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
    });
}

#[test]
fn waits_on_channels_end_with_what_was_not_sent() {
    in_fibers_and_a_thread(|| {
        let (send, receive) = bounded::<String>(1);
        let received = timeout(SHORT, || receive.recv());
        assert!(matches!(received, Err(RecvError::Cancelled(c)) if c.cause == Cause::Deadline));
        send.send("first".into()).unwrap();
        let Err(SendError::Cancelled(text, cancelled)) = timeout(SHORT, || send.send("second".into())) else {
            panic!("the channel was full");
        };
        assert_eq!((text.as_str(), cancelled.cause), ("second", Cause::Deadline));
        assert_eq!(receive.recv().unwrap(), "first");
    });
}

#[test]
fn a_select_runs_its_first_arm_with_the_error() {
    in_fibers_and_a_thread(|| {
        let ((_first, receive), (send, _second)) = (bounded::<u8>(0), bounded::<u8>(0));
        let cause = timeout(SHORT, || {
            sisal::select! {
                recv(receive) -> message => match message {
                    Err(RecvError::Cancelled(cancelled)) => Some(cancelled.cause),
                    _ => None,
                },
                send(send, 1) -> _ => None,
            }
        });
        assert_eq!(cause, Some(Cause::Deadline));
    });
}

#[test]
fn a_join_inside_is_interrupted_and_the_fiber_goes_on() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let fiber = spawn(move || way.pass());
        assert_eq!(cause(timeout(SHORT, || fiber.wait())), Some(Cause::Deadline));
        let shared = fiber.shared();
        let joined = timeout(SHORT, || shared.join());
        assert!(matches!(joined, Err(JoinError::Interrupted(c)) if c.cause == Cause::Deadline));
        gate.open();
        shared.join().unwrap().unwrap();
    });
}

#[test]
fn a_call_s_own_time_is_told_from_the_limit() {
    in_fibers_and_a_thread(|| {
        let (send, receive) = bounded::<u8>(0);
        assert_eq!(timeout(LONG, || receive.recv_timeout(SHORT)), Err(RecvTimeoutError::TimedOut));
        assert_eq!(timeout(LONG, || send.send_timeout(1, SHORT)), Err(SendTimeoutError::TimedOut(1)));
        let received = timeout(SHORT, || receive.recv_timeout(LONG));
        assert!(matches!(received, Err(RecvTimeoutError::Cancelled(c)) if c.cause == Cause::Deadline));
        let sent = timeout(SHORT, || send.send_timeout(1, LONG));
        assert!(matches!(sent, Err(SendTimeoutError::Cancelled(1, c)) if c.cause == Cause::Deadline));
    });
}

#[test]
fn a_loop_that_tries_again_after_timing_out_is_ended_by_the_limit() {
    in_fibers_and_a_thread(|| {
        let (_send, receive) = bounded::<u8>(0);
        let ended = timeout(SHORT, || {
            loop {
                match receive.recv_timeout(Duration::from_micros(50)) {
                    Err(RecvTimeoutError::TimedOut) => (),
                    other => break other,
                }
            }
        });
        assert!(matches!(ended, Err(RecvTimeoutError::Cancelled(c)) if c.cause == Cause::Deadline));
    });
}

#[test]
fn after_the_limit_what_need_not_wait_still_succeeds() {
    in_fibers_and_a_thread(|| {
        let (send, receive) = bounded(2);
        let (mutex, lock) = (Mutex::new(1), RwLock::new(2));
        deadline(Instant::now(), || {
            send.send(1).unwrap();
            send.send_timeout(2, Duration::ZERO).unwrap();
            assert_eq!(receive.recv(), Ok(1));
            assert_eq!(receive.recv_timeout(LONG), Ok(2));
            assert_eq!(*mutex.lock() + *lock.read(), 3);
            *lock.write() += 1;
            let chosen = sisal::select! {
                recv(receive) -> _ => 1,
                send(send, 3) -> sent => if sent.is_ok() { 2 } else { 3 },
            };
            assert_eq!(chosen, 2);
            assert!(receive.recv().is_ok() && receive.recv().is_err());
        });
    });
}

#[test]
fn a_shorter_limit_inside_ends_first_and_the_outer_goes_on() {
    in_fibers_and_a_thread(|| {
        timeout(LONG, || {
            assert_eq!(cause(timeout(SHORT, || sleep(LONG))), Some(Cause::Deadline));
            sleep(Duration::from_micros(10)).unwrap();
            check_cancelled().unwrap();
        });
        check_cancelled().unwrap();
    });
}

#[test]
fn a_longer_limit_inside_gives_no_more_time_than_the_outer() {
    in_fibers_and_a_thread(|| {
        timeout(SHORT, || {
            assert_eq!(cause(timeout(LONG, || sleep(LONG))), Some(Cause::Deadline));
            assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline), "the outer is over");
            assert_eq!(cause(timeout(LONG, || sleep(LONG))), Some(Cause::Deadline));
        });
        sleep(Duration::from_micros(10)).unwrap();
    });
}

#[test]
fn a_hundred_limits_inside_each_other_end_from_the_inside_out() {
    fn nest(depth: u64) {
        if depth == 100 {
            return;
        }
        timeout(LONG, || nest(depth + 1));
        timeout(Duration::from_micros(10), || assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline)));
        check_cancelled().unwrap();
    }
    in_fibers_and_a_thread(|| nest(0));
}

#[test]
fn the_shortest_and_the_longest_limits_are_taken() {
    in_fibers_and_a_thread(|| {
        timeout(Duration::MAX, || sleep(Duration::from_micros(10))).unwrap();
        timeout(Duration::from_secs(u64::MAX), || sleep(Duration::from_micros(10))).unwrap();
        assert_eq!(cause(timeout(Duration::ZERO, || sleep(LONG))), Some(Cause::Deadline));
        if let Some(past) = Instant::now().checked_sub(Duration::from_secs(1)) {
            assert_eq!(cause(deadline(past, || sleep(LONG))), Some(Cause::Deadline));
        }
    });
}

#[test]
fn a_panic_takes_its_limit_along() {
    in_fibers_and_a_thread(|| {
        let panicked = catch_unwind(|| timeout(Duration::ZERO, || panic!("on purpose")));
        assert!(panicked.is_err());
        check_cancelled().unwrap();
        sleep(Duration::from_micros(10)).unwrap();
        timeout(LONG, || {
            let panicked = catch_unwind(AssertUnwindSafe(|| timeout(Duration::ZERO, || panic!("on purpose"))));
            assert!(panicked.is_err());
            sleep(Duration::from_micros(10)).unwrap();
        });
    });
}

#[test]
fn a_limit_belongs_to_its_fiber_and_not_to_the_neighbours_on_its_worker() {
    in_main_fiber(1, || {
        let step = Rc::new(Cell::new(0));
        let limited = {
            let step = Rc::clone(&step);
            spawn_local(move || {
                deadline(Instant::now(), || {
                    step.set(1);
                    until(|| step.get() == 2);
                    cause(sleep(LONG))
                })
            })
        };
        until(|| step.get() == 1);
        check_cancelled().unwrap();
        sleep(Duration::from_micros(10)).unwrap();
        spawn_local(|| sleep(Duration::from_micros(10))).join().unwrap().unwrap();
        step.set(2);
        assert_eq!(limited.join().unwrap(), Some(Cause::Deadline));
    });
}

#[test]
fn limits_of_many_fibers_on_one_worker_are_kept_apart() {
    in_fiber_of_each(|| {
        let fibers: Vec<_> = (0..100)
            .map(|number| {
                spawn(move || {
                    if number % 2 == 0 {
                        let slept = timeout(Duration::from_micros(50), || {
                            yield_now();
                            sleep(LONG)
                        });
                        assert_eq!(cause(slept), Some(Cause::Deadline));
                    } else {
                        timeout(LONG, || {
                            yield_now();
                            sleep(Duration::from_micros(100)).unwrap();
                        });
                    }
                    check_cancelled().unwrap();
                })
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    });
}

#[test]
fn a_detached_fiber_inherits_no_limit() {
    in_fiber_of_each(|| {
        let fibers = deadline(Instant::now(), || {
            let wait = || check_cancelled().and_then(|()| sleep(Duration::from_micros(50)));
            assert!(wait().is_err());
            [spawn(wait), spawn_local(wait)]
        });
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap().unwrap());
    });
}

#[test]
fn a_thread_inherits_no_limit() {
    in_fiber_of_each(|| {
        let thread = deadline(Instant::now(), || thread::spawn(|| sleep(Duration::from_micros(50))));
        thread.join().unwrap().unwrap();
    });
}

#[test]
fn the_end_of_the_runtime_is_told_from_the_limit() {
    crate::common::watchdog::guarded(|| {
        let runtime = crate::common::background(2);
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let fiber = runtime.spawn(move || {
            timeout(LONG, || {
                count.store(1, Ordering::Relaxed);
                cause(sleep(LONG))
            })
        });
        until(|| started.load(Ordering::Relaxed) == 1);
        crate::common::shut_down(runtime);
        assert_eq!(fiber.join().unwrap(), Some(Cause::Shutdown));
    });
}

#[test]
fn a_check_sees_the_limit_without_a_wait() {
    in_fibers_and_a_thread(|| {
        check_cancelled().unwrap();
        timeout(SHORT, || {
            let start = Instant::now();
            until(|| check_cancelled().is_err());
            assert!(start.elapsed() <= LONG);
            assert_eq!(cause(check_cancelled()), Some(Cause::Deadline));
        });
        check_cancelled().unwrap();
        deadline(Instant::now(), || assert_eq!(cause(check_cancelled()), Some(Cause::Deadline)));
    });
}

#[test]
fn a_loop_that_computes_and_checks_is_ended_by_the_limit() {
    in_fibers_and_a_thread(|| {
        let turns = timeout(SHORT, || (0u64..).take_while(|_| check_cancelled().is_ok()).count());
        std::hint::black_box(turns);
    });
}

#[test]
fn limits_hold_for_fibers_and_threads_on_the_same_channel() {
    everywhere(|place| {
        let (send, receive) = bounded::<usize>(0);
        let actors: Vec<_> = (0..6)
            .map(|_| {
                let receive = receive.clone();
                place.spawn(move || timeout(SHORT, || receive.recv()).is_err())
            })
            .collect();
        assert!(actors.into_iter().all(|actor| actor.join()));
        let taker = {
            let receive = receive.clone();
            place.spawn(move || timeout(LONG, || receive.recv()))
        };
        settle();
        send.send(7).unwrap();
        assert_eq!(taker.join(), Ok(7));
    });
}

#[test]
fn ticks_come_at_their_times_and_not_before() {
    in_fibers_and_a_thread(|| {
        let start = Instant::now();
        let mut ticks = interval(SHORT);
        let mut last = start;
        for number in 1..=5 {
            let tick = ticks.tick().unwrap();
            assert!(Instant::now() >= start + SHORT * number, "tick {number} came early");
            assert!(tick > last);
            last = tick;
        }
    });
}

#[test]
fn ticks_do_not_drift() {
    in_fibers_and_a_thread(|| {
        let mut ticks = interval(SHORT);
        let first = ticks.tick().unwrap();
        for _ in 0..5 {
            // Work that takes part of the time, and sometimes all of it, moves no later tick.
            let busy = Instant::now() + SHORT / 2;
            until(|| Instant::now() >= busy);
            let after = ticks.tick().unwrap() - first;
            assert_eq!(after.as_nanos() % SHORT.as_nanos(), 0, "{after:?} after the first");
        }
    });
}

#[test]
fn ticks_that_were_missed_are_skipped() {
    in_fibers_and_a_thread(|| {
        let mut ticks = interval(SHORT);
        let first = ticks.tick().unwrap();
        sleep_until(first + SHORT * 10).unwrap();
        // One is due now. The ones before are gone: the next but one lies after the nap.
        ticks.tick().unwrap();
        let next = ticks.tick().unwrap();
        assert!(next > first + SHORT * 10, "{:?}", next - first);
    });
}

#[test]
fn a_wait_for_a_tick_is_cancelled_by_a_limit() {
    in_fibers_and_a_thread(|| {
        let mut ticks = interval(LONG);
        assert_eq!(cause(timeout(SHORT, || ticks.tick().map(drop))), Some(Cause::Deadline));
    });
}

/// A runtime that takes a thread over is inside of what the thread is inside.
#[test]
fn a_limit_around_a_run_reaches_what_it_runs() {
    crate::common::watchdog::guarded(|| {
        let waited = timeout(SHORT, || sisal::run(|| sleep(LONG)));
        assert_eq!(waited.unwrap_err().cause, Cause::Deadline);
        let token = sisal::CancelToken::new();
        let canceller = token.clone();
        let cancelled = token.run(|| {
            sisal::run(move || {
                let waiter = spawn(|| ());
                waiter.join().unwrap();
                canceller.cancel();
                sleep(LONG)
            })
        });
        assert_eq!(cancelled.unwrap_err().cause, Cause::Request);
        let shielded = timeout(SHORT, || sisal::shield(|| sisal::run(|| sleep(SHORT * 3))));
        assert_eq!(shielded, Ok(()));
        assert_eq!(timeout(LONG, || sisal::run(|| timeout(LONG, || 7))), 7);
    });
}
