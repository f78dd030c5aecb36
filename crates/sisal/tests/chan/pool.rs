//! Pools: things that are lent, and come back.

use crate::common::LONG;
use crate::common::places::{everywhere, join_all, settle};
use sisal::chan::{Pool, PoolTimeoutError, pool};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a pool has done with its things.
#[derive(Default)]
struct Tally {
    made: AtomicUsize,
    reset: AtomicUsize,
    dropped: AtomicUsize,
}

/// A thing with a number, and how often it was lent.
struct Cup {
    number: usize,
    lent: usize,
    tally: Arc<Tally>,
}

impl Drop for Cup {
    fn drop(&mut self) {
        self.tally.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Tally {
    fn counts(&self) -> (usize, usize, usize) {
        (self.made.load(Ordering::SeqCst), self.reset.load(Ordering::SeqCst), self.dropped.load(Ordering::SeqCst))
    }
}

/// A pool of at most so many cups.
fn cups(most: usize) -> (Pool<Cup>, Arc<Tally>) {
    let tally = Arc::new(Tally::default());
    let (by_making, by_reset) = (Arc::clone(&tally), Arc::clone(&tally));
    let make =
        move || Cup { number: by_making.made.fetch_add(1, Ordering::SeqCst), lent: 0, tally: Arc::clone(&by_making) };
    let reset = move |cup: &mut Cup| {
        cup.lent += 1;
        by_reset.reset.fetch_add(1, Ordering::SeqCst);
    };
    (pool(make, reset, most), tally)
}

#[track_caller]
fn check(pool: &Pool<Cup>, idle: usize, in_use: usize) {
    assert_eq!((pool.idle(), pool.in_use()), (idle, in_use));
}

#[test]
fn things_are_made_when_they_are_needed_and_used_again() {
    everywhere(|_| {
        let (pool, tally) = cups(3);
        assert_eq!((pool.capacity(), tally.counts()), (3, (0, 0, 0)));
        check(&pool, 0, 0);
        let (first, second) = (pool.get().unwrap(), pool.get().unwrap());
        assert_eq!((first.number, second.number), (0, 1));
        check(&pool, 0, 2);
        drop(first);
        check(&pool, 1, 1);
        let again = pool.get().unwrap();
        assert_eq!((again.number, again.lent), (0, 1), "the same, and it was reset");
        assert_eq!(tally.counts(), (2, 1, 0));
        drop((second, again));
        check(&pool, 2, 0);
        assert_eq!(tally.counts(), (2, 3, 0));
        drop(pool);
        assert_eq!(tally.counts(), (2, 3, 2));
    });
}

#[test]
fn a_guard_is_used_as_the_thing_itself() {
    everywhere(|_| {
        let pool = pool(Vec::new, Vec::clear, 1);
        let mut list = pool.get().unwrap();
        list.push(7);
        assert_eq!((list.len(), list[0]), (1, 7));
        drop(list);
        assert!(pool.get().unwrap().is_empty());
    });
}

#[test]
fn when_all_are_lent_trying_gives_none() {
    everywhere(|_| {
        let (pool, _) = cups(2);
        let (first, _second) = (pool.try_get().unwrap(), pool.try_get().unwrap());
        assert!(pool.try_get().is_none() && pool.clone().try_get().is_none());
        drop(first);
        assert!(pool.try_get().is_some());
    });
}

#[test]
fn when_all_are_lent_one_waits_until_one_comes_back() {
    everywhere(|place| {
        let (pool, tally) = cups(1);
        let cup = pool.get().unwrap();
        let waiters = place.crowd(3, |_| {
            let pool = pool.clone();
            move || pool.get().unwrap().number
        });
        settle();
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        drop(cup);
        assert_eq!(join_all(waiters), [0, 0, 0]);
        assert_eq!(tally.counts(), (1, 4, 0));
    });
}

#[test]
fn waiting_ends_when_its_time_is_over_and_not_before() {
    everywhere(|place| {
        let (pool, _) = cups(1);
        let cup = pool.get_timeout(Duration::ZERO).ok().unwrap();
        let start = Instant::now();
        assert!(matches!(pool.get_timeout(Duration::from_millis(2)), Err(PoolTimeoutError::TimedOut)));
        assert!(start.elapsed() >= Duration::from_millis(2));
        let then = Instant::now() + Duration::from_millis(2);
        assert!(matches!(pool.get_deadline(then), Err(PoolTimeoutError::TimedOut)));
        assert!(Instant::now() >= then);
        let waiters = place.crowd(2, |number| {
            let pool = pool.clone();
            move || match number {
                0 => pool.get_timeout(LONG).map(|cup| cup.number).ok(),
                _ => pool.get_deadline(Instant::now() + LONG).map(|cup| cup.number).ok(),
            }
        });
        settle();
        drop(cup);
        assert_eq!(join_all(waiters), [Some(0); 2]);
    });
}

#[test]
fn a_thing_that_is_discarded_makes_place_for_a_new_one() {
    everywhere(|place| {
        let (pool, tally) = cups(1);
        let cup = pool.get().unwrap();
        let other = pool.clone();
        let waiter = place.spawn(move || other.get().unwrap().number);
        settle();
        cup.discard();
        assert_eq!(waiter.join(), 1);
        assert_eq!(tally.counts(), (2, 1, 1), "it was dropped and not reset");
        check(&pool, 1, 0);
    });
}

#[test]
fn a_thing_that_is_detached_is_the_callers_and_makes_place_for_a_new_one() {
    everywhere(|place| {
        let (pool, tally) = cups(1);
        let guard = pool.get().unwrap();
        let other = pool.clone();
        let waiter = place.spawn(move || other.get().unwrap().number);
        settle();
        let cup = guard.detach();
        assert_eq!((cup.number, waiter.join()), (0, 1));
        drop(pool);
        assert_eq!(tally.counts(), (2, 1, 1));
        drop(cup);
        assert_eq!(tally.counts(), (2, 1, 2));
    });
}

#[test]
fn a_thing_whose_reset_panics_is_thrown_away() {
    everywhere(|_| {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let reset = |number: &mut usize| assert!(*number > 0, "on purpose");
        let pool = pool(move || count.fetch_add(1, Ordering::SeqCst), reset, 1);
        let guard = pool.get().unwrap();
        let _ = catch_unwind(AssertUnwindSafe(move || drop(guard)));
        assert_eq!((pool.idle(), pool.in_use()), (0, 0));
        assert_eq!(*pool.try_get().unwrap(), 1, "its place is free");
        assert_eq!(*pool.try_get().unwrap(), 1, "and this one comes back");
    });
}

#[test]
fn a_thing_whose_making_panics_takes_no_place() {
    everywhere(|_| {
        let is_broken = Arc::new(AtomicBool::new(true));
        let broken = Arc::clone(&is_broken);
        let make = move || assert!(!broken.load(Ordering::SeqCst), "on purpose");
        let pool = pool(make, |()| (), 1);
        for _ in 0..3 {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(pool.get()))).is_err());
        }
        is_broken.store(false, Ordering::SeqCst);
        assert!(pool.try_get().is_some());
    });
}

