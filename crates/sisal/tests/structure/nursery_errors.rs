//! Errors and panics in nurseries: the first ends the others, all are waited for, and the caller learns of it.

use crate::common::waits::cause;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down, until};
use sisal::{Cause, JoinError, Nursery, nursery, sleep, spawn, yield_now};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The text that `call` panics with.
fn panic_of<T>(call: impl FnOnce() -> T) -> String {
    let payload: Box<dyn Any + Send> = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or(payload.downcast_ref::<String>().cloned()).expect("a text")
}

/// A child that has started, and counts how its sleep ended.
struct Sleepers {
    started: AtomicUsize,
    failed: AtomicUsize,
}

impl Sleepers {
    const COUNT: usize = 4;

    fn new() -> Sleepers {
        Sleepers { started: AtomicUsize::new(0), failed: AtomicUsize::new(0) }
    }

    fn spawn_into<'scope, E: Send>(&'scope self, n: &'scope Nursery<'scope, '_, E>) {
        for _ in 0..Sleepers::COUNT {
            n.spawn(|| {
                self.started.fetch_add(1, Ordering::Relaxed);
                assert_eq!(cause(sleep(LONG)), Some(Cause::Failure));
                yield_now();
                self.failed.fetch_add(1, Ordering::Relaxed);
            });
        }
        until(|| self.started.load(Ordering::Relaxed) == Sleepers::COUNT);
    }

    /// Checks that all have seen the failure, and have ended.
    fn saw_the_failure(&self) {
        assert_eq!(self.failed.load(Ordering::Relaxed), Sleepers::COUNT);
    }
}

#[test]
fn the_error_of_a_child_cancels_the_others_and_is_returned() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let result: Result<(), String> = nursery(|n| {
            sleepers.spawn_into(n);
            n.spawn(|| Err::<(), _>(String::from("lost")));
            assert_eq!(cause(sleep(LONG)), Some(Cause::Failure), "the body is told too");
            Ok(())
        });
        assert_eq!(result, Err("lost".into()));
        sleepers.saw_the_failure();
    });
}

#[test]
fn the_error_of_the_body_cancels_the_children_and_is_returned() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let result: Result<(), &str> = nursery(|n| {
            sleepers.spawn_into(n);
            Err("tired")
        });
        assert_eq!(result, Err("tired"));
        sleepers.saw_the_failure();
    });
}

#[test]
fn of_several_errors_the_first_is_returned() {
    in_fiber_of_each(|| {
        let sleepers = AtomicUsize::new(0);
        let result: Result<(), u32> = nursery(|n| {
            for number in 10..15 {
                let sleepers = &sleepers;
                n.spawn(move || {
                    sleepers.fetch_add(1, Ordering::Relaxed);
                    match cause(sleep(LONG)) {
                        Some(Cause::Failure) => Err(number),
                        _ => Ok(()),
                    }
                });
            }
            until(|| sleepers.load(Ordering::Relaxed) == 5);
            let first = n.spawn(|| Err::<(), _>(1));
            let _ = first.wait();
            Err(2)
        });
        assert_eq!(result, Err(1));
    });
}

#[test]
fn a_child_that_succeeds_with_a_result_cancels_nobody() {
    in_fiber_of_each(|| {
        let result: Result<u32, String> = nursery(|n| {
            let child = n.spawn(|| Ok(()));
            child.wait().unwrap();
            sleep(Duration::from_micros(50)).unwrap();
            assert!(!n.is_cancelled());
            Ok(7)
        });
        assert_eq!(result, Ok(7));
    });
}

#[test]
fn the_panic_of_a_child_cancels_the_others_and_goes_on_in_the_caller() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let text = panic_of(|| {
            nursery(|n| {
                sleepers.spawn_into(n);
                n.spawn(|| assert!(std::hint::black_box(false), "on purpose: child {}", 7));
                assert_eq!(cause(sleep(LONG)), Some(Cause::Failure));
                Ok::<_, ()>(())
            })
        });
        assert_eq!(text, "on purpose: child 7");
        sleepers.saw_the_failure();
    });
}

#[test]
fn the_panic_of_the_body_cancels_the_children_and_goes_on() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let text = panic_of(|| {
            nursery(|n| -> Result<(), ()> {
                sleepers.spawn_into(n);
                panic!("on purpose: body")
            })
        });
        assert_eq!(text, "on purpose: body");
        sleepers.saw_the_failure();
    });
}

