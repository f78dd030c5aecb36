//! What a panic in a fiber does: it is caught, kept for the joiner, named, counted, and kills nobody.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{LONG, background, child, fixed, in_fiber_of_each, until};
use sisal::{Builder, Cause, Handle, JoinError, Panic, join_all, sleep, spawn, spawn_local, yield_now};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Calls its closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn panic_of<T>(result: Result<T, JoinError>) -> Panic {
    match result {
        Err(JoinError::Panicked(panic)) => panic,
        Err(error) => panic!("not a panic: {error}"),
        Ok(_) => panic!("not a panic"),
    }
}

/// A fiber that has panicked and stands in a destructor, giving way, until it is let go.
struct Unwinder {
    handle: Option<sisal::JoinHandle<()>>,
    may_end: Rc<Cell<bool>>,
}

impl Unwinder {
    /// On this worker, so that its thread counts a panic in progress from now on.
    fn suspended_here() -> Unwinder {
        let (may_end, is_unwinding) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let handle = {
            let (may_end, is_unwinding) = (Rc::clone(&may_end), Rc::clone(&is_unwinding));
            spawn_local(move || {
                let _guard = OnDrop(|| {
                    is_unwinding.set(true);
                    until(|| may_end.get());
                });
                panic!("on purpose");
            })
        };
        until(|| is_unwinding.get());
        assert!(std::thread::panicking(), "std tells of the thread, not of the fiber");
        Unwinder { handle: Some(handle), may_end }
    }

    fn let_go(mut self) {
        self.may_end.set(true);
        panic_of(self.handle.take().unwrap().join());
        assert!(!std::thread::panicking());
    }
}

impl Drop for Unwinder {
    fn drop(&mut self) {
        self.may_end.set(true);
    }
}

#[test]
fn the_joiner_gets_the_payload() {
    in_fiber_of_each(|| {
        let panic = panic_of(spawn(|| panic!("on purpose: {}", std::hint::black_box(7))).join());
        assert_eq!(panic.message(), "on purpose: 7");
        assert_eq!(panic.into_payload().downcast_ref::<String>().unwrap(), "on purpose: 7");
        let panic = panic_of(spawn(|| panic!("on purpose")).join());
        assert_eq!(panic.into_payload().downcast_ref::<&str>(), Some(&"on purpose"));
        let panic = panic_of(spawn(|| resume_unwind(Box::new(vec![1, 2, 3]))).join());
        assert_eq!(panic.message(), "(a value that is not text)");
        assert_eq!(panic.into_payload().downcast_ref::<Vec<i32>>().unwrap(), &[1, 2, 3]);
    });
}

#[test]
fn the_error_names_the_fiber_and_where_it_was_spawned() {
    in_fiber_of_each(|| {
        let handle = Builder::new().name("courier").spawn(|| panic!("on purpose: lost"));
        let (id, line) = (handle.id(), line!() - 1);
        let error = handle.join().unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("fiber 'courier' ({id}), spawned at ")), "{text}");
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
        assert!(text.ends_with(", panicked: on purpose: lost"), "{text}");
        let panic = panic_of::<()>(Err(error));
        assert_eq!((panic.fiber().name(), panic.fiber().id()), (Some("courier"), id));
        assert_eq!(panic.fiber().spawned_at().line(), line);
    });
}

#[test]
fn a_panic_resumed_by_the_joiner_goes_on_there() {
    in_fiber_of_each(|| {
        let outer = spawn(|| panic_of(spawn(|| panic!("on purpose: deep")).join()).resume());
        let panic = panic_of::<()>(outer.join());
        assert_eq!(panic.message(), "on purpose: deep");
    });
}

#[test]
fn threads_outside_get_the_panic_too() {
    guarded(|| {
        let runtime = background(2);
        assert_eq!(panic_of(runtime.spawn(|| panic!("on purpose")).join()).message(), "on purpose");
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.run(|| panic!("on purpose: through run"))));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose: through run"));
        assert_eq!(runtime.run(|| 1), 1, "the runtime goes on");
        common::shut_down(runtime);
    });
}

