//! The event: it wakes all who wait when it is set, and nobody waits for it as long as it is.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::watchdog::guarded;
use crate::common::{LONG, in_fiber_of_each, in_main_fiber, rounds, until};
use sisal::sync::{Event, WaitTimeoutError};
use sisal::{Cause, deadline, spawn_local, timeout};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_set_event_is_not_waited_for() {
    in_fiber_of_each(|| {
        let event = Event::new();
        assert!(!event.is_set());
        event.set();
        assert!(event.is_set());
        event.wait().unwrap();
        event.wait_timeout(Duration::ZERO).unwrap();
        event.set();
        event.wait().unwrap();
        assert!(event.is_set(), "waiting takes nothing away");
    });
}

#[test]
fn setting_wakes_all_and_stays() {
    everywhere(|place| {
        let shared = Arc::new((Event::new(), AtomicUsize::new(0)));
        let actors = place.sharing(8, &shared, |(event, woken), _| {
            event.wait().unwrap();
            woken.fetch_add(1, Ordering::Relaxed);
        });
        settle();
        assert_eq!(shared.1.load(Ordering::Relaxed), 0);
        shared.0.set();
        join_all(actors);
        join_all(place.sharing(2, &shared, |(event, _), _| event.wait().unwrap()));
    });
}

#[test]
fn what_was_written_before_it_was_set_is_seen_after_the_wait() {
    everywhere(|place| {
        for _ in 0..rounds(200) {
            let shared = Arc::new((Event::new(), AtomicUsize::new(0)));
            let actors = place.sharing(3, &shared, |(event, value), _| {
                event.wait().unwrap();
                value.load(Ordering::Relaxed)
            });
            shared.1.store(7, Ordering::Relaxed);
            shared.0.set();
            assert_eq!(join_all(actors), [7; 3]);
        }
    });
}

#[test]
fn after_a_reset_it_is_waited_for_again() {
    everywhere(|place| {
        let event = Arc::new(Event::new());
        event.set();
        event.reset();
        assert!(!event.is_set());
        event.reset();
        let actors = place.sharing(3, &event, |event, _| event.wait().unwrap());
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        event.set();
        join_all(actors);
    });
}

#[test]
fn a_reset_right_after_setting_holds_back_none_of_those_who_waited() {
    in_main_fiber(1, || {
        let event = Rc::new(Event::new());
        for _ in 0..20 {
            let fibers: Vec<_> = (0..5)
                .map(|_| {
                    let event = Rc::clone(&event);
                    spawn_local(move || event.wait())
                })
                .collect();
            settle();
            event.set();
            event.reset();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap().unwrap());
        }
    });
}

#[test]
fn two_take_turns_through_two_events() {
    everywhere(|place| {
        let shared = Arc::new((Event::new(), Event::new()));
        let players = place.sharing(2, &shared, |(ping, pong), number| {
            let (mine, other) = if number == 0 { (ping, pong) } else { (pong, ping) };
            for _ in 0..rounds(2_000) {
                mine.wait().unwrap();
                mine.reset();
                other.set();
            }
        });
        shared.0.set();
        join_all(players);
        assert!(shared.0.is_set() && !shared.1.is_set());
    });
}

#[test]
fn a_wait_with_its_own_time_times_out_and_one_with_an_enclosing_time_is_cancelled() {
    everywhere(|place| {
        let event = Arc::new(Event::new());
        let actors = place.sharing(4, &event, |event, number| {
            let (start, time) = (Instant::now(), Duration::from_millis(number as u64));
            assert!(matches!(event.wait_timeout(time), Err(WaitTimeoutError::TimedOut)));
            assert!(start.elapsed() >= time);
            assert_eq!(timeout(time, || event.wait()).unwrap_err().cause, Cause::Deadline);
            let cancelled = timeout(time, || event.wait_timeout(LONG)).unwrap_err();
            assert!(matches!(cancelled, WaitTimeoutError::Cancelled(c) if c.cause == Cause::Deadline));
        });
        join_all(actors);
        assert!(!event.is_set());
    });
}

#[test]
fn a_set_event_is_passed_also_when_the_time_is_up() {
    in_fiber_of_each(|| {
        let event = Event::new();
        event.set();
        deadline(Instant::now(), || {
            event.wait().unwrap();
            event.wait_timeout(LONG).unwrap();
        });
    });
}

#[test]
fn a_wait_with_a_time_sees_an_event_that_comes_before() {
    everywhere(|place| {
        let event = Arc::new(Event::new());
        let actors = place.sharing(4, &event, |event, _| event.wait_timeout(LONG));
        settle();
        event.set();
        assert!(join_all(actors).into_iter().all(|waited| waited.is_ok()));
    });
}

#[test]
fn it_may_be_a_static_and_needs_no_runtime() {
    static EVENT: Event = Event::new();
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    guarded(|| {
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    EVENT.wait().unwrap();
                    SEEN.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        EVENT.set();
        until(|| SEEN.load(Ordering::Relaxed) == 3);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}