#[test]
fn of_several_panics_one_goes_on_after_all_have_ended() {
    in_fiber_of_each(|| {
        let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let text = panic_of(|| {
            nursery(|n| {
                for _ in 0..10 {
                    n.spawn(|| {
                        // Those that had not started when the first one panics would not start any more.
                        started.fetch_add(1, Ordering::Relaxed);
                        until(|| started.load(Ordering::Relaxed) == 10);
                        ended.fetch_add(1, Ordering::Relaxed);
                        assert!(std::hint::black_box(false), "on purpose: one of ten");
                    });
                }
                Ok::<_, ()>(())
            })
        });
        assert_eq!(text, "on purpose: one of ten");
        assert_eq!(ended.into_inner(), 10);
    });
}

#[test]
fn a_panic_passes_through_nested_nurseries_to_the_outermost_caller() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let text = panic_of(|| {
            nursery(|outer| {
                sleepers.spawn_into(outer);
                outer.spawn(|| {
                    let inner = nursery(|inner| {
                        inner.spawn(|| assert!(std::hint::black_box(false), "on purpose: deep"));
                        Ok::<_, ()>(())
                    });
                    inner.unwrap();
                });
                Ok::<_, ()>(())
            })
        });
        assert_eq!(text, "on purpose: deep");
        sleepers.saw_the_failure();
    });
}

#[test]
fn a_failure_stays_inside_the_nursery_that_it_failed() {
    in_fiber_of_each(|| {
        let result: Result<u32, ()> = nursery(|outer| {
            let inner: Result<(), &str> = nursery(|inner| {
                inner.spawn(|| Err::<(), _>("inner"));
                Ok(())
            });
            assert_eq!(inner, Err("inner"));
            sleep(Duration::from_micros(50)).unwrap();
            assert!(!outer.is_cancelled());
            outer.spawn(|| sleep(Duration::from_micros(50)).unwrap());
            Ok(7)
        });
        assert_eq!(result, Ok(7));
    });
}

#[test]
fn a_failure_reaches_the_nurseries_inside() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::new();
        let result: Result<(), &str> = nursery(|outer| {
            outer.spawn(|| {
                let inner: Result<(), &str> = nursery(|inner| {
                    sleepers.spawn_into(inner);
                    Ok(())
                });
                inner
            });
            until(|| sleepers.started.load(Ordering::Relaxed) == Sleepers::COUNT);
            Err("outer")
        });
        assert_eq!(result, Err("outer"));
        sleepers.saw_the_failure();
    });
}

#[test]
fn collecting_all_cancels_nobody_and_returns_every_error_in_its_order() {
    in_fiber_of_each(|| {
        let (turn, slept) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        let result: Result<(), Vec<usize>> = Nursery::options().run_all(|n| {
            let (turn, slept) = (&turn, &slept);
            let failing = [0, 1, 2, 3].map(|number| {
                n.spawn(move || {
                    until(|| turn.load(Ordering::Relaxed) == number);
                    Err::<(), _>(number)
                })
            });
            for _ in 0..3 {
                n.spawn(move || {
                    sleep(Duration::from_millis(1)).unwrap();
                    slept.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                });
            }
            for number in [2, 0, 3, 1] {
                turn.store(number, Ordering::Relaxed);
                failing[number].wait().unwrap();
            }
            assert!(!n.is_cancelled());
            Ok(())
        });
        assert_eq!(result, Err(vec![2, 0, 3, 1]));
        assert_eq!(slept.into_inner(), 3);
    });
}

#[test]
fn collecting_all_without_an_error_returns_the_value() {
    in_fiber_of_each(|| {
        let result: Result<u32, Vec<()>> = Nursery::options().run_all(|n| {
            n.spawn(|| ());
            n.spawn(|| Ok(()));
            Ok(7)
        });
        assert_eq!(result, Ok(7));
    });
}

#[test]
fn collecting_all_returns_the_error_of_the_body_too() {
    in_fiber_of_each(|| {
        let result: Result<(), Vec<&str>> = Nursery::options().run_all(|n| {
            let child = n.spawn(|| Err::<(), _>("child"));
            child.wait().unwrap();
            Err("body")
        });
        assert_eq!(result, Err(vec!["child", "body"]));
    });
}

