//! The read-write lock: readers together, writers alone, and no writer kept out by readers that come after it.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::traits::implements;
use crate::common::{in_fiber_of_each, rounds, until};
use sisal::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use sisal::{sleep, yield_now};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn without_a_runtime_it_is_read_and_written() {
    let lock = RwLock::new(1);
    assert_eq!(*lock.read() + *lock.read(), 2);
    *lock.write() += 1;
    assert_eq!(*lock.try_read().unwrap(), 2);
    *lock.try_write().unwrap() += 1;
    assert_eq!(lock.into_inner(), 3);
}

#[test]
fn it_may_be_a_static() {
    static LOCK: RwLock<u32> = RwLock::new(7);
    in_fiber_of_each(|| {
        *LOCK.write() = 7;
        assert_eq!(*LOCK.read(), 7);
    });
}

#[test]
fn all_readers_are_inside_together() {
    everywhere(|place| {
        let shared = Arc::new((RwLock::new(7), AtomicUsize::new(0)));
        let readers = place.sharing(8, &shared, |(lock, inside), _| {
            let value = lock.read();
            inside.fetch_add(1, Ordering::Relaxed);
            until(|| inside.load(Ordering::Relaxed) == 8);
            *value
        });
        assert_eq!(join_all(readers).into_iter().sum::<i32>(), 56);
        assert!(shared.0.try_write().is_some(), "all have left");
    });
}

#[test]
fn the_try_calls_are_refused_by_the_right_guards() {
    in_fiber_of_each(|| {
        let lock = RwLock::new(());
        let reader = lock.read();
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        let second = lock.try_read().unwrap();
        drop(reader);
        assert!(lock.try_write().is_none(), "one reader is left");
        drop(second);
        let writer = lock.try_write().unwrap();
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        drop(writer);
        assert!(lock.try_write().is_some() && lock.try_read().is_some());
    });
}

#[test]
fn a_writer_is_alone() {
    everywhere(|place| {
        // Two numbers that only a writer ever sees apart.
        let lock = Arc::new(RwLock::new((0, 0)));
        let actors = place.sharing(8, &lock, |lock, number| {
            for turn in 0..rounds(2_000) {
                if (turn + number) % 4 == 0 {
                    let mut pair = lock.write();
                    pair.0 += 1;
                    if turn % 64 == 0 {
                        yield_now();
                    }
                    pair.1 += 1;
                } else {
                    let pair = lock.read();
                    let left = pair.0;
                    if turn % 64 == 0 {
                        yield_now();
                    }
                    assert_eq!((left, left), *pair);
                }
            }
        });
        join_all(actors);
        assert_eq!(lock.read().0, 8 * rounds(2_000) / 4);
    });
}

#[test]
fn guards_are_kept_across_sleeps() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new(0));
        let writers = place.sharing(3, &lock, |lock, _| {
            for _ in 0..4 {
                let mut value = lock.write();
                let before = *value;
                sleep(Duration::from_micros(200)).unwrap();
                *value = before + 1;
            }
        });
        let readers = place.sharing(3, &lock, |lock, _| {
            for _ in 0..4 {
                let value = lock.read();
                let before = *value;
                sleep(Duration::from_micros(200)).unwrap();
                assert_eq!(*value, before);
            }
        });
        join_all(writers);
        join_all(readers);
        assert_eq!(*lock.read(), 12);
    });
}

/// How many turns a reader gives another to come in before it leaves.
const PATIENCE: usize = 50;

#[test]
fn a_writer_is_not_kept_out_by_readers_that_take_turns() {
    everywhere(|place| {
        let shared = Arc::new((RwLock::new(()), AtomicUsize::new(0), AtomicBool::new(false)));
        let readers = place.sharing(4, &shared, |(lock, entered, is_written), _| {
            while !is_written.load(Ordering::Acquire) {
                let _guard = lock.read();
                let mine = entered.fetch_add(1, Ordering::Relaxed) + 1;
                // Leaves when the next has come in: the lock is never free of readers unless it lets none in.
                for _ in 0..PATIENCE {
                    if entered.load(Ordering::Relaxed) > mine {
                        break;
                    }
                    yield_now();
                }
            }
        });
        until(|| shared.1.load(Ordering::Relaxed) > 20);
        let writer = place.sharing(1, &shared, |(lock, _, is_written), _| {
            let _guard = lock.write();
            is_written.store(true, Ordering::Release);
        });
        join_all(writer);
        join_all(readers);
    });
}

#[test]
fn writers_and_readers_that_waited_all_come_in() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new(0));
        for round in 1..=rounds(100) {
            let held = lock.write();
            let actors = place.sharing(8, &lock, |lock, number| match number % 2 {
                0 => *lock.write() += 1,
                _ => assert!(*lock.read() >= 0),
            });
            yield_now();
            drop(held);
            join_all(actors);
            assert_eq!(*lock.read(), 4 * round as i32);
        }
    });
}

