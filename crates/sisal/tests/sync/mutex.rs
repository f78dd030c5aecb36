//! The mutex: one at a time, whoever they are, wherever they wait, and however they leave.

use crate::common::gate::Gate;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::traits::implements;
use crate::common::watchdog::guarded;
use crate::common::{LONG, in_fiber_of_each, in_main_fiber, rounds, until};
use sisal::chan::bounded;
use sisal::sync::{MappedMutexGuard, Mutex, MutexGuard};
use sisal::{sleep, spawn, spawn_local, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough to be past the millisecond after which a lock is handed over.
const PAST_BARGING: Duration = Duration::from_millis(3);

#[test]
fn without_a_runtime_a_free_lock_is_taken_and_given_back() {
    let mutex = Mutex::new(1);
    *mutex.lock() += 1;
    *mutex.lock() += 1;
    assert_eq!(*mutex.try_lock().unwrap(), 3);
    assert_eq!(*mutex.lock_timeout(Duration::ZERO).unwrap(), 3);
    assert_eq!(mutex.into_inner(), 3);
}

#[test]
fn a_mutex_may_be_a_static() {
    static MUTEX: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    in_fiber_of_each(|| {
        MUTEX.lock().push(1);
        assert_eq!(MUTEX.lock().pop(), Some(1));
    });
}

#[test]
fn increments_by_a_crowd_are_all_counted() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(0));
        let actors = place.sharing(8, &mutex, |mutex, number| {
            for turn in 0..rounds(5_000) {
                let mut count = mutex.lock();
                let before = *count;
                if turn % 64 == number {
                    yield_now();
                }
                *count = before + 1;
            }
        });
        join_all(actors);
        assert_eq!(*mutex.lock(), 8 * rounds(5_000));
    });
}

#[test]
fn try_lock_gives_nothing_while_another_holds_the_lock() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let holder = place.sharing(1, &shared, |(mutex, step), _| {
            let mut guard = mutex.lock();
            step.store(1, Ordering::Release);
            until(|| step.load(Ordering::Acquire) == 2);
            *guard = 7;
        });
        until(|| shared.1.load(Ordering::Acquire) == 1);
        let others = place.sharing(4, &shared, |(mutex, _), _| mutex.try_lock().is_none());
        assert!(join_all(others).into_iter().all(|refused| refused));
        assert!(shared.0.try_lock().is_none());
        shared.1.store(2, Ordering::Release);
        join_all(holder);
        assert_eq!(*shared.0.try_lock().unwrap(), 7);
    });
}

#[test]
fn a_lock_stays_with_a_fiber_that_sleeps_while_threads_and_fibers_contend_for_it() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(Vec::new()));
        let holders: Vec<_> = (0..4)
            .map(|number| {
                let mutex = Arc::clone(&mutex);
                place.spawn(move || {
                    for _ in 0..5 {
                        let mut log = mutex.lock();
                        let length = log.len();
                        sleep(Duration::from_micros(300)).unwrap();
                        assert_eq!(log.len(), length, "nobody came between");
                        log.push(number);
                    }
                })
            })
            .collect();
        let others = place.sharing(4, &mutex, |mutex, number| (0..50).for_each(|_| mutex.lock().push(10 + number)));
        join_all(holders);
        join_all(others);
        let log = mutex.lock();
        for number in 0..4 {
            assert_eq!(log.iter().filter(|entry| **entry == number).count(), 5);
            assert_eq!(log.iter().filter(|entry| **entry == 10 + number).count(), 50);
        }
    });
}

#[test]
fn a_lock_stays_with_a_fiber_that_receives_until_a_message_comes() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(0), AtomicBool::new(false)));
        let (send, receive) = bounded(0);
        let holder = {
            let shared = Arc::clone(&shared);
            place.spawn(move || {
                let mut sum = shared.0.lock();
                shared.1.store(true, Ordering::Release);
                receive.iter().for_each(|number: usize| *sum += number);
            })
        };
        until(|| shared.1.load(Ordering::Acquire));
        let others = place.sharing(6, &shared, |(mutex, _), _| {
            let mut sum = mutex.lock();
            assert!(*sum >= 4_950, "after the holder, not before: {}", *sum);
            *sum += 1;
        });
        (0..100).for_each(|number| send.send(number).unwrap());
        assert!(others.iter().all(|other| !other.is_finished()));
        drop(send);
        join_all([holder]);
        join_all(others);
        assert_eq!(*shared.0.lock(), 4_956);
    });
}

#[test]
fn a_waiter_gets_the_lock_from_one_that_takes_it_again_and_again() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(()), AtomicBool::new(false), AtomicBool::new(false)));
        let barger = place.sharing(1, &shared, |(mutex, has_begun, got_it), _| {
            while !got_it.load(Ordering::Acquire) {
                // Others have turns while it is held, and only then: one that had to find it free would never get it.
                let _guard = mutex.lock();
                has_begun.store(true, Ordering::Release);
                yield_now();
            }
        });
        until(|| shared.1.load(Ordering::Acquire));
        let waiters = place.sharing(3, &shared, |(mutex, ..), _| drop(mutex.lock()));
        join_all(waiters);
        shared.2.store(true, Ordering::Release);
        join_all(barger);
    });
}

