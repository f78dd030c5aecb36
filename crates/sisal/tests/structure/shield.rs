//! The shield: no end from outside reaches the waits inside it, and all of them reach those after it.

use crate::common::waits::{cause, in_fibers_and_a_thread};
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down, until, with_workers};
use sisal::chan::bounded;
use sisal::{CancelToken, Cause, check_cancelled, deadline, nursery, shield, sleep, spawn, timeout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn it_returns_what_the_closure_returns() {
    in_fibers_and_a_thread(|| {
        assert_eq!(shield(|| 7), 7);
        assert_eq!(shield(|| shield(|| String::from("deep"))), "deep");
    });
}

#[test]
fn a_limit_around_it_does_not_reach_inside_and_reaches_what_follows() {
    in_fibers_and_a_thread(|| {
        deadline(Instant::now(), || {
            assert!(check_cancelled().is_err());
            shield(|| {
                check_cancelled().unwrap();
                let start = Instant::now();
                sleep(SHORT).unwrap();
                assert!(start.elapsed() >= SHORT);
            });
            assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline));
        });
    });
}

#[test]
fn a_limit_that_passes_while_inside_is_seen_afterwards() {
    in_fibers_and_a_thread(|| {
        timeout(SHORT, || {
            shield(|| sleep(SHORT * 3)).unwrap();
            assert_eq!(cause(check_cancelled()), Some(Cause::Deadline));
        });
    });
}

#[test]
fn a_limit_inside_works() {
    in_fibers_and_a_thread(|| {
        deadline(Instant::now(), || {
            shield(|| {
                assert_eq!(cause(timeout(SHORT, || sleep(LONG))), Some(Cause::Deadline));
                sleep(SHORT).unwrap();
            });
        });
    });
}

#[test]
fn a_shield_within_a_limit_within_a_shield_masks_both() {
    in_fibers_and_a_thread(|| {
        deadline(Instant::now(), || {
            shield(|| {
                deadline(Instant::now(), || {
                    shield(|| sleep(SHORT)).unwrap();
                    assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline));
                });
                sleep(SHORT).unwrap();
            });
        });
    });
}

#[test]
fn a_token_around_it_does_not_reach_inside() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        token.run(|| {
            token.cancel();
            assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
            shield(|| sleep(SHORT)).unwrap();
            assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
        });
    });
}

#[test]
fn a_token_inside_works() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        shield(|| {
            token.run(|| {
                token.cancel();
                assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
            });
        });
    });
}

#[test]
fn a_cancelled_fiber_goes_on_inside_and_ends_after() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u8>(0);
        let is_inside = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_inside);
        let fiber = spawn(move || {
            let received = shield(|| {
                flag.store(true, Ordering::Relaxed);
                receive.recv()
            });
            (received, cause(sleep(LONG)))
        });
        until(|| is_inside.load(Ordering::Relaxed));
        fiber.cancel();
        send.send(7).unwrap();
        let (received, slept) = fiber.join().unwrap();
        assert_eq!((received, slept), (Ok(7), Some(Cause::Request)));
    });
}

#[test]
fn the_end_of_the_runtime_waits_for_it() {
    guarded(|| {
        let runtime = background(2);
        let is_inside = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_inside);
        let fiber = runtime.spawn(move || {
            let slept = shield(|| {
                flag.store(true, Ordering::Relaxed);
                until(|| sisal::spawn(|| ()).join().is_err());
                sleep(SHORT)
            });
            (cause(slept), cause(sleep(LONG)))
        });
        until(|| is_inside.load(Ordering::Relaxed));
        shut_down(runtime);
        assert_eq!(fiber.join().unwrap(), (None, Some(Cause::Shutdown)));
    });
}

#[test]
fn a_wait_in_a_destructor_while_unwinding_is_not_cancelled_inside() {
    struct WaitOnDrop<'a>(&'a mut Vec<Option<Cause>>);
    impl Drop for WaitOnDrop<'_> {
        fn drop(&mut self) {
            self.0.push(cause(sleep(SHORT)));
            self.0.push(cause(shield(|| sleep(SHORT))));
        }
    }
    in_fiber_of_each(|| {
        let mut causes = Vec::new();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _waits = WaitOnDrop(&mut causes);
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(causes, [Some(Cause::Unwinding), None]);
    });
}

#[test]
fn a_panic_takes_the_shield_along() {
    in_fibers_and_a_thread(|| {
        deadline(Instant::now(), || {
            assert!(catch_unwind(|| shield(|| panic!("on purpose"))).is_err());
            assert_eq!(cause(sleep(LONG)), Some(Cause::Deadline));
        });
        check_cancelled().unwrap();
    });
}

#[test]
fn the_children_of_a_nursery_inside_are_shielded_too() {
    in_fiber_of_each(|| {
        let slept = AtomicUsize::new(0);
        deadline(Instant::now(), || {
            shield(|| {
                nursery(|n| {
                    for _ in 0..4 {
                        n.spawn(|| {
                            sleep(SHORT).unwrap();
                            slept.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    Ok::<_, ()>(())
                })
            })
        })
        .unwrap();
        assert_eq!(slept.into_inner(), 4);
    });
}

#[test]
fn the_children_of_a_nursery_inside_run_and_wait_while_the_runtime_stops() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        let done = runtime.spawn(move || {
            handle.request_stop();
            let slept = AtomicUsize::new(0);
            let nap = || {
                sleep(SHORT).unwrap();
                slept.fetch_add(1, Ordering::Relaxed);
            };
            shield(|| {
                nursery(|n| {
                    n.spawn(nap);
                    n.spawn(|| {
                        nursery(|deeper| {
                            deeper.spawn(|| timeout(LONG, nap));
                            Ok::<_, ()>(())
                        })
                    });
                    Ok::<_, ()>(())
                })
            })
            .unwrap();
            slept.into_inner()
        });
        assert_eq!(done.join().unwrap(), 2);
        shut_down(runtime);
    });
}

#[test]
fn a_nursery_of_a_runtime_that_has_ended_has_no_children_even_inside() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        shut_down(runtime);
        let ran = AtomicBool::new(false);
        shield(|| {
            handle.nursery(|n| {
                n.spawn(|| ran.store(true, Ordering::Relaxed));
                Ok::<_, ()>(())
            })
        })
        .unwrap();
        assert!(!ran.into_inner());
    });
}

#[test]
fn a_nursery_inside_still_cancels_its_children_and_its_body() {
    in_fiber_of_each(|| {
        let (has_started, cancelled) = (AtomicBool::new(false), AtomicUsize::new(0));
        shield(|| {
            nursery(|n| {
                n.spawn(|| {
                    has_started.store(true, Ordering::Relaxed);
                    assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
                    cancelled.fetch_add(1, Ordering::Relaxed);
                });
                until(|| has_started.load(Ordering::Relaxed));
                n.cancel();
                assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
                Ok::<_, ()>(())
            })
        })
        .unwrap();
        assert_eq!(cancelled.into_inner(), 1);
    });
}
