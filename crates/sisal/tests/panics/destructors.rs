//! Destructors that panic or wait, of results, payloads, closures and fiber locals: they kill no worker.

use crate::common::{background, in_fiber_of_each, shut_down, until, with_workers};
use sisal::{Handle, JoinError, sleep, spawn, yield_now};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A value whose destructor panics.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("on purpose: bomb");
    }
}

/// Has many fibers end with a bomb that nobody wants, and checks that the workers are still there.
fn bombs_kill_no_worker<T: Send + 'static>(end: fn(Bomb) -> T) {
    let dropped = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let bomb = Bomb(Arc::clone(&dropped));
        drop(spawn(move || {
            yield_now();
            end(bomb)
        }));
    }
    until(|| dropped.load(Ordering::Relaxed) == 50);
    assert_eq!(spawn(|| 7).join().unwrap(), 7);
}

#[test]
fn a_panic_in_the_destructor_of_a_result_nobody_wants_kills_no_worker() {
    in_fiber_of_each(|| {
        bombs_kill_no_worker(|bomb| bomb);
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
    in_fiber_of_each(|| bombs_kill_no_worker::<()>(|bomb| resume_unwind(Box::new(bomb))));
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
    with_workers(|workers| {
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
        shut_down(runtime);
        assert_eq!(dropped.load(Ordering::Relaxed), 51);
        holders.into_iter().for_each(|holder| holder.join().unwrap());
        for handle in fresh.into_iter().chain([pinned]) {
            assert!(matches!(handle.join(), Err(JoinError::Cancelled(_) | JoinError::Panicked(_))));
        }
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