#[test]
fn a_fiber_gets_the_lock_from_a_neighbour_that_never_gives_way_outside_of_it() {
    in_main_fiber(1, || {
        let mutex = Arc::new(Mutex::new(0));
        let got_it = Arc::new(AtomicBool::new(false));
        let held = mutex.lock();
        let waiter = {
            let (mutex, got_it) = (Arc::clone(&mutex), Arc::clone(&got_it));
            spawn_local(move || {
                *mutex.lock() += 1;
                got_it.store(true, Ordering::Relaxed);
            })
        };
        settle();
        sleep(PAST_BARGING).unwrap();
        drop(held);
        while !got_it.load(Ordering::Relaxed) {
            drop(mutex.lock());
        }
        waiter.join().unwrap();
        assert_eq!(*mutex.lock(), 1);
    });
}

#[test]
fn a_panic_under_the_guard_unlocks_and_leaves_what_was_written() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(0));
        for round in 1..=10 {
            let panicking = place.sharing(1, &mutex, |mutex, _| {
                *mutex.lock() += 1;
                let mut guard = mutex.lock();
                *guard += 1;
                yield_now();
                panic!("on purpose: under the guard");
            });
            let waiters = place.sharing(3, &mutex, |mutex, _| drop(mutex.lock()));
            assert!(panicking.into_iter().all(|actor| actor.end().is_err()));
            join_all(waiters);
            assert_eq!(*mutex.try_lock().expect("it is free"), 2 * round);
        }
    });
}

#[test]
fn a_lock_is_waited_for_also_while_unwinding() {
    struct AddOne(Arc<Mutex<u32>>);
    impl Drop for AddOne {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock();
        let unwinding = {
            let mutex = Arc::clone(&mutex);
            place.spawn(move || {
                let _on_unwind = AddOne(mutex);
                panic!("on purpose");
            })
        };
        settle();
        assert!(!unwinding.is_finished());
        assert_eq!(*held, 0);
        drop(held);
        assert!(unwinding.end().is_err());
        assert_eq!(*mutex.lock(), 1);
    });
}

#[test]
fn locks_nest_and_are_released_in_any_order() {
    in_fiber_of_each(|| {
        let (outer, inner) = (Arc::new(Mutex::new(Arc::new(Mutex::new(1)))), Mutex::new(2));
        let first = outer.lock();
        let second = first.lock();
        let third = inner.lock();
        assert_eq!(*second + *third, 3);
        drop(second);
        drop(first);
        assert!(outer.try_lock().is_some() && inner.try_lock().is_none());
        drop(third);
        assert!(inner.try_lock().is_some());
    });
}

#[test]
fn two_locks_taken_in_one_order_by_many_deadlock_nobody() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(0), Mutex::new(0)));
        let actors = place.sharing(6, &shared, |(left, right), _| {
            for _ in 0..rounds(1_000) {
                let mut left = left.lock();
                *left += 1;
                let mut right = right.lock();
                *right += 1;
                assert_eq!(*left, *right);
            }
        });
        join_all(actors);
        assert_eq!(*shared.0.lock() + *shared.1.lock(), 12 * rounds(1_000));
    });
}

#[test]
fn lock_timeout_gives_up_no_earlier_than_it_was_told() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.lock();
        let waiters = place.sharing(4, &mutex, |mutex, number| {
            let (start, time) = (Instant::now(), Duration::from_millis(number as u64));
            assert!(mutex.lock_timeout(time).is_none());
            assert!(start.elapsed() >= time);
        });
        join_all(waiters);
        drop(held);
        assert!(mutex.try_lock().is_some(), "those that gave up have left nothing behind");
        drop(mutex.lock());
    });
}

#[test]
fn lock_timeout_gets_a_lock_that_is_released_in_time() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock();
        let waiters = place.sharing(4, &mutex, |mutex, _| mutex.lock_timeout(LONG).map(|mut count| *count += 1));
        settle();
        drop(held);
        assert!(join_all(waiters).into_iter().all(|got_it| got_it.is_some()));
        assert_eq!(*mutex.lock(), 4);
    });
}

#[test]
fn one_that_gives_up_does_not_take_the_lock_from_those_behind_it() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock();
        let impatient = place.sharing(3, &mutex, |mutex, _| mutex.lock_timeout(Duration::from_millis(1)).is_none());
        let patient = place.sharing(3, &mutex, |mutex, _| *mutex.lock() += 1);
        assert!(join_all(impatient).into_iter().all(|gave_up| gave_up));
        drop(held);
        join_all(patient);
        assert_eq!(*mutex.lock(), 3);
    });
}

#[test]
fn a_forgotten_guard_keeps_the_lock_for_ever() {
    in_fiber_of_each(|| {
        let mutex = Mutex::new(1);
        std::mem::forget(mutex.lock());
        assert!(mutex.try_lock().is_none());
        assert!(mutex.lock_timeout(Duration::from_micros(10)).is_none());
        assert_eq!(mutex.into_inner(), 1);
    });
}