#[test]
fn a_panic_of_the_main_fiber_goes_on_after_the_runtime_has_ended() {
    guarded(|| {
        let ended = Arc::new(AtomicBool::new(false));
        let caught = catch_unwind(|| {
            let ended = Arc::clone(&ended);
            fixed(2).run(move || {
                drop(spawn(move || {
                    assert!(sleep(LONG).is_err());
                    ended.store(true, Ordering::Relaxed);
                }));
                yield_now();
                panic!("on purpose: main")
            })
        });
        let payload: Box<dyn Any + Send> = caught.map(|result: Result<(), _>| result.unwrap()).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose: main"));
        assert_eq!(Arc::strong_count(&ended), 1, "the other fiber has ended, started or not");
        assert!(!sisal::in_fiber());
    });
}

#[test]
fn every_waiter_of_a_shared_handle_gets_the_message() {
    in_fiber_of_each(|| {
        let shared = spawn(|| -> u32 {
            yield_now();
            panic!("on purpose: for all")
        });
        let shared = shared.shared();
        let waiters = (0..10).map(|_| {
            let shared = shared.clone();
            spawn(move || panic_of(shared.join()).message().to_owned())
        });
        assert!(join_all(waiters).into_iter().all(|message| message.unwrap() == "on purpose: for all"));
        assert_eq!(panic_of(shared.join()).message(), "on purpose: for all");
    });
}

#[test]
fn only_panics_that_nobody_can_see_are_counted_as_detached() {
    guarded(|| {
        let runtime = background(2);
        let (detach, is_detached) = mpsc::channel::<()>();
        let doomed = runtime.spawn(move || {
            is_detached.recv().unwrap();
            panic!("on purpose");
        });
        drop(doomed);
        detach.send(()).unwrap();
        panic_of(runtime.spawn(|| panic!("on purpose")).join());
        let handle = runtime.handle();
        until(|| handle.stats().finished == 2);
        let stats = handle.stats();
        assert_eq!((stats.panicked, stats.detached_panics), (2, 1), "{stats}");
        common::shut_down(runtime);
    });
}

#[test]
fn the_message_on_standard_error_names_the_fiber() {
    let ended = child::run(|| {
        let result = fixed(1).run(|| Builder::new().name("courier").spawn(|| panic!("lost the letter")).join());
        assert!(result.unwrap().is_err());
    });
    let ended = ended.well().saying("fiber 'courier' (#").saying("tests/panics.rs").saying("lost the letter");
    // Once, not once by sisal and once more by std.
    assert_eq!(ended.stderr.matches("lost the letter").count(), 1, "{ended:#?}");
}

#[test]
fn a_wait_in_a_destructor_during_unwinding_is_cancelled() {
    in_fiber_of_each(|| {
        let causes = Arc::new(std::sync::Mutex::new(Vec::new()));
        let fiber = {
            let causes = Arc::clone(&causes);
            spawn(move || {
                let never = spawn_local(|| sleep(LONG));
                let done = spawn_local(|| 7);
                done.wait().unwrap();
                let _guard = OnDrop(|| {
                    let mut causes = causes.lock().unwrap();
                    causes.push(sleep(LONG).unwrap_err().cause);
                    causes.push(sisal::sleep_until(std::time::Instant::now() + LONG).unwrap_err().cause);
                    causes.push(never.wait().unwrap_err().cause);
                    assert!(done.wait().is_ok(), "a wait that need not park is no wait");
                });
                panic!("on purpose");
            })
        };
        panic_of::<()>(fiber.join());
        assert_eq!(*causes.lock().unwrap(), [Cause::Unwinding; 3]);
    });
}

#[test]
fn a_wait_in_a_destructor_is_cancelled_too_when_the_panic_was_resumed() {
    in_fiber_of_each(|| {
        // No hook is called for such a panic.
        let fiber = spawn(|| {
            let _guard = OnDrop(|| assert_eq!(sleep(LONG).map_err(|cancelled| cancelled.cause), Err(Cause::Unwinding)));
            resume_unwind(Box::new("on purpose"));
        });
        assert_eq!(panic_of::<()>(fiber.join()).message(), "on purpose");
    });
}

