//! Waits and spawns while a fiber unwinds, its own and those of its neighbours.

use crate::common::gate::Gate;
use crate::common::{LONG, child, fixed, in_fiber_of_each, until};
use crate::{OnDrop, panic_of};
use sisal::{Cause, sleep, spawn, spawn_local, yield_now};
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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
