//! Nurseries that are cancelled: by request, or by a deadline of their own.

use crate::common::gate::Gate;
use crate::common::places::settle;
use crate::common::waits::cause;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down, until};
use crate::sleepers::{SHORT, Sleepers, Sure, with_enough_time};
use sisal::{Cancelled, Cause, Nursery, check_cancelled, nursery, sleep, sleep_until, spawn, timeout};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn cancelling_ends_the_waits_of_the_children_and_of_the_body() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::expecting(Cause::Request);
        let value = nursery(|n| {
            sleepers.spawn_into(n);
            assert!(!n.is_cancelled());
            n.cancel();
            n.cancel();
            assert!(n.is_cancelled());
            assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
            Ok(7)
        });
        assert_eq!(value, Ok(7), "to be cancelled by request is no failure");
        sleepers.were_told();
        check_cancelled().unwrap();
    });
}

#[test]
fn a_child_that_has_fallen_behind_is_told_by_its_next_sleep() {
    in_fiber_of_each(|| {
        let sleeps: [fn(Instant) -> Result<(), Cancelled>; 2] = [sleep_until, |_| sleep(Duration::ZERO)];
        for sleep in sleeps {
            let (beats, long_ago) = (AtomicUsize::new(0), Instant::now());
            let done: Sure<()> = nursery(|n| {
                n.spawn(|| {
                    let ended = loop {
                        match sleep(long_ago) {
                            Ok(()) => beats.fetch_add(1, Ordering::Relaxed),
                            Err(cancelled) => break cancelled,
                        };
                    };
                    assert_eq!(ended.cause, Cause::Request);
                });
                until(|| beats.load(Ordering::Relaxed) > 0);
                n.cancel();
                Ok(())
            });
            done.unwrap();
        }
    });
}

#[test]
fn a_child_cancels_its_nursery() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = nursery(|n| {
            sleepers.spawn_into(n);
            n.spawn(move || n.cancel());
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn the_token_of_a_nursery_tells_and_cancels() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = nursery(|n| {
            sleepers.spawn_into(n);
            let token = n.token();
            assert!(!token.is_cancelled());
            // Shielded: the body is cancelled together with the children.
            sisal::shield(|| spawn(move || token.cancel()).join()).unwrap();
            assert!(n.is_cancelled());
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_one_child_leaves_the_others_alone() {
    in_fiber_of_each(|| {
        let (started, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let gate = Gate::closed();
        let done: Sure<()> = nursery(|n| {
            let child = n.spawn(|| {
                started.fetch_add(1, Ordering::Relaxed);
                if cause(sleep(LONG)) == Some(Cause::Request) {
                    told.fetch_add(1, Ordering::Relaxed);
                }
            });
            let way = gate.way();
            let other = n.spawn(move || way.pass().unwrap());
            until(|| started.load(Ordering::Relaxed) == 1);
            child.cancel();
            child.wait().unwrap();
            assert!(!n.is_cancelled() && !other.is_finished());
            gate.open();
            other.wait().unwrap();
            Ok(())
        });
        done.unwrap();
        assert_eq!(told.into_inner(), 1);
    });
}

#[test]
fn a_wait_for_a_child_is_cancelled_and_the_child_is_still_waited_for() {
    in_fiber_of_each(|| {
        let (may_end, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let done: Sure<()> = nursery(|n| {
            let child = n.spawn(|| {
                until(|| may_end.load(Ordering::Relaxed));
                has_ended.store(true, Ordering::Relaxed);
            });
            assert_eq!(cause(timeout(SHORT, || child.wait())), Some(Cause::Deadline));
            may_end.store(true, Ordering::Relaxed);
            Ok(())
        });
        done.unwrap();
        assert!(has_ended.into_inner());
    });
}

#[test]
fn children_spawned_after_the_end_was_asked_for_do_not_wait() {
    in_fiber_of_each(|| {
        let (ran, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let done: Sure<()> = nursery(|n| {
            n.cancel();
            for _ in 0..20 {
                n.spawn(|| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    if cause(sleep(LONG)) == Some(Cause::Request) {
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            Ok(())
        });
        done.unwrap();
        assert_eq!(ran.into_inner(), told.into_inner());
    });
}

#[test]
fn the_end_of_a_nursery_is_not_cancelled() {
    in_fiber_of_each(|| {
        let (may_end, has_ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (may, has) = (Arc::clone(&may_end), Arc::clone(&has_ended));
        let has_started = Arc::new(AtomicBool::new(false));
        let started = Arc::clone(&has_started);
        let fiber = spawn(move || {
            let done: Sure<()> = nursery(|n| {
                n.spawn(|| {
                    started.store(true, Ordering::Relaxed);
                    until(|| may.load(Ordering::Relaxed));
                    has.store(true, Ordering::Relaxed);
                });
                Ok(())
            });
            done.unwrap();
            has.load(Ordering::Relaxed)
        });
        until(|| has_started.load(Ordering::Relaxed));
        fiber.cancel();
        settle();
        assert!(!fiber.is_finished());
        may_end.store(true, Ordering::Relaxed);
        assert!(fiber.join().unwrap());
    });
}

#[test]
fn a_deadline_ends_the_waits_inside() {
    in_fiber_of_each(|| {
        for is_instant in [false, true] {
            with_enough_time(|time| {
                let sleepers = Sleepers::expecting(Cause::Deadline);
                let start = Instant::now();
                let options = Nursery::options();
                let options = if is_instant { options.deadline(start + time) } else { options.timeout(time) };
                let body = options.run(|n| {
                    for _ in 0..Sleepers::COUNT {
                        n.spawn(|| sleepers.sleep());
                    }
                    Ok::<_, Infallible>((cause(sleep(LONG)), n.is_cancelled()))
                });
                assert_eq!(body, Ok((Some(Cause::Deadline), true)));
                assert!(start.elapsed() >= time);
                sleepers.all_started_were_told() == Sleepers::COUNT
            });
        }
        check_cancelled().unwrap();
    });
}

#[test]
fn a_deadline_that_is_not_reached_cancels_nothing() {
    in_fiber_of_each(|| {
        let value = Nursery::options().timeout(LONG).run(|n| {
            n.spawn(|| sleep(Duration::from_micros(50)).unwrap());
            sleep(Duration::from_micros(50)).unwrap();
            Ok::<_, Infallible>(n.is_cancelled())
        });
        assert_eq!(value, Ok(false));
    });
}

#[test]
fn a_thread_outside_cancels_its_nursery() {
    guarded(|| {
        let runtime = background(2);
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = runtime.handle().nursery(|n| {
            sleepers.spawn_into(n);
            n.cancel();
            assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = runtime.handle().nursery(|n| {
            sleepers.spawn_into(n);
            let token = n.token();
            thread::spawn(move || token.cancel());
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
        shut_down(runtime);
    });
}