#[test]
fn a_guard_outlives_the_pool_it_is_from() {
    everywhere(|_| {
        let (pool, tally) = cups(1);
        let cup = pool.get().unwrap();
        drop(pool);
        assert_eq!((cup.number, tally.counts()), (0, (1, 0, 0)));
        drop(cup);
        assert_eq!(tally.counts().2, 1, "with nowhere to go it is dropped");
    });
}

#[test]
fn a_thing_is_lent_to_one_at_a_time_and_never_are_there_more_than_so_many() {
    const MOST: usize = 3;
    everywhere(|place| {
        let (pool, tally) = cups(MOST);
        let lent: Arc<[AtomicBool; MOST]> = Arc::default();
        let users = place.crowd(8, |_| {
            let (pool, lent) = (pool.clone(), Arc::clone(&lent));
            move || {
                for round in 0..40 {
                    let cup = pool.get().unwrap();
                    let number = cup.number;
                    assert!(!lent[number].swap(true, Ordering::SeqCst), "two have it");
                    assert!(pool.in_use() <= MOST);
                    if round % 3 == 0 {
                        sisal::yield_now();
                    }
                    lent[number].store(false, Ordering::SeqCst);
                }
            }
        });
        join_all(users);
        let (made, reset, dropped) = tally.counts();
        assert!((1..=MOST).contains(&made), "{made} were made");
        assert_eq!((reset, dropped), (8 * 40, 0));
        check(&pool, made, 0);
    });
}

#[test]
fn places_are_neither_lost_nor_doubled_when_things_are_thrown_away_at_random() {
    const MOST: usize = 2;
    everywhere(|place| {
        let (pool, tally) = cups(MOST);
        let users = place.crowd(6, |user| {
            let pool = pool.clone();
            move || {
                for round in 0..40 {
                    let cup = pool.get().unwrap();
                    match (user + round) % 4 {
                        0 => cup.discard(),
                        1 => drop(cup.detach()),
                        _ => drop(cup),
                    }
                }
            }
        });
        join_all(users);
        let all: Vec<_> = std::iter::from_fn(|| pool.try_get()).collect();
        assert_eq!(all.len(), MOST);
        drop((all, pool));
        let (made, _, dropped) = tally.counts();
        assert_eq!(made, dropped);
    });
}
