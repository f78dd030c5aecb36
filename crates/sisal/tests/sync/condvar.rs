//! The condition variable: it wakes whom it should and nobody else, and the mutex is locked again whatever ended the wait.

use crate::common::places::{Actor, Place, everywhere, join_all, settle};
use crate::common::watchdog::guarded;
use crate::common::{LONG, in_fiber_of_each, rounds, until};
use sisal::sync::{Condvar, Mutex};
use sisal::{Cause, spawn, timeout, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A room in which some wait and some have been woken. Both numbers change under its mutex, and a wait gives the mutex up only
/// when it can be notified, so that whoever counts as waiting does wait.
#[derive(Default)]
struct Room {
    state: Mutex<State>,
    condvar: Condvar,
}

#[derive(Default)]
struct State {
    waiting: usize,
    woken: usize,
    is_open: bool,
}

impl Room {
    fn wait_once(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.condvar.wait(&mut state).unwrap();
        state.woken += 1;
    }

    fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    fn woken(&self) -> usize {
        self.state.lock().woken
    }
}

/// A room in which so many wait.
fn crowded_room(place: &Place, count: usize) -> (Arc<Room>, Vec<Actor<()>>) {
    let room = Arc::new(Room::default());
    let actors = place.sharing(count, &room, |room, _| room.wait_once());
    until(|| room.waiting() == count);
    (room, actors)
}

#[test]
fn notify_one_wakes_one_each_time() {
    everywhere(|place| {
        let (room, actors) = crowded_room(place, 8);
        for woken in 1..=8 {
            room.condvar.notify_one();
            until(|| room.woken() == woken);
            settle();
            assert_eq!(room.woken(), woken);
        }
        join_all(actors);
    });
}

#[test]
fn as_many_wake_as_are_notified_at_once() {
    everywhere(|place| {
        let (room, actors) = crowded_room(place, 8);
        (0..3).for_each(|_| room.condvar.notify_one());
        until(|| room.woken() == 3);
        settle();
        assert_eq!(room.woken(), 3, "nobody wakes for no reason");
        room.condvar.notify_all();
        join_all(actors);
    });
}

#[test]
fn notify_all_wakes_all_that_wait_now_and_none_that_come_later() {
    everywhere(|place| {
        let (room, early) = crowded_room(place, 6);
        room.condvar.notify_all();
        join_all(early);
        let late = place.sharing(2, &room, |room, _| room.wait_once());
        until(|| room.waiting() == 8);
        settle();
        assert_eq!(room.woken(), 6);
        room.condvar.notify_all();
        join_all(late);
    });
}

#[test]
fn a_notification_with_nobody_there_is_lost() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        room.condvar.notify_one();
        room.condvar.notify_all();
        let actors = place.sharing(1, &room, |room, _| room.wait_once());
        until(|| room.waiting() == 1);
        settle();
        assert_eq!(room.woken(), 0);
        room.condvar.notify_one();
        join_all(actors);
    });
}

#[test]
fn a_notification_may_be_given_under_the_lock() {
    everywhere(|place| {
        let (room, actors) = crowded_room(place, 4);
        let state = room.state.lock();
        room.condvar.notify_all();
        settle();
        assert_eq!(state.woken, 0, "the woken have the lock to wait for");
        drop(state);
        join_all(actors);
        assert_eq!(room.woken(), 4);
    });
}

#[test]
fn wait_while_waits_until_the_condition_is_false() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        let actors = place.sharing(4, &room, |room, _| {
            let mut state = room.state.lock();
            state.waiting += 1;
            room.condvar.wait_while(&mut state, |state| !state.is_open).unwrap();
            assert!(state.is_open);
        });
        until(|| room.waiting() == 4);
        (0..20).for_each(|_| room.condvar.notify_all());
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        room.state.lock().is_open = true;
        room.condvar.notify_all();
        join_all(actors);
    });
}

#[test]
fn wait_while_a_false_condition_does_not_wait() {
    in_fiber_of_each(|| {
        let (mutex, condvar) = (Mutex::new(7), Condvar::new());
        let mut guard = mutex.lock();
        condvar.wait_while(&mut guard, |_| false).unwrap();
        let waited = condvar.wait_timeout_while(&mut guard, LONG, |_| false).unwrap();
        assert!(!waited.timed_out());
        assert_eq!(*guard, 7);
    });
}

#[test]
fn a_wait_with_a_time_ends_after_it_and_says_so() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        let actors = place.sharing(4, &room, |room, number| {
            let time = Duration::from_millis(number as u64);
            let mut state = room.state.lock();
            let start = Instant::now();
            assert!(room.condvar.wait_timeout(&mut state, time).unwrap().timed_out());
            assert!(start.elapsed() >= time);
            state.woken += 1;
            let start = Instant::now();
            let waited = room.condvar.wait_timeout_while(&mut state, time, |state| !state.is_open).unwrap();
            assert!(waited.timed_out() && start.elapsed() >= time);
        });
        join_all(actors);
        assert_eq!(room.woken(), 4);
    });
}

#[test]
fn a_wait_with_a_time_that_is_notified_has_not_timed_out() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        let actors = place.sharing(4, &room, |room, number| {
            let mut state = room.state.lock();
            state.waiting += 1;
            let waited = match number % 2 {
                0 => room.condvar.wait_timeout(&mut state, LONG),
                _ => room.condvar.wait_timeout_while(&mut state, LONG, |state| !state.is_open),
            };
            waited.unwrap().timed_out()
        });
        until(|| room.waiting() == 4);
        room.state.lock().is_open = true;
        room.condvar.notify_all();
        assert!(join_all(actors).into_iter().all(|timed_out| !timed_out));
    });
}

