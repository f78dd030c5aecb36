//! A started fiber never changes its thread: what it took from a thread-local before a wait is right after it.
//!
//! Compilers keep the address of a thread-local across calls, and locals need not be `Send`. If a runtime moved a started
//! fiber, the address would be another thread's, the `Rc` would be counted by two threads at once, and the borrow would be
//! given back to the wrong cell. Every fiber here holds all three across its waits, while workers steal from each other
//! what has not started.

mod common;

use common::gate::Gate;
use common::{in_main_fiber, rounds, until, with_workers};
use sisal::{JoinHandle, join_all, sleep, spawn, spawn_local, spawn_on, yield_now};
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashSet;
use std::iter;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

thread_local! {
    static PLAIN: Cell<u64> = const { Cell::new(0) };
    static LAZY: RefCell<Vec<u64>> = RefCell::new(vec![1]);
    static COUNTED: Rc<Cell<u64>> = Rc::new(Cell::new(0));
    static CELL: RefCell<u64> = const { RefCell::new(0) };
}

/// What a fiber has seen of its thread at its start, and holds on to.
struct Held {
    thread: ThreadId,
    plain: usize,
    lazy: usize,
    counted: Rc<Cell<u64>>,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl Held {
    fn take() -> Held {
        Held {
            thread: thread::current().id(),
            plain: PLAIN.with(address),
            lazy: LAZY.with(address),
            counted: COUNTED.with(Rc::clone),
        }
    }

    fn check(&self) {
        assert_eq!(self.thread, thread::current().id());
        assert_eq!(self.plain, PLAIN.with(address));
        assert_eq!(self.lazy, LAZY.with(address));
        COUNTED.with(|counted| assert!(Rc::ptr_eq(counted, &self.counted)));
    }
}

/// Waits in one of the ways there are. Most are certain to leave the stack: what is joined gives way first.
fn park(how: usize) {
    match how % 8 {
        0 => yield_now(),
        1 => sleep(Duration::from_micros(1)).unwrap(),
        2 => spawn(|| ()).join().unwrap(),
        _ => spawn(yield_now).join().unwrap(),
    }
}

/// Waits `parks` times and holds all the while what it took from its thread; returns the thread.
fn hold_across(parks: usize) -> ThreadId {
    let held = Held::take();
    CELL.with(|cell| {
        let borrow: Ref<'_, u64> = cell.borrow();
        for number in 0..parks {
            // Counted without atomics: right only as long as this thread alone does so.
            let another = Rc::clone(&held.counted);
            park(number);
            held.check();
            another.set(another.get() + 1);
            PLAIN.set(PLAIN.get() + 1);
            assert_eq!(address(cell), CELL.with(address));
        }
        drop(borrow);
    });
    held.thread
}

/// What a worker's thread has counted, with nothing left borrowed or held; counts from nothing again.
fn settle() -> u64 {
    CELL.with(|cell| assert!(cell.try_borrow_mut().is_ok(), "all borrows were given back to the cell they are of"));
    let counted = COUNTED.with(|counted| {
        assert_eq!(Rc::strong_count(counted), 1, "all clones were dropped on their thread");
        counted.take()
    });
    assert_eq!(PLAIN.take(), counted);
    counted
}

#[test]
fn what_a_fiber_took_from_its_thread_is_right_after_a_hundred_thousand_waits_among_stealing_workers() {
    const FIBERS: usize = 200;
    // Five of eight are certain to be some.
    let parks = rounds(160_000);
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let mut threads = HashSet::new();
            let mut batches = 0;
            // One batch is all the waits there are to be; more only until another worker has stolen something.
            while batches == 0 || threads.len() < workers.min(2) {
                let crowd = (0..FIBERS).map(|_| spawn(move || hold_across(parks / FIBERS)));
                let fibers = iter::once(spawn(move || hold_across(parks))).chain(crowd);
                threads.extend(join_all(fibers).into_iter().map(Result::unwrap));
                batches += 1;
            }
            let settled = (0..workers).map(|worker| spawn_on(worker, settle).join().unwrap());
            assert_eq!(settled.sum::<u64>(), (batches * 2 * parks) as u64, "waits counted by the threads");
        });
    });
}

#[test]
fn a_fiber_woken_from_outside_is_on_the_thread_it_was_on() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(10) {
                let gate = Gate::closed();
                let waiting = Arc::new(AtomicUsize::new(0));
                let fibers: Vec<_> = (0..100)
                    .map(|_| {
                        let (way, waiting) = (gate.way(), Arc::clone(&waiting));
                        spawn(move || {
                            let held = Held::take();
                            waiting.fetch_add(1, Ordering::Relaxed);
                            way.pass().unwrap();
                            held.check();
                        })
                    })
                    .collect();
                until(|| waiting.load(Ordering::Relaxed) == 100);
                gate.open();
                join_all(fibers).into_iter().for_each(Result::unwrap);
            }
        });
    });
}

#[test]
fn a_local_fiber_is_on_the_thread_of_the_one_that_spawned_it() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let fibers: Vec<JoinHandle<()>> = (0..rounds(1_000))
                .map(|_| {
                    spawn(|| {
                        let here = thread::current().id();
                        let shared = Rc::new(Cell::new(0));
                        let children: Vec<_> = (0..5)
                            .map(|number| {
                                let shared = Rc::clone(&shared);
                                spawn_local(move || {
                                    assert_eq!(here, thread::current().id());
                                    park(number);
                                    assert_eq!(here, thread::current().id());
                                    shared.set(shared.get() + 1);
                                })
                            })
                            .collect();
                        join_all(children).into_iter().for_each(Result::unwrap);
                        assert_eq!((shared.get(), Rc::strong_count(&shared)), (5, 1));
                    })
                })
                .collect();
            join_all(fibers).into_iter().for_each(Result::unwrap);
        });
    });
}

#[test]
fn a_fiber_spawned_on_a_worker_starts_and_stays_there() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let homes: Vec<_> =
                (0..workers).map(|to| spawn_on(to, || thread::current().id()).join().unwrap()).collect();
            assert_eq!(homes.iter().collect::<HashSet<_>>().len(), workers, "every worker has its own thread");
            assert_eq!(homes[0], thread::current().id(), "the thread that runs the main fiber is worker 0");
            let fibers: Vec<_> =
                (0..rounds(2_000)).map(|number| (number, spawn_on(number % workers, || hold_across(8)))).collect();
            for (number, fiber) in fibers {
                assert_eq!(fiber.join().unwrap(), homes[number % workers]);
            }
        });
    });
}

#[test]
fn the_main_fiber_stays_on_the_calling_thread() {
    with_workers(|workers| {
        let outside = Held::take();
        in_main_fiber(workers, || {
            outside.check();
            let others: Vec<_> = (0..50).map(|_| spawn(|| hold_across(10))).collect();
            for number in 0..rounds(1_000) {
                park(number);
                outside.check();
            }
            assert!(join_all(others).into_iter().all(|other| other.is_ok()));
        });
        outside.check();
        // Fibers on worker 0 were on this thread.
        settle_outside(&outside);
    });
}

fn settle_outside(outside: &Held) {
    CELL.with(|cell| assert!(cell.try_borrow_mut().is_ok()));
    assert_eq!(Rc::strong_count(&outside.counted), 2, "the thread's own and the one held here");
}