#[test]
fn a_wait_in_a_destructor_is_cancelled_too_when_the_program_has_a_panic_hook_of_its_own() {
    let ended = child::run(|| {
        fixed(1)
            .run(|| {
                std::panic::set_hook(Box::new(|_| ()));
                let fiber = spawn(|| {
                    let _guard =
                        OnDrop(|| assert_eq!(sleep(LONG).map_err(|cancelled| cancelled.cause), Err(Cause::Unwinding)));
                    panic!("on purpose");
                });
                assert_eq!(panic_of::<()>(fiber.join()).message(), "on purpose");
            })
            .unwrap();
    });
    ended.well();
}

#[test]
fn waits_of_neighbours_of_a_fiber_that_unwinds_go_on() {
    in_fiber_of_each(|| {
        let unwinder = Unwinder::suspended_here();
        sleep(Duration::from_micros(1)).unwrap();
        let neighbour = spawn_local(|| {
            sleep(Duration::from_micros(1)).unwrap();
            spawn_local(yield_now).join().unwrap();
        });
        neighbour.join().unwrap();
        unwinder.let_go();
    });
}

#[test]
fn neighbours_of_a_fiber_that_unwinds_may_panic_and_catch() {
    in_fiber_of_each(|| {
        let unwinder = Unwinder::suspended_here();
        assert_eq!(panic_of(spawn_local(|| panic!("on purpose: second")).join()).message(), "on purpose: second");
        let caught = catch_unwind(|| panic!("on purpose: third"));
        assert!(caught.is_err());
        unwinder.let_go();
    });
}

#[test]
fn a_fiber_that_caught_its_panic_may_wait_while_a_neighbour_unwinds() {
    in_fiber_of_each(|| {
        let unwinder = Unwinder::suspended_here();
        let neighbour = spawn_local(|| {
            assert!(catch_unwind(|| panic!("on purpose: caught")).is_err());
            sleep(Duration::from_micros(1))
        });
        assert_eq!(neighbour.join().unwrap(), Ok(()));
        unwinder.let_go();
    });
}

#[test]
fn a_neighbour_that_parked_beside_an_unwinder_does_not_hide_later_unwinding() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let unwinder = Unwinder::suspended_here();
        let (way, is_waiting) = (gate.way(), Rc::new(Cell::new(false)));
        let flag = Rc::clone(&is_waiting);
        let neighbour = spawn_local(move || {
            flag.set(true);
            way.pass()
        });
        until(|| is_waiting.get());
        unwinder.let_go();
        // The neighbour is parked still, and has nothing to do with this.
        let later = spawn_local(|| {
            let _guard = OnDrop(|| assert_eq!(sleep(LONG).map_err(|cancelled| cancelled.cause), Err(Cause::Unwinding)));
            panic!("on purpose: later");
        });
        assert_eq!(panic_of::<()>(later.join()).message(), "on purpose: later");
        gate.open();
        neighbour.join().unwrap().unwrap();
    });
}

#[test]
fn a_destructor_may_spawn_during_unwinding() {
    in_fiber_of_each(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let fiber = {
            let ran = Arc::clone(&ran);
            spawn(move || {
                let _guard = OnDrop(|| {
                    let ran = Arc::clone(&ran);
                    drop(spawn(move || ran.fetch_add(1, Ordering::Relaxed)));
                });
                panic!("on purpose");
            })
        };
        panic_of::<()>(fiber.join());
        until(|| ran.load(Ordering::Relaxed) == 1);
    });
}

#[test]
fn a_panic_in_a_fiber_local_destructor_kills_no_worker() {
    struct Fused(RefCell<Option<Arc<AtomicUsize>>>);
    impl Drop for Fused {
        fn drop(&mut self) {
            if let Some(count) = self.0.take() {
                count.fetch_add(1, Ordering::Relaxed);
                panic!("on purpose: fiber-local");
            }
        }
    }
    sisal::fiber_local! {
        static FIRST: Fused = Fused(RefCell::new(None));
        static SECOND: Fused = Fused(RefCell::new(None));
    }
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for round in 1..=50 {
            let mine = Arc::clone(&dropped);
            let fiber = spawn(move || {
                FIRST.with(|first| *first.0.borrow_mut() = Some(Arc::clone(&mine)));
                SECOND.with(|second| *second.0.borrow_mut() = Some(mine));
                round
            });
            assert_eq!(fiber.join().unwrap(), round, "the result was there before");
            assert_eq!(dropped.load(Ordering::Relaxed), 2 * round, "both were dropped");
        }
    });
}

