//! Nurseries that are cancelled: by request, by a deadline, by what is around them.

use crate::common::gate::Gate;
use crate::common::places::settle;
use crate::common::waits::cause;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down, until};
use sisal::chan::{RecvError, bounded};
use sisal::{CancelToken, Cause, Nursery, check_cancelled, nursery, sleep, spawn, timeout, yield_now};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a nursery in which nothing fails.
type Sure<T> = Result<T, Infallible>;

const SHORT: Duration = Duration::from_millis(2);

/// Children that have started, and count the ends of their waits that had the cause they should.
struct Sleepers {
    expected: Cause,
    started: AtomicUsize,
    ended: AtomicUsize,
}

impl Sleepers {
    const COUNT: usize = 4;

    fn expecting(expected: Cause) -> Sleepers {
        Sleepers { expected, started: AtomicUsize::new(0), ended: AtomicUsize::new(0) }
    }

    fn spawn_into<'scope>(&'scope self, n: &'scope Nursery<'scope, '_, Infallible>) {
        for _ in 0..Sleepers::COUNT {
            n.spawn(|| self.sleep());
        }
        until(|| self.started.load(Ordering::Relaxed) == Sleepers::COUNT);
    }

    fn sleep(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        assert_eq!(cause(sleep(LONG)), Some(self.expected));
        assert_eq!(cause(sleep(LONG)), Some(self.expected), "and again");
        yield_now();
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that all have been told, and have ended.
    fn were_told(&self) {
        assert_eq!(self.all_started_were_told(), Sleepers::COUNT);
    }

    /// Checks it of those that were started, and says how many that were.
    fn all_started_were_told(&self) -> usize {
        let (started, ended) = (self.started.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
        assert_eq!(started, ended);
        started
    }
}

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

/// Tries with more and more time, until it was long enough for what is to start in it.
fn with_enough_time(attempt: impl Fn(Duration) -> bool) {
    let mut time = SHORT;
    while !attempt(time) {
        time *= 2;
    }
}

#[test]
fn children_inherit_the_limit_around_the_nursery() {
    in_fiber_of_each(|| {
        with_enough_time(|time| {
            let sleepers = Sleepers::expecting(Cause::Deadline);
            let body = timeout(time, || {
                nursery(|n| {
                    for _ in 0..Sleepers::COUNT {
                        n.spawn(|| sleepers.sleep());
                    }
                    Ok::<_, Infallible>(cause(sleep(LONG)))
                })
            });
            assert_eq!(body, Ok(Some(Cause::Deadline)));
            sleepers.all_started_were_told() == Sleepers::COUNT
        });
    });
}

#[test]
fn grandchildren_inherit_the_limit_too() {
    in_fiber_of_each(|| {
        with_enough_time(|time| {
            let sleepers = Sleepers::expecting(Cause::Deadline);
            let spawn_all = || {
                let inner: Sure<()> = nursery(|inner| {
                    for _ in 0..Sleepers::COUNT {
                        inner.spawn(|| sleepers.sleep());
                    }
                    Ok(())
                });
                inner.unwrap();
            };
            let outer: Sure<()> = timeout(time, || {
                nursery(|outer| {
                    outer.spawn(spawn_all);
                    Ok(())
                })
            });
            outer.unwrap();
            sleepers.all_started_were_told() == Sleepers::COUNT
        });
    });
}

#[test]
fn children_inherit_the_token_around_the_nursery() {
    in_fiber_of_each(|| {
        let (token, sleepers) = (CancelToken::new(), Sleepers::expecting(Cause::Request));
        let done = token.run(|| {
            nursery(|n| {
                sleepers.spawn_into(n);
                token.cancel();
                Ok::<_, Infallible>(())
            })
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_the_outer_nursery_ends_the_children_of_the_inner() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = nursery(|outer| {
            outer.spawn(|| {
                let inner: Sure<()> = nursery(|inner| {
                    sleepers.spawn_into(inner);
                    assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
                    Ok(())
                });
                inner.unwrap();
            });
            until(|| sleepers.started.load(Ordering::Relaxed) == Sleepers::COUNT);
            outer.cancel();
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_the_inner_nursery_leaves_the_outer_alone() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let done: Sure<()> = nursery(|outer| {
            let way = gate.way();
            let sibling = outer.spawn(move || way.pass().unwrap());
            let sleepers = Sleepers::expecting(Cause::Request);
            let inner: Sure<()> = nursery(|inner| {
                sleepers.spawn_into(inner);
                inner.cancel();
                Ok(())
            });
            inner.unwrap();
            sleepers.were_told();
            assert!(!outer.is_cancelled() && !sibling.is_finished());
            sleep(Duration::from_micros(50)).unwrap();
            gate.open();
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn cancelling_the_fiber_that_has_the_nursery_ends_its_children() {
    in_fiber_of_each(|| {
        let sleepers = Arc::new(Sleepers::expecting(Cause::Request));
        let shared = Arc::clone(&sleepers);
        let fiber = spawn(move || {
            let done: Sure<()> = nursery(|n| {
                shared.spawn_into(n);
                Ok(())
            });
            done.unwrap();
        });
        until(|| sleepers.started.load(Ordering::Relaxed) == Sleepers::COUNT);
        fiber.cancel();
        fiber.join().unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_a_fiber_reaches_the_children_of_its_nursery_while_its_own_body_computes() {
    in_fiber_of_each(|| {
        let sleepers = Arc::new(Sleepers::expecting(Cause::Request));
        let shared = Arc::clone(&sleepers);
        let fiber = spawn(move || {
            let done: Sure<()> = nursery(|n| {
                shared.spawn_into(n);
                // It gives way, but never waits.
                until(|| shared.ended.load(Ordering::Relaxed) == Sleepers::COUNT);
                Ok(())
            });
            done.unwrap();
        });
        until(|| sleepers.started.load(Ordering::Relaxed) == Sleepers::COUNT);
        fiber.cancel();
        fiber.join().unwrap();
        sleepers.were_told();
    });
}

#[test]
fn the_end_of_the_runtime_ends_the_children() {
    guarded(|| {
        let runtime = background(2);
        let sleepers = Arc::new(Sleepers::expecting(Cause::Shutdown));
        let shared = Arc::clone(&sleepers);
        let fiber = runtime.spawn(move || {
            let done: Sure<()> = nursery(|n| {
                shared.spawn_into(n);
                Ok(())
            });
            done.unwrap();
        });
        until(|| sleepers.started.load(Ordering::Relaxed) == Sleepers::COUNT);
        shut_down(runtime);
        fiber.join().unwrap();
        sleepers.were_told();
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

#[test]
fn a_channel_is_closed_when_its_nursery_is_cancelled() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let sum = AtomicUsize::new(0);
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| {
                // Not by the cancellation, which it is shielded from, but by the end of the channel.
                let add = |number| {
                    sum.fetch_add(number as usize, Ordering::Relaxed);
                };
                sisal::shield(|| receive.iter().for_each(add));
                assert_eq!(receive.recv(), Err(RecvError::Closed));
            });
            (1..=4).for_each(|number| send.send(number).unwrap());
            until(|| sum.load(Ordering::Relaxed) == 10);
            assert!(!send.is_closed());
            n.cancel();
            until(|| send.is_closed());
            Ok(())
        });
        done.unwrap();
        assert!(send.send(5).is_err());
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_ends() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let reader = {
            let receive = receive.clone();
            spawn(move || receive.iter().sum::<u32>())
        };
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            for number in 0..10 {
                let send = send.clone();
                n.spawn(move || send.send(number).unwrap());
            }
            Ok(())
        });
        done.unwrap();
        assert!(send.is_closed() && receive.is_closed());
        assert_eq!(reader.join().unwrap(), 45);
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_fails() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let failed = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| Err("lost"));
            until(|| send.is_closed());
            Ok(())
        });
        assert_eq!(failed, Err("lost"));
        assert_eq!(receive.recv(), Err(RecvError::Closed));
    });
}
