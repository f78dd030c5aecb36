//! The wait group: a wait for it ends when all its other clones are gone.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::{in_fiber_of_each, rounds, until};
use sisal::sync::WaitGroup;
use sisal::{Cause, spawn, timeout, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn one_without_clones_is_not_waited_for() {
    WaitGroup::new().wait().unwrap();
    in_fiber_of_each(|| {
        let group = WaitGroup::new();
        drop(group.clone());
        group.wait().unwrap();
    });
}

#[test]
fn it_is_waited_for_until_the_last_clone_is_gone() {
    everywhere(|place| {
        for _ in 0..rounds(100) {
            let group = WaitGroup::new();
            let done = Arc::new(AtomicUsize::new(0));
            for number in 0..8 {
                let (group, done) = (group.clone(), Arc::clone(&done));
                drop(place.spawn(move || {
                    (0..number).for_each(|_| yield_now());
                    done.fetch_add(1, Ordering::Relaxed);
                    drop(group);
                }));
            }
            group.wait().unwrap();
            assert_eq!(done.load(Ordering::Relaxed), 8);
        }
    });
}

#[test]
fn the_wait_does_not_end_while_one_clone_is_left() {
    everywhere(|place| {
        let group = WaitGroup::new();
        let (first, second) = (group.clone(), group.clone());
        let waiter = place.spawn(move || group.wait());
        drop(first);
        settle();
        assert!(!waiter.is_finished());
        let third = second.clone();
        drop(second);
        settle();
        assert!(!waiter.is_finished());
        drop(third);
        waiter.join().unwrap();
    });
}

#[test]
fn several_may_wait_and_do_not_wait_for_each_other() {
    everywhere(|place| {
        let group = WaitGroup::new();
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let group = group.clone();
                place.spawn(move || group.wait())
            })
            .collect();
        settle();
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        drop(group);
        join_all(waiters).into_iter().for_each(Result::unwrap);
    });
}

#[test]
fn a_panic_drops_the_clone_like_everything_else() {
    everywhere(|place| {
        let group = WaitGroup::new();
        let panicking: Vec<_> = (0..3)
            .map(|_| {
                let group = group.clone();
                place.spawn(move || {
                    let _group = group;
                    yield_now();
                    panic!("on purpose");
                })
            })
            .collect();
        group.wait().unwrap();
        assert!(panicking.into_iter().all(|actor| actor.end().is_err()));
    });
}

#[test]
fn a_cancelled_wait_has_given_its_own_clone_up() {
    everywhere(|place| {
        let group = WaitGroup::new();
        let impatient = group.clone();
        let waiter = place.spawn(move || timeout(Duration::from_millis(1), || impatient.wait()));
        assert_eq!(waiter.join().unwrap_err().cause, Cause::Deadline);
        // It would wait for ever for a clone that is kept.
        group.wait().unwrap();
    });
}

#[test]
fn clones_go_from_fiber_to_fiber() {
    in_fiber_of_each(|| {
        fn descend(depth: usize, group: WaitGroup, ends: Arc<AtomicUsize>) {
            if depth == 0 {
                ends.fetch_add(1, Ordering::Relaxed);
                return;
            }
            for _ in 0..2 {
                let (group, ends) = (group.clone(), Arc::clone(&ends));
                drop(spawn(move || descend(depth - 1, group, ends)));
            }
        }
        let (group, ends) = (WaitGroup::new(), Arc::new(AtomicUsize::new(0)));
        descend(6, group.clone(), Arc::clone(&ends));
        group.wait().unwrap();
        assert_eq!(ends.load(Ordering::Relaxed), 64);
        until(|| Arc::strong_count(&ends) == 1);
    });
}