/// A value whose destructor panics.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("on purpose: bomb");
    }
}

#[test]
fn a_panic_in_the_destructor_of_a_result_nobody_wants_kills_no_worker() {
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let bomb = Bomb(Arc::clone(&dropped));
            drop(spawn(move || {
                yield_now();
                bomb
            }));
        }
        until(|| dropped.load(Ordering::Relaxed) == 50);
        assert_eq!(spawn(|| 7).join().unwrap(), 7);
        let handle = Handle::current().unwrap();
        until(|| handle.stats().finished == handle.stats().spawned - u64::from(is_spawned()));
    });
}

/// Whether the fiber that asks counts as spawned, unlike the main fiber of `run`.
fn is_spawned() -> bool {
    sisal::fiber::current().unwrap().name() != Some("main")
}

#[test]
fn a_panic_in_the_destructor_of_a_payload_nobody_wants_kills_no_worker() {
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let bomb = Bomb(Arc::clone(&dropped));
            drop(spawn(move || {
                yield_now();
                resume_unwind(Box::new(bomb));
            }));
        }
        until(|| dropped.load(Ordering::Relaxed) == 50);
        assert_eq!(spawn(|| 7).join().unwrap(), 7);
    });
}

#[test]
fn a_panic_in_the_destructor_of_the_result_of_a_dropped_handle_kills_no_worker() {
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let bomb = Bomb(Arc::clone(&dropped));
        let handle = spawn(move || bomb);
        handle.wait().unwrap();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        assert_eq!(spawn(|| 7).join().unwrap(), 7);
    });
}

#[test]
fn a_panic_in_the_destructor_of_a_cancelled_closure_kills_no_worker() {
    common::with_workers(|workers| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let runtime = background(workers);
        let (held, hold) = mpsc::channel::<()>();
        let hold = Arc::new(std::sync::Mutex::new(hold));
        // All workers are held, so that what is spawned now is not started before the stop.
        let busy = Arc::new(AtomicUsize::new(0));
        let holders: Vec<_> = (0..workers)
            .map(|worker| {
                let (hold, busy) = (Arc::clone(&hold), Arc::clone(&busy));
                runtime.handle().spawn_on(worker, move || {
                    busy.fetch_add(1, Ordering::Relaxed);
                    let _ = hold.lock().unwrap().recv();
                })
            })
            .collect();
        until(|| busy.load(Ordering::Relaxed) == workers);
        let fresh: Vec<_> = (0..50)
            .map(|_| {
                let bomb = Bomb(Arc::clone(&dropped));
                runtime.spawn(move || std::mem::forget(bomb))
            })
            .collect();
        let pinned = {
            let bomb = Bomb(Arc::clone(&dropped));
            runtime.handle().spawn_on(0, move || std::mem::forget(bomb))
        };
        runtime.request_stop();
        drop(held);
        common::shut_down(runtime);
        assert_eq!(dropped.load(Ordering::Relaxed), 51);
        holders.into_iter().for_each(|holder| holder.join().unwrap());
        for handle in fresh.into_iter().chain([pinned]) {
            assert!(matches!(handle.join(), Err(JoinError::Cancelled(_) | JoinError::Panicked(_))));
        }
    });
}

#[test]
fn a_destructor_of_a_fiber_local_or_result_may_wait() {
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            yield_now();
            sleep(Duration::from_micros(10)).unwrap();
            spawn(yield_now).join().unwrap();
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    sisal::fiber_local! { static LOCAL: RefCell<Option<Waits>> = RefCell::new(None); }
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let (local, result) = (Waits(Arc::clone(&dropped)), Waits(Arc::clone(&dropped)));
            drop(spawn(move || {
                LOCAL.with(|slot| *slot.borrow_mut() = Some(local));
                yield_now();
                result
            }));
        }
        until(|| dropped.load(Ordering::Relaxed) == 100);
    });
}

#[test]
fn a_panic_with_a_payload_of_any_kind_is_kept() {
    let ended = child::run(|| {
        #[derive(Debug, PartialEq)]
        struct Odd(u8);
        let payload = fixed(2).run(|| panic_of::<()>(spawn(|| panic_any(Odd(9))).join()).into_payload());
        assert_eq!(payload.unwrap().downcast_ref(), Some(&Odd(9)));
    });
    ended.well();
}
