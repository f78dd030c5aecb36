//! Storms of nurseries: many, deep, and cancelled at every moment. Whatever was started has ended.

use crate::common::waits::cause;
use crate::common::{LONG, background, in_main_fiber, rounds, shut_down, until, with_workers};
use sisal::chan::{RecvError, RecvTimeoutError, bounded};
use sisal::{Cause, Nursery, deadline, nursery, sleep, spawn, timeout, yield_now};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a nursery in which nothing fails.
type Sure<T> = Result<T, Infallible>;

/// Counts what starts and what ends.
#[derive(Default)]
struct Tally {
    started: AtomicUsize,
    finished: AtomicUsize,
}

impl Tally {
    fn count<T>(&self, body: impl FnOnce() -> T) -> T {
        self.started.fetch_add(1, Ordering::Relaxed);
        let value = body();
        self.finished.fetch_add(1, Ordering::Relaxed);
        value
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    /// Checks that all have ended, and says how many there were.
    fn all_ended(&self) -> usize {
        assert_eq!(self.started(), self.finished.load(Ordering::Relaxed));
        self.started()
    }
}

#[test]
fn spawning_into_a_nursery_that_is_being_cancelled() {
    const SPAWNERS: usize = 4;
    const EACH: usize = 1_000;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(50) {
                let (tally, alive) = (Tally::default(), Arc::new(()));
                let done: Sure<()> = nursery(|n| {
                    let tally = &tally;
                    for _ in 0..SPAWNERS {
                        let alive = Arc::clone(&alive);
                        n.spawn(move || {
                            for number in 0..EACH {
                                let alive = Arc::clone(&alive);
                                n.spawn(move || {
                                    let _alive = alive;
                                    tally.count(|| match number % 3 {
                                        0 => assert_eq!(cause(sleep(LONG)), Some(Cause::Request)),
                                        1 => yield_now(),
                                        _ => (),
                                    });
                                });
                                if number % 32 == 0 {
                                    yield_now();
                                }
                            }
                        });
                    }
                    // From before the first spawn to somewhere in the middle of them all.
                    let enough = round * 40;
                    until(|| tally.started() >= enough);
                    n.cancel();
                    Ok(())
                });
                done.unwrap();
                assert!(tally.all_ended() <= SPAWNERS * EACH);
                assert_eq!(Arc::strong_count(&alive), 1, "started or not, what they owned is dropped");
            }
        });
    });
}

#[test]
fn a_nursery_that_is_cancelled_from_outside_while_it_spawns() {
    with_workers(|workers| {
        let runtime = background(workers);
        for _ in 0..rounds(500) {
            let tally = Tally::default();
            let done: Sure<()> = runtime.handle().nursery(|n| {
                let token = n.token();
                let canceller = thread::spawn(move || token.cancel());
                for _ in 0..20 {
                    n.spawn(|| tally.count(|| assert_eq!(cause(sleep(LONG)), Some(Cause::Request))));
                }
                canceller.join().unwrap();
                Ok(())
            });
            done.unwrap();
            tally.all_ended();
        }
        shut_down(runtime);
    });
}

/// Three fibers of which each waits for the one before: none can ever go on.
fn ring(wait: impl Fn(&sisal::chan::Receiver<()>) + Send + Sync) {
    let channels = [(); 3].map(|()| bounded::<()>(0));
    let wait = &wait;
    let done: Sure<()> = nursery(|n| {
        for number in 0..3 {
            let (receive, send) = (channels[number].1.clone(), channels[(number + 1) % 3].0.clone());
            n.spawn(move || {
                wait(&receive);
                drop(send);
            });
        }
        Ok(())
    });
    done.unwrap();
}

#[test]
fn rings_of_three_that_wait_for_each_other_all_time_out() {
    const TIME: Duration = Duration::from_millis(10);
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let rings = (0..rounds(300)).map(|number| {
                spawn(move || match number % 3 {
                    0 => ring(|receive| {
                        let received = timeout(TIME, || receive.recv());
                        assert!(matches!(received, Err(RecvError::Cancelled(c)) if c.cause == Cause::Deadline));
                    }),
                    1 => ring(|receive| assert_eq!(receive.recv_timeout(TIME), Err(RecvTimeoutError::TimedOut))),
                    _ => deadline(Instant::now() + TIME, || {
                        // All inherit the same moment.
                        ring(|receive| {
                            let received = receive.recv();
                            assert!(matches!(received, Err(RecvError::Cancelled(c)) if c.cause == Cause::Deadline));
                        });
                    }),
                })
            });
            sisal::join_all(rings).into_iter().for_each(Result::unwrap);
        });
    });
}