#[test]
fn a_guard_may_be_narrowed_to_a_part() {
    in_fiber_of_each(|| {
        let mutex = Mutex::new((1, String::from("one")));
        let mut text: MappedMutexGuard<'_, String> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
        text.push_str(" more");
        assert_eq!(*text, "one more");
        assert!(mutex.try_lock().is_none(), "still held");
        drop(text);
        assert_eq!(mutex.lock().1, "one more");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _text = MutexGuard::map(mutex.lock(), |_| -> &mut String { panic!("on purpose") });
        }));
        assert!(panicked.is_err() && mutex.try_lock().is_some(), "a panic while narrowing unlocks too");
    });
}

#[test]
fn the_value_may_be_reached_without_locking_by_its_owner() {
    let mut mutex = Mutex::new(1);
    *mutex.get_mut() += 1;
    assert_eq!(mutex.into_inner(), 2);
    assert_eq!(*Mutex::<u8>::default().lock(), 0);
    assert_eq!(*Mutex::from("text").lock(), "text");
    let alive = Arc::new(());
    let mutex = Mutex::new(Arc::clone(&alive));
    drop(mutex.lock());
    drop(mutex);
    assert_eq!(Arc::strong_count(&alive), 1, "the value goes with the mutex");
}

#[test]
fn the_value_may_be_unsized() {
    guarded(|| {
        let slice: &Mutex<[u8]> = &Mutex::new([1, 2, 3]);
        slice.lock()[0] = 9;
        assert_eq!(*slice.lock(), [9, 2, 3]);
        let object: Arc<Mutex<dyn FnMut() -> u32 + Send>> = {
            let mut calls = 0;
            Arc::new(Mutex::new(move || {
                calls += 1;
                calls
            }))
        };
        let other = Arc::clone(&object);
        thread::spawn(move || (other.lock())()).join().unwrap();
        assert_eq!((object.lock())(), 2);
    });
}

#[test]
fn debug_shows_the_value_of_a_free_mutex_and_never_waits() {
    in_fiber_of_each(|| {
        let mutex = Mutex::new(1729);
        assert!(format!("{mutex:?}").contains("1729"));
        let guard = mutex.lock();
        assert!(!format!("{mutex:?}").contains("1729"));
        assert_eq!(format!("{guard:?}"), "1729");
    });
}

#[test]
fn guards_stay_where_they_are_and_mutexes_go_where_their_values_may() {
    assert!(!implements!(MutexGuard<'static, u8>: Send));
    assert!(!implements!(MappedMutexGuard<'static, u8>: Send));
    assert!(implements!(MutexGuard<'static, u8>: Sync));
    assert!(implements!(MappedMutexGuard<'static, u8>: Sync));
    assert!(!implements!(MutexGuard<'static, Cell<u8>>: Sync));
    assert!(implements!(Mutex<Cell<u8>>: Send + Sync));
    assert!(!implements!(Mutex<std::rc::Rc<u8>>: Send));
    assert!(!implements!(Mutex<std::rc::Rc<u8>>: Sync));
}

#[test]
fn locks_and_guards_may_be_seen_after_a_caught_panic_where_those_of_std_may() {
    macro_rules! as_in_std {
        ($($name:ident [$($arguments:tt)+])+) => {$({
            type Ours = sisal::sync::$name<$($arguments)+>;
            type Theirs = std::sync::$name<$($arguments)+>;
            let ours = (implements!(Ours: UnwindSafe), implements!(Ours: RefUnwindSafe));
            let theirs = (implements!(Theirs: UnwindSafe), implements!(Theirs: RefUnwindSafe));
            assert_eq!(ours, theirs, stringify!($name<$($arguments)+>));
        })+};
    }
    as_in_std!(Mutex[Cell<u8>] RwLock[Cell<u8>] MutexGuard['static, u8] MutexGuard['static, Cell<u8>]);
    as_in_std!(RwLockReadGuard['static, u8]);
    as_in_std!(RwLockWriteGuard['static, u8] RwLockWriteGuard['static, Cell<u8>]);
}

#[test]
fn a_fiber_that_holds_the_lock_may_wait_at_a_gate_that_a_thread_opens() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let mutex = Arc::new(Mutex::new(0));
        let is_held = Arc::new(AtomicBool::new(false));
        let holder = {
            let (mutex, way, is_held) = (Arc::clone(&mutex), gate.way(), Arc::clone(&is_held));
            spawn(move || {
                let mut guard = mutex.lock();
                is_held.store(true, Ordering::Release);
                way.pass().unwrap();
                *guard = 1;
            })
        };
        until(|| is_held.load(Ordering::Acquire));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || {
                    let mut value = mutex.lock();
                    assert!(*value > 0);
                    *value += 1;
                })
            })
            .collect();
        settle();
        gate.open();
        holder.join().unwrap();
        until(|| *mutex.lock() == 4);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
