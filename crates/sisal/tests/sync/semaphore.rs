//! The semaphore: never more permits out than there are, granted in the order they were asked for, and none lost.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::{LONG, in_fiber_of_each, in_main_fiber, rounds, until};
use sisal::sync::{AcquireTimeoutError, Semaphore};
use sisal::{Cause, deadline, sleep, spawn, spawn_local, timeout, yield_now};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn permits_are_counted_out_and_back() {
    in_fiber_of_each(|| {
        let semaphore = Semaphore::new(3);
        assert_eq!(semaphore.available(), 3);
        let one = semaphore.acquire().unwrap();
        let two = semaphore.acquire_many(2).unwrap();
        assert_eq!(semaphore.available(), 0);
        assert!(semaphore.try_acquire().is_none());
        drop(two);
        assert_eq!(semaphore.available(), 2);
        let again = semaphore.try_acquire().unwrap();
        assert_eq!(semaphore.available(), 1);
        drop((one, again));
        assert_eq!(semaphore.available(), 3);
    });
}

#[test]
fn it_may_be_a_static_and_needs_no_runtime() {
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    let permit = SEMAPHORE.acquire().unwrap();
    assert!(SEMAPHORE.try_acquire().is_none());
    let refused = SEMAPHORE.acquire_timeout(Duration::from_millis(1));
    assert!(matches!(refused, Err(AcquireTimeoutError::TimedOut)));
    drop(permit);
    assert!(SEMAPHORE.acquire_timeout(Duration::ZERO).is_ok());
}

#[test]
fn a_forgotten_permit_does_not_come_back() {
    in_fiber_of_each(|| {
        let semaphore = Semaphore::new(4);
        semaphore.acquire().unwrap().forget();
        semaphore.acquire_many(2).unwrap().forget();
        assert_eq!(semaphore.available(), 1);
        semaphore.add_permits(5);
        assert_eq!(semaphore.available(), 6);
    });
}

#[test]
fn never_more_are_inside_than_there_are_permits() {
    everywhere(|place| {
        const PERMITS: usize = 3;
        let shared = Arc::new((Semaphore::new(PERMITS), AtomicUsize::new(0)));
        let actors = place.sharing(10, &shared, |(semaphore, inside), number| {
            for turn in 0..rounds(1_000) {
                let _permit = semaphore.acquire().unwrap();
                let now = inside.fetch_add(1, Ordering::Relaxed) + 1;
                assert!((1..=PERMITS).contains(&now), "{now} inside");
                if turn % 32 == number {
                    yield_now();
                }
                inside.fetch_sub(1, Ordering::Relaxed);
            }
        });
        join_all(actors);
        assert_eq!(shared.0.available(), PERMITS);
    });
}

#[test]
fn as_many_are_inside_as_there_are_permits() {
    everywhere(|place| {
        let shared = Arc::new((Semaphore::new(5), AtomicUsize::new(0)));
        let actors = place.sharing(5, &shared, |(semaphore, inside), _| {
            let _permit = semaphore.acquire().unwrap();
            inside.fetch_add(1, Ordering::Relaxed);
            until(|| inside.load(Ordering::Relaxed) == 5);
        });
        join_all(actors);
    });
}

#[test]
fn added_permits_let_as_many_in() {
    everywhere(|place| {
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let actors = place.sharing(6, &shared, |(semaphore, inside), _| {
            semaphore.acquire().unwrap().forget();
            inside.fetch_add(1, Ordering::Relaxed);
        });
        for expected in [1, 3, 6] {
            shared.0.add_permits(expected - shared.1.load(Ordering::Relaxed));
            until(|| shared.1.load(Ordering::Relaxed) == expected);
            settle();
            assert_eq!(shared.1.load(Ordering::Relaxed), expected);
        }
        join_all(actors);
        assert_eq!(shared.0.available(), 0);
    });
}

#[test]
fn permits_may_be_used_as_messages() {
    everywhere(|place| {
        let shared = Arc::new((Semaphore::new(0), Semaphore::new(0)));
        let players = place.sharing(2, &shared, |(ping, pong), number| {
            let (mine, other) = if number == 0 { (ping, pong) } else { (pong, ping) };
            for _ in 0..rounds(2_000) {
                mine.acquire().unwrap().forget();
                other.add_permits(1);
            }
        });
        shared.0.add_permits(1);
        join_all(players);
        assert_eq!((shared.0.available(), shared.1.available()), (1, 0));
    });
}

#[test]
fn whoever_asks_for_many_gets_them_together() {
    everywhere(|place| {
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let actor = place.sharing(1, &shared, |(semaphore, inside), _| {
            let _permits = semaphore.acquire_many(3).unwrap();
            inside.store(1, Ordering::Relaxed);
        });
        for _ in 0..2 {
            shared.0.add_permits(1);
            settle();
            assert_eq!(shared.1.load(Ordering::Relaxed), 0);
        }
        shared.0.add_permits(1);
        join_all(actor);
        assert_eq!(shared.0.available(), 3);
    });
}