/// Nurseries inside each other, as deep as told: those of even depth in a child, the others in the body.
fn nest(depth: usize, leaf: &(impl Fn() + Sync)) {
    if depth == 0 {
        return leaf();
    }
    let done: Sure<()> = nursery(|n| {
        if depth.is_multiple_of(2) {
            n.spawn(|| nest(depth - 1, leaf));
        } else {
            n.spawn(|| ());
            nest(depth - 1, leaf);
        }
        Ok(())
    });
    done.unwrap();
}

#[test]
fn nurseries_thirty_deep() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let leaves = AtomicUsize::new(0);
            for _ in 0..rounds(200) {
                nest(30, &|| {
                    leaves.fetch_add(1, Ordering::Relaxed);
                });
            }
            assert_eq!(leaves.into_inner(), rounds(200));
        });
    });
}

#[test]
fn nurseries_thirty_deep_that_are_cancelled_at_the_top() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(200) {
                let tally = Tally::default();
                let done: Sure<()> = nursery(|n| {
                    n.spawn(|| nest(30, &|| tally.count(|| assert_eq!(cause(sleep(LONG)), Some(Cause::Request)))));
                    until(|| tally.started() == 1);
                    n.cancel();
                    Ok(())
                });
                done.unwrap();
                assert_eq!(tally.all_ended(), 1);
            }
        });
    });
}

#[test]
fn ten_thousand_nurseries_one_after_the_other_and_many_at_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let ran = Arc::new(AtomicUsize::new(0));
            let one = |ran: &AtomicUsize| {
                let done: Sure<()> = nursery(|n| {
                    n.spawn(|| {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                    n.spawn(|| {
                        yield_now();
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                    Ok(())
                });
                done.unwrap();
            };
            (0..rounds(10_000)).for_each(|_| one(&ran));
            let many = (0..100).map(|_| {
                let ran = Arc::clone(&ran);
                spawn(move || (0..rounds(100)).for_each(|_| one(&ran)))
            });
            sisal::join_all(many).into_iter().for_each(Result::unwrap);
            assert_eq!(ran.load(Ordering::Relaxed), 2 * (rounds(10_000) + 100 * rounds(100)));
        });
    });
}

#[test]
fn errors_that_come_together_return_one_after_all_have_ended() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_000) {
                let tally = Tally::default();
                let failed: Result<(), usize> = nursery(|n| {
                    for number in 0..16 {
                        let tally = &tally;
                        n.spawn(move || {
                            tally.count(|| {
                                if number == 15 || (number + round).is_multiple_of(5) {
                                    Err(number)
                                } else {
                                    let _ = sleep(LONG);
                                    Ok(())
                                }
                            })
                        });
                    }
                    Ok(())
                });
                let failed = failed.unwrap_err();
                assert!(failed == 15 || (failed + round).is_multiple_of(5));
                tally.all_ended();
            }
        });
    });
}

#[test]
fn panics_that_come_together_go_on_once_all_have_ended() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(300) {
                let (started, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    nursery(|n| {
                        for number in 0..8 {
                            let (started, dropped) = (&started, &dropped);
                            n.spawn(move || {
                                started.fetch_add(1, Ordering::Relaxed);
                                let _count = OnDrop(|| {
                                    dropped.fetch_add(1, Ordering::Relaxed);
                                });
                                if number % 2 == 0 {
                                    let _ = sleep(LONG);
                                }
                                assert!(number % 4 == 2, "on purpose");
                            });
                        }
                        Ok::<_, ()>(())
                    })
                }));
                assert!(panicked.is_err());
                assert_eq!(started.into_inner(), dropped.into_inner());
            }
        });
    });
}

/// Calls its closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn limits_that_pass_while_children_are_spawned() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_000) as u64 {
                let tally = Tally::default();
                let options = Nursery::options().timeout(Duration::from_micros(round % 200));
                let done: Sure<()> = options.run(|n| {
                    for _ in 0..10 {
                        n.spawn(|| tally.count(|| assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline))));
                        yield_now();
                    }
                    Ok(())
                });
                done.unwrap();
                tally.all_ended();
            }
        });
    });
}