#[test]
fn without_cancelling_the_first_error_is_returned_after_all_have_done_their_work() {
    in_fiber_of_each(|| {
        let worked = AtomicUsize::new(0);
        let result: Result<(), &str> = Nursery::options().collect_all().run(|n| {
            let failing = n.spawn(|| Err::<(), _>("first"));
            failing.wait().unwrap();
            for _ in 0..5 {
                n.spawn(|| {
                    sleep(Duration::from_micros(100)).unwrap();
                    worked.fetch_add(1, Ordering::Relaxed);
                    Err::<(), _>("later")
                });
            }
            Ok(())
        });
        assert_eq!(result, Err("first"));
        assert_eq!(worked.into_inner(), 5);
    });
}

#[test]
fn a_panic_ends_a_nursery_that_collects_all() {
    in_fiber_of_each(|| {
        let ended = AtomicUsize::new(0);
        let text = panic_of(|| {
            Nursery::options().run_all(|n| {
                n.spawn(|| {
                    let _ = sleep(Duration::from_millis(1));
                    ended.fetch_add(1, Ordering::Relaxed);
                });
                until(|| ended.load(Ordering::Relaxed) == 1);
                n.spawn(|| assert!(std::hint::black_box(false), "on purpose: collected"));
                Ok::<_, ()>(())
            })
        });
        assert_eq!(text, "on purpose: collected");
        assert_eq!(ended.into_inner(), 1);
    });
}

#[test]
fn threads_outside_get_errors_and_panics() {
    guarded(|| {
        let runtime = background(2);
        let sleepers = Sleepers::new();
        let result: Result<(), &str> = runtime.handle().nursery(|n| {
            sleepers.spawn_into(n);
            n.spawn(|| Err::<(), _>("lost"));
            assert_eq!(cause(sleep(LONG)), Some(Cause::Failure), "also in the thread");
            Ok(())
        });
        assert_eq!(result, Err("lost"));
        sleepers.saw_the_failure();
        let sleepers = Sleepers::new();
        let text = panic_of(|| {
            runtime.handle().nursery(|n| {
                sleepers.spawn_into(n);
                n.spawn(|| assert!(std::hint::black_box(false), "on purpose: far"));
                Ok::<_, ()>(())
            })
        });
        assert_eq!(text, "on purpose: far");
        sleepers.saw_the_failure();
        sleep(Duration::from_micros(50)).unwrap();
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_whose_nursery_panics_ends_in_that_panic() {
    in_fiber_of_each(|| {
        let fiber = spawn(|| {
            nursery(|n| {
                n.spawn(|| assert!(std::hint::black_box(false), "on purpose: child"));
                Ok::<_, ()>(())
            })
        });
        match fiber.join() {
            Err(JoinError::Panicked(panic)) => assert_eq!(panic.message(), "on purpose: child"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_child_that_fails_has_ended_before_its_error_is_seen() {
    struct SetOnDrop<'a>(&'a AtomicBool);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            yield_now();
            self.0.store(true, Ordering::Relaxed);
        }
    }
    in_fiber_of_each(|| {
        let is_dropped = AtomicBool::new(false);
        let result: Result<(), ()> = nursery(|n| {
            n.spawn(|| {
                let _set = SetOnDrop(&is_dropped);
                Err::<(), _>(())
            });
            Ok(())
        });
        assert_eq!((result, is_dropped.into_inner()), (Err(()), true));
    });
}

/// Counts by a child that borrows, in a nursery whose errors may be of anything that lives as long.
fn count<'a, E: Send + 'a>(words: &[String], error: impl FnOnce() -> E + Send) -> Result<usize, E> {
    nursery(|n| {
        let count = n.spawn(|| if words.is_empty() { Err(error()) } else { Ok(words.len()) });
        Ok(count.join().unwrap_or_default())
    })
}

#[test]
fn children_borrow_whatever_lifetimes_are_in_the_errors() {
    fn boxed(words: &[String]) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
        nursery(|n| {
            let count = n.spawn(|| Ok(words.len()));
            Ok(count.join()?)
        })
    }
    fn fixed(words: &[String]) -> Result<usize, &'static str> {
        nursery(|n| {
            n.spawn(|| if words.is_empty() { Err("none") } else { Ok(()) });
            Ok(words.len())
        })
    }
    in_fiber_of_each(|| {
        let words = ["plain", "code"].map(str::to_owned);
        assert_eq!((boxed(&words).unwrap(), fixed(&words), fixed(&[])), (2, Ok(2), Err("none")));
        let named = String::from("none of them");
        assert_eq!(count(&words, || named.as_str()), Ok(2));
        assert_eq!(count(&[], || named.as_str()), Err("none of them"));
    });
}
