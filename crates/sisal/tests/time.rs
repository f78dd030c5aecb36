//! Sleeping and yielding. Nothing here asks how late a sleep ends: only that it ends, not early, and in its order.

mod common;

use common::gate::Gate;
use common::{LONG, in_fiber_of_each, in_main_fiber, rounds, until, with_workers};
use sisal::{join_all, sleep, sleep_until, spawn, spawn_local, yield_now};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_sleep_never_ends_early() {
    in_fiber_of_each(|| {
        let fibers = (0..200u64).map(|number| {
            spawn(move || {
                let duration = Duration::from_micros(number * 37);
                let start = Instant::now();
                sleep(duration).unwrap();
                assert!(start.elapsed() >= duration, "{:?} of {duration:?}", start.elapsed());
                let instant = Instant::now() + duration;
                sleep_until(instant).unwrap();
                assert!(Instant::now() >= instant);
            })
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
    });
}

/// Fibers of this worker sleep until the moments that come in this order; in which order they wake. None if the machine was so
/// slow that the first moment had come before the last fiber slept.
fn order_of_waking(delays: &[u64]) -> Option<Vec<u64>> {
    let base = Instant::now();
    let first = base + Duration::from_millis(*delays.iter().min()?);
    let woken = Rc::new(RefCell::new(Vec::new()));
    let in_time = Rc::new(Cell::new(true));
    let fibers: Vec<_> = delays
        .iter()
        .map(|&delay| {
            let (woken, in_time) = (Rc::clone(&woken), Rc::clone(&in_time));
            spawn_local(move || {
                in_time.set(in_time.get() && Instant::now() < first);
                sleep_until(base + Duration::from_millis(delay)).unwrap();
                woken.borrow_mut().push(delay);
            })
        })
        .collect();
    join_all(fibers).into_iter().for_each(Result::unwrap);
    in_time.get().then(|| woken.take())
}

#[test]
fn a_shorter_sleep_that_begins_later_ends_first() {
    in_fiber_of_each(|| {
        let woken = std::iter::repeat_with(|| order_of_waking(&[16, 12, 8, 4])).find_map(|woken| woken);
        assert_eq!(woken.unwrap(), [4, 8, 12, 16]);
    });
}

#[test]
fn an_hour_long_sleep_delays_no_short_one() {
    in_fiber_of_each(|| {
        let sleepers: Vec<_> = (0..10).map(|_| spawn(|| sleep(LONG))).collect();
        yield_now();
        for _ in 0..20 {
            sleep(Duration::from_micros(100)).unwrap();
            spawn(|| sleep(Duration::from_micros(100)).unwrap()).join().unwrap();
        }
        assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()));
    });
}

#[test]
fn ten_thousand_sleepers_all_wake() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let count = rounds(10_000) as u64;
            let fibers = (0..count).map(|number| {
                spawn(move || {
                    sleep(Duration::from_micros(number * 7919 % 20_000)).unwrap();
                    number
                })
            });
            let sum: u64 = join_all(fibers).into_iter().map(Result::unwrap).sum();
            assert_eq!(sum, count * (count - 1) / 2);
        });
    });
}

#[test]
fn the_longest_and_the_shortest_times_are_taken() {
    in_fiber_of_each(|| {
        sleep(Duration::ZERO).unwrap();
        sleep(Duration::from_nanos(1)).unwrap();
        sleep_until(Instant::now()).unwrap();
        if let Some(past) = Instant::now().checked_sub(Duration::from_secs(1)) {
            sleep_until(past).unwrap();
        }
        let started = Arc::new(AtomicUsize::new(0));
        let endless: Vec<_> = [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 40)]
            .map(|duration| {
                let started = Arc::clone(&started);
                spawn(move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    sleep(duration)
                })
            })
            .into();
        until(|| started.load(Ordering::Relaxed) == 3);
        sleep(Duration::from_millis(1)).unwrap();
        assert!(endless.iter().all(|fiber| !fiber.is_finished()), "none has wrapped around");
    });
}

#[test]
fn a_sleep_of_nothing_lets_others_have_a_turn() {
    in_fiber_of_each(|| {
        for give_way in [|| sleep(Duration::ZERO).unwrap(), || sleep_until(Instant::now()).unwrap()] {
            let ran = Rc::new(Cell::new(false));
            let other = Rc::clone(&ran);
            drop(spawn_local(move || other.set(true)));
            let mut turns = 0;
            while !ran.get() {
                give_way();
                turns += 1;
            }
            assert!(turns < 1_000, "{turns} turns");
        }
    });
}

#[test]
fn yielding_fibers_of_a_worker_take_turns() {
    in_main_fiber(1, || {
        let log = Rc::new(RefCell::new(Vec::new()));
        let fibers: Vec<_> = (0..5)
            .map(|number| {
                let log = Rc::clone(&log);
                spawn_local(move || {
                    // Until all have begun, so that the order is one of yields alone.
                    until(|| {
                        let mut log = log.borrow_mut();
                        if !log.contains(&number) {
                            log.push(number);
                        }
                        log.len() >= 5
                    });
                    for _ in 0..100 {
                        log.borrow_mut().push(number);
                        yield_now();
                    }
                })
            })
            .collect();
        join_all(fibers).into_iter().for_each(Result::unwrap);
        // In every stretch of the log each has had about as many turns as any other.
        let log = log.borrow();
        for stretch in log[10..log.len() - 25].windows(50) {
            for number in 0..5 {
                let turns = stretch.iter().filter(|turn| **turn == number).count();
                assert!((5..=15).contains(&turns), "{turns} turns of 50 for fiber {number}");
            }
        }
    });
}

#[test]
fn a_yield_with_nobody_else_there_returns() {
    in_fiber_of_each(|| (0..10_000).for_each(|_| yield_now()));
}

#[test]
fn a_yielding_fiber_sees_what_comes_from_outside() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let passed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&passed);
        let waiter = spawn_local(move || {
            way.pass().unwrap();
            flag.store(true, Ordering::Relaxed);
        });
        yield_now();
        gate.open();
        // The worker is never idle, and still takes its mail.
        until(|| passed.load(Ordering::Relaxed));
        waiter.join().unwrap();
    });
}

#[test]
fn a_yielding_fiber_does_not_hold_up_the_timers_of_its_worker() {
    in_fiber_of_each(|| {
        let woken = Rc::new(Cell::new(0));
        for _ in 0..5 {
            let woken = Rc::clone(&woken);
            drop(spawn_local(move || {
                for _ in 0..5 {
                    sleep(Duration::from_micros(50)).unwrap();
                    woken.set(woken.get() + 1);
                }
            }));
        }
        until(|| woken.get() == 25);
    });
}