#[test]
fn a_downgraded_guard_lets_waiting_readers_in_and_no_writer() {
    everywhere(|place| {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let mut writer = shared.0.write();
        let readers = place.sharing(4, &shared, |(lock, inside), _| {
            let value = lock.read();
            inside.fetch_add(1, Ordering::Relaxed);
            *value
        });
        settle();
        assert_eq!(shared.1.load(Ordering::Relaxed), 0);
        *writer = 1;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert!(join_all(readers).into_iter().all(|seen| seen == 1));
        assert!(shared.0.try_write().is_none());
        assert_eq!(*reader, 1);
        drop(reader);
        assert!(shared.0.try_write().is_some());
    });
}

#[test]
fn no_writer_comes_between_a_write_and_the_read_it_is_downgraded_to() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new(0));
        let actors = place.sharing(6, &lock, |lock, _| {
            for turn in 0..rounds(1_000) {
                let mut writer = lock.write();
                *writer += 1;
                let mine = *writer;
                let reader = RwLockWriteGuard::downgrade(writer);
                if turn % 16 == 0 {
                    yield_now();
                }
                assert_eq!(*reader, mine);
            }
        });
        join_all(actors);
        assert_eq!(*lock.read(), 6 * rounds(1_000));
    });
}

#[test]
fn a_panic_under_either_guard_unlocks_it() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new(0));
        let panicking = place.sharing(6, &lock, |lock, number| {
            if number % 2 == 0 {
                let mut value = lock.write();
                *value += 1;
                yield_now();
                panic!("on purpose: under the write guard");
            }
            let _value = lock.read();
            yield_now();
            panic!("on purpose: under the read guard");
        });
        let others = place.sharing(4, &lock, |lock, _| *lock.read());
        assert!(panicking.into_iter().all(|actor| actor.end().is_err()));
        join_all(others);
        assert_eq!(*lock.try_write().expect("it is free"), 3, "and nothing is undone");
    });
}

#[test]
fn the_value_may_be_reached_without_locking_by_its_owner() {
    let mut lock = RwLock::new(1);
    *lock.get_mut() += 1;
    assert_eq!(lock.into_inner(), 2);
    assert_eq!(*RwLock::<u8>::default().read(), 0);
    assert_eq!(*RwLock::from("text").read(), "text");
}

#[test]
fn the_value_may_be_unsized() {
    let slice: &RwLock<[u8]> = &RwLock::new([1, 2, 3]);
    slice.write()[0] = 9;
    assert_eq!(*slice.read(), [9, 2, 3]);
    let object: Arc<RwLock<dyn Fn() -> u32 + Send + Sync>> = Arc::new(RwLock::new(|| 7));
    assert_eq!((object.read())(), 7);
}

#[test]
fn debug_shows_the_value_of_a_free_lock_and_never_waits() {
    in_fiber_of_each(|| {
        let lock = RwLock::new(1729);
        assert!(format!("{lock:?}").contains("1729"));
        let writer = lock.write();
        assert!(!format!("{lock:?}").contains("1729"));
        assert_eq!(format!("{writer:?}"), "1729");
        drop(writer);
        assert_eq!(format!("{:?}", lock.read()), "1729");
    });
}

#[test]
fn guards_stay_where_they_are_and_locks_go_where_their_values_may() {
    assert!(!implements!(RwLockReadGuard<'static, u8>: Send));
    assert!(!implements!(RwLockWriteGuard<'static, u8>: Send));
    assert!(implements!(RwLockReadGuard<'static, u8>: Sync));
    assert!(implements!(RwLockWriteGuard<'static, u8>: Sync));
    assert!(!implements!(RwLockWriteGuard<'static, Cell<u8>>: Sync));
    assert!(implements!(RwLock<u8>: Send + Sync));
    assert!(!implements!(RwLock<Cell<u8>>: Sync), "readers would share the cell");
    assert!(!implements!(RwLock<std::rc::Rc<u8>>: Send));
}

#[test]
fn readers_that_wait_for_a_writer_come_in_when_it_gives_up() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new(7));
        let reading = lock.read();
        let writer = place.sharing(1, &lock, |lock, _| lock.write_timeout(Duration::from_millis(20)).is_some());
        // From now on it keeps readers out, for its 20 ms, or it has given up already.
        until(|| lock.try_read().is_none() || writer.iter().all(|writer| writer.is_finished()));
        let readers = place.sharing(8, &lock, |lock, _| *lock.read());
        assert_eq!(join_all(readers), [7; 8]);
        assert_eq!(join_all(writer), [false]);
        drop(reading);
        assert!(lock.try_write().is_some());
    });
}

#[test]
fn those_who_give_up_take_nothing_from_others() {
    everywhere(|place| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let actors = place.sharing(8, &lock, |lock, number| {
            let mut written = 0;
            for turn in 0..rounds(2_000) {
                let patience = Duration::from_micros([0, 20, 100, 600_000_000][turn % 4]);
                if (turn / 4 + number) % 3 == 0 {
                    let Some(mut pair) = lock.write_timeout(patience) else { continue };
                    pair.0 += 1;
                    if turn % 16 < 8 {
                        yield_now();
                    }
                    pair.1 += 1;
                    written += 1;
                } else if let Some(pair) = lock.read_timeout(patience) {
                    let left = pair.0;
                    if turn % 16 < 8 {
                        yield_now();
                    }
                    assert_eq!((left, left), *pair);
                }
            }
            written
        });
        let written: usize = join_all(actors).into_iter().sum();
        assert_eq!(*lock.try_write().unwrap(), (written, written));
    });
}
