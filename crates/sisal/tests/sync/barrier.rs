//! The barrier: nobody passes before all have come, and one of them leads.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::{in_fiber_of_each, rounds, until};
use sisal::sleep;
use sisal::sync::Barrier;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn nobody_passes_before_the_last_has_come() {
    everywhere(|place| {
        let shared = Arc::new((Barrier::new(5), AtomicUsize::new(0), AtomicUsize::new(0)));
        let actors = place.sharing(4, &shared, |(barrier, came, passed), _| {
            came.fetch_add(1, Ordering::Relaxed);
            let leads = barrier.wait().is_leader();
            passed.fetch_add(1, Ordering::Relaxed);
            leads
        });
        until(|| shared.1.load(Ordering::Relaxed) == 4);
        settle();
        assert_eq!(shared.2.load(Ordering::Relaxed), 0);
        let leads = shared.0.wait().is_leader();
        let leaders = join_all(actors).into_iter().filter(|leads| *leads).count() + usize::from(leads);
        assert_eq!(leaders, 1);
    });
}

#[test]
fn it_serves_round_after_round_with_one_leader_each() {
    everywhere(|place| {
        const COUNT: usize = 6;
        let shared = Arc::new((Barrier::new(COUNT), AtomicUsize::new(0)));
        let actors = place.sharing(COUNT, &shared, |(barrier, came), number| {
            let mut led = 0;
            for round in 1..=rounds(500) {
                came.fetch_add(1, Ordering::Relaxed);
                led += usize::from(barrier.wait().is_leader());
                assert_eq!(came.load(Ordering::Relaxed), COUNT * round, "all have come, and none is a round ahead");
                if round % 50 == number {
                    sleep(Duration::from_micros(100)).unwrap();
                }
                barrier.wait();
            }
            led
        });
        assert_eq!(join_all(actors).into_iter().sum::<usize>(), rounds(500));
    });
}

#[test]
fn a_barrier_for_one_never_waits_and_has_a_leader_each_time() {
    in_fiber_of_each(|| {
        let barrier = Barrier::new(1);
        assert!((0..10).all(|_| barrier.wait().is_leader()));
    });
}

#[test]
fn a_barrier_for_nobody_never_waits() {
    in_fiber_of_each(|| {
        let barrier = Barrier::new(0);
        assert!((0..10).all(|_| barrier.wait().is_leader()));
    });
}

#[test]
fn twice_as_many_pass_in_two_groups() {
    everywhere(|place| {
        let barrier = Arc::new(Barrier::new(4));
        let actors = place.sharing(8, &barrier, |barrier, _| barrier.wait().is_leader());
        assert_eq!(join_all(actors).into_iter().filter(|leads| *leads).count(), 2);
    });
}