#[test]
fn nobody_passes_one_who_waits_for_many() {
    everywhere(|place| {
        let semaphore = Arc::new(Semaphore::new(2));
        let large = place.sharing(1, &semaphore, |semaphore, _| drop(semaphore.acquire_many(3).unwrap()));
        // Two are left, but from the moment the other waits they are not to be had.
        until(|| semaphore.try_acquire().is_none());
        let refused = semaphore.acquire_timeout(Duration::from_micros(100)).err();
        assert!(matches!(refused, Some(AcquireTimeoutError::TimedOut)));
        let small = place.sharing(3, &semaphore, |semaphore, _| drop(semaphore.acquire().unwrap()));
        settle();
        assert!(small.iter().all(|actor| !actor.is_finished()));
        semaphore.add_permits(1);
        join_all(large);
        join_all(small);
        assert_eq!(semaphore.available(), 3);
    });
}

#[test]
fn permits_are_granted_in_the_order_of_asking() {
    in_main_fiber(1, || {
        let semaphore = Rc::new(Semaphore::new(0));
        let order = Rc::new(RefCell::new(Vec::new()));
        let fibers: Vec<_> = (0..20)
            .map(|number| {
                let (semaphore, order) = (Rc::clone(&semaphore), Rc::clone(&order));
                let fiber = spawn_local(move || {
                    let permits = semaphore.acquire_many(1 + number % 3).unwrap();
                    order.borrow_mut().push(number);
                    permits.forget();
                });
                settle();
                fiber
            })
            .collect();
        for _ in 0..40 {
            semaphore.add_permits(1);
            settle();
        }
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        assert_eq!(*order.borrow(), (0..20).collect::<Vec<_>>());
    });
}

#[test]
fn one_who_gives_up_lets_those_behind_pass() {
    everywhere(|place| {
        let semaphore = Arc::new(Semaphore::new(2));
        let large = place.sharing(1, &semaphore, |semaphore, _| {
            timeout(Duration::from_millis(3), || semaphore.acquire_many(9).map(drop)).unwrap_err().cause
        });
        let small = place.sharing(4, &semaphore, |semaphore, _| drop(semaphore.acquire().unwrap()));
        join_all(small);
        assert_eq!(join_all(large), [Cause::Deadline]);
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn a_wait_with_its_own_time_times_out_and_one_with_an_enclosing_time_is_cancelled() {
    everywhere(|place| {
        let semaphore = Arc::new(Semaphore::new(0));
        let actors = place.sharing(4, &semaphore, |semaphore, number| {
            let (start, time) = (Instant::now(), Duration::from_millis(number as u64));
            let refused = semaphore.acquire_timeout(time).err();
            assert!(matches!(refused, Some(AcquireTimeoutError::TimedOut)) && start.elapsed() >= time);
            let refused = timeout(time, || semaphore.acquire().err());
            assert_eq!(refused.unwrap().cause, Cause::Deadline);
            let refused = timeout(time, || semaphore.acquire_timeout(LONG).err());
            assert!(matches!(refused, Some(AcquireTimeoutError::Cancelled(c)) if c.cause == Cause::Deadline));
        });
        join_all(actors);
        semaphore.add_permits(1);
        assert!(semaphore.try_acquire().is_some(), "those that left take nothing with them");
    });
}

#[test]
fn a_permit_that_is_there_is_given_also_when_the_time_is_up() {
    in_fiber_of_each(|| {
        let semaphore = Semaphore::new(2);
        deadline(Instant::now(), || {
            let one = semaphore.acquire().unwrap();
            let two = semaphore.acquire_timeout(Duration::ZERO).unwrap();
            assert_eq!(semaphore.acquire().err().unwrap().cause, Cause::Deadline);
            drop((one, two));
        });
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn a_panic_gives_the_permit_back() {
    in_fiber_of_each(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let inner = Arc::clone(&semaphore);
        let panicked = spawn(move || {
            let _permit = inner.acquire().unwrap();
            yield_now();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(semaphore.available(), 1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _permit = semaphore.acquire().unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(semaphore.available(), 1);
    });
}

#[test]
fn a_permit_is_kept_across_sleeps() {
    everywhere(|place| {
        let shared = Arc::new((Semaphore::new(2), AtomicUsize::new(0)));
        let actors = place.sharing(6, &shared, |(semaphore, inside), _| {
            let _permit = semaphore.acquire().unwrap();
            assert!(inside.fetch_add(1, Ordering::Relaxed) < 2);
            sleep(Duration::from_micros(500)).unwrap();
            inside.fetch_sub(1, Ordering::Relaxed);
        });
        join_all(actors);
    });
}
