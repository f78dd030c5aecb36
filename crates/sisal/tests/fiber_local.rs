//! Fiber-locals: each fiber has its own, made at first use, dropped at its end on its own thread.

mod common;

use common::watchdog::guarded;
use common::{fixed, in_fiber_of_each, until, with_workers};
use sisal::{fiber_local, join_all, spawn, spawn_local, yield_now};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

fiber_local! {
    static NUMBER: Cell<u64> = Cell::new(7);
    static WORDS: RefCell<Vec<String>> = RefCell::new(vec!["first".to_owned()]);
}

#[test]
fn each_fiber_has_its_own_value() {
    in_fiber_of_each(|| {
        let fibers = (0..100u64).map(|number| {
            spawn(move || {
                assert_eq!(NUMBER.with(Cell::get), 7, "as declared, at first");
                NUMBER.with(|own| own.set(number));
                for _ in 0..5 {
                    yield_now();
                    assert_eq!(NUMBER.with(Cell::get), number);
                }
                WORDS.with(|words| words.borrow_mut().push(number.to_string()));
                yield_now();
                WORDS.with(|words| assert_eq!(*words.borrow(), ["first", &number.to_string()]));
            })
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
        assert_eq!(NUMBER.with(Cell::get), 7);
    });
}

#[test]
fn a_fiber_on_the_same_stack_after_another_starts_anew() {
    in_fiber_of_each(|| {
        for number in 0..100 {
            let fiber = spawn_local(move || NUMBER.with(|own| own.replace(number)));
            assert_eq!(fiber.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_thread_outside_has_its_own_and_the_main_fiber_another() {
    NUMBER.with(|own| own.set(1));
    in_fiber_of_each(|| {
        let in_fiber = spawn(|| NUMBER.with(Cell::get));
        assert_eq!(in_fiber.join().unwrap(), 7);
    });
    common::fixed(1)
        .run(|| {
            assert_eq!(NUMBER.with(Cell::get), 7);
            NUMBER.with(|own| own.set(2));
        })
        .unwrap();
    assert_eq!(NUMBER.with(Cell::get), 1);
    assert_eq!(thread::spawn(|| NUMBER.with(Cell::get)).join().unwrap(), 7);
}

/// Tells of its end.
struct Witness {
    made_on: ThreadId,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        assert_eq!(self.made_on, thread::current().id());
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

fiber_local! { static WITNESS: RefCell<Option<Witness>> = RefCell::new(None); }

fn bear_witness(dropped: &Arc<AtomicUsize>) {
    let witness = Witness { made_on: thread::current().id(), dropped: Arc::clone(dropped) };
    WITNESS.with(|slot| *slot.borrow_mut() = Some(witness));
}

#[test]
fn values_are_dropped_at_the_fibers_end_before_its_joiner_goes_on() {
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for round in 1..=50 {
            let mine = Arc::clone(&dropped);
            let fiber = spawn(move || {
                bear_witness(&mine);
                yield_now();
                assert_eq!(mine.load(Ordering::Relaxed), round - 1);
            });
            fiber.join().unwrap();
            assert_eq!(dropped.load(Ordering::Relaxed), round);
        }
    });
}

#[test]
fn values_of_fibers_that_panic_or_are_detached_are_dropped_too() {
    in_fiber_of_each(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        for number in 0..20 {
            let mine = Arc::clone(&dropped);
            drop(spawn(move || {
                bear_witness(&mine);
                yield_now();
                assert!(number % 2 == 0, "on purpose");
            }));
        }
        until(|| dropped.load(Ordering::Relaxed) == 20);
    });
}

#[test]
fn values_of_the_main_fiber_are_dropped_when_it_returns() {
    let dropped = Arc::new(AtomicUsize::new(0));
    common::in_main_fiber(2, || bear_witness(&dropped));
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn values_of_a_thread_are_dropped_at_its_end() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mine = Arc::clone(&dropped);
    thread::spawn(move || bear_witness(&mine)).join().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn an_initializer_may_use_other_locals_spawn_and_wait() {
    fiber_local! {
        static OUTER: u64 = NUMBER.with(Cell::get) + spawn(|| { yield_now(); NUMBER.with(Cell::get) }).join().unwrap();
    }
    in_fiber_of_each(|| {
        NUMBER.with(|own| own.set(100));
        assert_eq!(OUTER.with(|outer| *outer), 107);
        NUMBER.with(|own| own.set(7));
    });
}

#[test]
fn a_destructor_may_use_locals_that_are_still_there_and_new_ones() {
    struct Last(Arc<AtomicU64>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.store(NUMBER.with(Cell::get), Ordering::Relaxed);
        }
    }
    fiber_local! { static LAST: RefCell<Option<Last>> = RefCell::new(None); }
    let leave = |touch_first: bool, seen: Arc<AtomicU64>| {
        if touch_first {
            NUMBER.with(|own| own.set(9));
        }
        LAST.with(|last| *last.borrow_mut() = Some(Last(seen)));
    };
    let check = |end: fn(Box<dyn FnOnce() + Send>)| {
        for touch_first in [true, false] {
            let seen = Arc::new(AtomicU64::new(0));
            let mine = Arc::clone(&seen);
            end(Box::new(move || leave(touch_first, mine)));
            assert_eq!(seen.load(Ordering::Relaxed), if touch_first { 9 } else { 7 });
        }
    };
    in_fiber_of_each(|| check(|body| spawn(body).join().unwrap()));
    check(|body| thread::spawn(body).join().unwrap());
}

#[test]
fn a_value_may_be_borrowed_across_waits_and_used_again_inside() {
    in_fiber_of_each(|| {
        let fibers = (0..20u64).map(|number| {
            spawn(move || {
                NUMBER.with(|outer| {
                    outer.set(number);
                    yield_now();
                    NUMBER.with(|inner| assert!(std::ptr::eq(outer, inner)));
                    assert_eq!(outer.get(), number);
                });
            })
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
    });
}

#[test]
fn a_destructor_that_uses_its_own_key_does_not_keep_its_fiber_from_ending() {
    struct Phoenix;
    impl Drop for Phoenix {
        fn drop(&mut self) {
            ASHES.with(|_| ());
        }
    }
    fiber_local! { static ASHES: Phoenix = Phoenix; }
    with_workers(|workers| {
        let fibers = || (0..10).map(|_| spawn(|| ASHES.with(|_| ()))).collect::<Vec<_>>();
        fixed(workers).run(|| fibers().into_iter().for_each(|fiber| fiber.join().unwrap())).unwrap();
    });
    guarded(|| std::thread::spawn(|| ASHES.with(|_| ())).join().unwrap());
}