#[test]
fn one_that_timed_out_takes_no_notification_from_another() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        let impatient = place.sharing(4, &room, |room, _| {
            let mut state = room.state.lock();
            room.condvar.wait_timeout(&mut state, Duration::from_micros(500)).unwrap().timed_out()
        });
        assert!(join_all(impatient).into_iter().all(|timed_out| timed_out));
        let patient = place.sharing(1, &room, |room, _| room.wait_once());
        until(|| room.waiting() == 1);
        room.condvar.notify_one();
        join_all(patient);
    });
}

#[test]
fn a_cancelled_wait_has_its_mutex_locked_again() {
    everywhere(|place| {
        let room = Arc::new(Room::default());
        let actors = place.sharing(4, &room, |room, _| {
            let mut state = room.state.lock();
            let waited = timeout(Duration::from_millis(1), || room.condvar.wait(&mut state));
            assert_eq!(waited.unwrap_err().cause, Cause::Deadline);
            assert!(room.state.try_lock().is_none());
            let before = state.woken;
            yield_now();
            state.woken = before + 1;
        });
        join_all(actors);
        assert_eq!(room.woken(), 4);
    });
}

#[test]
fn every_way_of_waiting_is_cancelled_by_an_enclosing_timeout() {
    in_fiber_of_each(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut guard = mutex.lock();
        let cancelled = [
            timeout(Duration::from_millis(1), || condvar.wait(&mut guard)).unwrap_err(),
            timeout(Duration::from_millis(1), || condvar.wait_while(&mut guard, |()| true)).unwrap_err(),
            timeout(Duration::from_millis(1), || condvar.wait_timeout(&mut guard, LONG)).unwrap_err(),
            timeout(Duration::from_millis(1), || condvar.wait_timeout_while(&mut guard, LONG, |()| true)).unwrap_err(),
        ];
        assert!(cancelled.iter().all(|cancelled| cancelled.cause == Cause::Deadline));
    });
}

#[test]
fn a_wait_in_a_destructor_while_unwinding_is_cancelled_with_the_mutex_locked() {
    struct WaitOnDrop<'a>(&'a Room, &'a mut Option<Cause>);
    impl Drop for WaitOnDrop<'_> {
        fn drop(&mut self) {
            let mut state = self.0.state.lock();
            *self.1 = self.0.condvar.wait(&mut state).err().map(|cancelled| cancelled.cause);
            state.woken += 1;
        }
    }
    in_fiber_of_each(|| {
        let room = Room::default();
        let mut cause = None;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _waits = WaitOnDrop(&room, &mut cause);
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!((cause, room.woken()), (Some(Cause::Unwinding), 1));
    });
}

#[test]
fn two_take_turns_through_one_condvar() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let players = place.sharing(2, &shared, |(turn, changed), number| {
            for _ in 0..rounds(2_000) {
                let mut turn = turn.lock();
                changed.wait_while(&mut turn, |turn| *turn % 2 != number).unwrap();
                *turn += 1;
                changed.notify_one();
            }
        });
        join_all(players);
        assert_eq!(*shared.0.lock(), 2 * rounds(2_000));
    });
}

#[test]
fn a_queue_made_of_it_hands_over_every_item_once() {
    everywhere(|place| {
        const ITEMS: usize = 500;
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let takers = place.sharing(4, &shared, |(items, is_filled), _| {
            let take = || {
                let mut items = items.lock();
                is_filled.wait_while(&mut items, |items: &mut Vec<usize>| items.is_empty()).unwrap();
                items.pop().unwrap()
            };
            (0..ITEMS).map(|_| take()).sum::<usize>()
        });
        let givers = place.sharing(4, &shared, |(items, is_filled), number| {
            for item in 0..ITEMS {
                items.lock().push(number * ITEMS + item);
                is_filled.notify_one();
            }
        });
        join_all(givers);
        assert_eq!(join_all(takers).into_iter().sum::<usize>(), (0..4 * ITEMS).sum());
    });
}

#[test]
fn without_a_runtime_threads_wait_and_notify() {
    static MUTEX: Mutex<bool> = Mutex::new(false);
    static CONDVAR: Condvar = Condvar::new();
    guarded(|| {
        let waiter = std::thread::spawn(|| CONDVAR.wait_while(&mut MUTEX.lock(), |is_set| !*is_set).unwrap());
        *MUTEX.lock() = true;
        CONDVAR.notify_all();
        waiter.join().unwrap();
    });
}

#[test]
fn one_condvar_serves_one_mutex_after_another() {
    in_fiber_of_each(|| {
        let shared = Arc::new((Mutex::new(false), Mutex::new(false), Condvar::new()));
        for (turn, _) in [(); 4].iter().enumerate() {
            let waiter = {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    let mutex = if turn % 2 == 0 { &shared.0 } else { &shared.1 };
                    let mut is_set = mutex.lock();
                    shared.2.wait_while(&mut is_set, |is_set| !std::mem::take(is_set)).unwrap();
                })
            };
            *if turn % 2 == 0 { shared.0.lock() } else { shared.1.lock() } = true;
            // The waiter has yet to look, or waits already: under the lock there is nothing between.
            shared.2.notify_one();
            waiter.join().unwrap();
        }
    });
}
