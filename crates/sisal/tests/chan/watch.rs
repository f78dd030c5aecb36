//! Channels that hold one value, and tell of its changes.

use crate::common::LONG;
use crate::common::flavours::Ledger;
use crate::common::places::{everywhere, join_all, settle};
use sisal::chan::{RecvError, RecvTimeoutError, TryRecvError, watch};
use std::time::{Duration, Instant};

#[test]
fn everybody_sees_the_value_that_was_sent_last() {
    everywhere(|_| {
        let (tx, rx) = watch(1);
        assert_eq!((tx.get(), rx.get()), (1, 1));
        assert_eq!(tx.send(2), 1, "the old one is returned");
        assert_eq!(tx.send(3), 2);
        let late = tx.subscribe();
        assert_eq!((tx.get(), rx.get(), late.get(), rx.clone().get()), (3, 3, 3, 3));
    });
}

#[test]
fn a_value_is_looked_at_in_place() {
    everywhere(|_| {
        let (tx, rx) = watch(vec![1, 2]);
        assert_eq!(tx.with(Vec::len), 2);
        assert_eq!(rx.with(|value| value[1]), 2);
    });
}

#[test]
fn a_value_is_changed_in_place_and_that_is_told() {
    everywhere(|_| {
        let (tx, mut rx) = watch(vec![1]);
        tx.modify(|value| value.push(2));
        assert!(rx.has_changed());
        rx.changed().unwrap();
        assert_eq!(rx.get(), [1, 2]);
    });
}

#[test]
fn the_first_value_is_no_change() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        assert!(!rx.has_changed() && !tx.subscribe().has_changed());
        assert_eq!(rx.changed_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        tx.send(2);
        assert!(rx.has_changed());
        assert!(!tx.subscribe().has_changed(), "a new receiver has seen what was there");
    });
}

#[test]
fn a_change_is_told_once() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        tx.send(2);
        tx.send(3);
        assert_eq!(rx.changed(), Ok(()));
        assert!(!rx.has_changed());
        assert_eq!(rx.changed_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        tx.send(4);
        assert_eq!(rx.changed_timeout(LONG), Ok(()));
        assert_eq!(rx.get(), 4);
    });
}

#[test]
fn getting_a_new_value_marks_it_as_seen_and_looking_at_it_does_not() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        tx.send(2);
        assert_eq!((rx.get(), rx.with(|value| *value)), (2, 2));
        assert!(rx.has_changed());
        assert_eq!(rx.get_new(), 2);
        assert!(!rx.has_changed());
        assert_eq!(rx.changed_timeout(Duration::ZERO), Err(RecvTimeoutError::TimedOut));
    });
}

#[test]
fn a_clone_has_seen_what_its_original_has() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        tx.send(2);
        let unseen = rx.clone();
        rx.changed().unwrap();
        assert!(unseen.has_changed() && !rx.clone().has_changed());
    });
}

#[test]
fn a_change_wakes_all_that_wait_for_it() {
    everywhere(|place| {
        let (tx, rx) = watch(0);
        let watchers = place.crowd(8, |_| {
            let mut rx = rx.clone();
            move || rx.changed().map(|()| rx.get())
        });
        settle();
        assert!(watchers.iter().all(|watcher| !watcher.is_finished()));
        tx.send(7);
        assert_eq!(join_all(watchers), [Ok(7); 8]);
    });
}

#[test]
fn a_wait_ends_when_its_time_is_over_and_not_before() {
    everywhere(|_| {
        let (_tx, mut rx) = watch(0);
        let start = Instant::now();
        assert_eq!(rx.changed_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::TimedOut));
        assert!(start.elapsed() >= Duration::from_millis(2));
        let then = Instant::now() + Duration::from_millis(2);
        assert_eq!(rx.changed_deadline(then), Err(RecvTimeoutError::TimedOut));
        assert!(Instant::now() >= then);
    });
}

#[test]
fn a_change_that_comes_before_a_deadline_is_told() {
    everywhere(|place| {
        let (tx, rx) = watch(0);
        let watchers = place.crowd(4, |_| {
            let mut rx = rx.clone();
            move || rx.changed_deadline(Instant::now() + LONG).map(|()| rx.get())
        });
        settle();
        tx.send(7);
        assert_eq!(join_all(watchers), [Ok(7); 4]);
        let mut late = rx.clone();
        assert_eq!(late.changed_deadline(Instant::now()), Ok(()), "it was there already");
    });
}

#[test]
fn trying_tells_of_a_change_once_and_of_the_end_after_it() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        assert_eq!(rx.try_changed(), Err(TryRecvError::Empty));
        tx.send(2);
        tx.send(3);
        assert_eq!((rx.try_changed(), rx.get()), (Ok(()), 3));
        assert_eq!(rx.try_changed(), Err(TryRecvError::Empty));
        tx.send(4);
        assert!(!rx.is_closed());
        drop(tx);
        assert!(rx.is_closed() && rx.has_changed());
        assert_eq!(rx.try_changed(), Ok(()));
        assert_eq!(rx.try_changed(), Err(TryRecvError::Closed));
        assert_eq!(rx.changed_deadline(Instant::now() + LONG), Err(RecvTimeoutError::Closed));
    });
}

#[test]
fn when_the_sender_goes_the_last_change_is_told_and_then_the_end() {
    everywhere(|_| {
        let (tx, mut rx) = watch(1);
        tx.send(2);
        drop(tx);
        assert!(rx.has_changed());
        assert_eq!(rx.changed(), Ok(()));
        assert_eq!(rx.changed(), Err(RecvError::Closed));
        assert_eq!(rx.changed_timeout(LONG), Err(RecvTimeoutError::Closed));
        assert_eq!((rx.get(), rx.get_new()), (2, 2), "the value stays");
    });
}

#[test]
fn the_end_of_the_sender_wakes_all_that_wait() {
    everywhere(|place| {
        let (tx, rx) = watch(0);
        let watchers = place.crowd(4, |_| {
            let mut rx = rx.clone();
            move || rx.changed()
        });
        settle();
        drop(tx);
        assert_eq!(join_all(watchers), [Err(RecvError::Closed); 4]);
    });
}

#[test]
fn receivers_are_counted_and_a_sender_without_any_sends_all_the_same() {
    everywhere(|_| {
        let (tx, rx) = watch(1);
        let other = tx.subscribe();
        assert_eq!(tx.receiver_count(), 2);
        drop((rx, other));
        assert_eq!(tx.receiver_count(), 0);
        assert_eq!(tx.send(2), 1);
        assert_eq!(tx.subscribe().get(), 2);
    });
}

#[test]
fn watchers_never_see_an_older_value_and_always_see_the_last() {
    const LAST: u64 = 1_000;
    everywhere(|place| {
        let (tx, rx) = watch((0u64, 0u64));
        let watchers = place.crowd(3, |_| {
            let mut rx = rx.clone();
            move || {
                let mut seen = 0;
                while rx.changed().is_ok() {
                    let (value, copy) = rx.get();
                    assert_eq!(value, copy, "a value is seen whole");
                    assert!(value >= seen, "{value} after {seen}");
                    seen = value;
                }
                seen
            }
        });
        for number in 1..=LAST {
            if number % 2 == 0 {
                tx.send((number, number));
            } else {
                tx.modify(|value| *value = (number, number));
            }
        }
        drop(tx);
        assert_eq!(join_all(watchers), [LAST; 3]);
    });
}

#[test]
fn old_values_are_dropped_once() {
    everywhere(|_| {
        let ledger = Ledger::of(5);
        let (tx, rx) = watch(ledger.make(0));
        for number in 1..4 {
            drop(tx.send(ledger.make(number)));
            assert_eq!(ledger.dropped(), number);
        }
        tx.modify(|value| *value = ledger.make(4));
        assert_eq!(ledger.dropped(), 4);
        drop(tx);
        assert_eq!(ledger.dropped(), 4, "a receiver still sees the last");
        drop(rx);
        ledger.check();
    });
}
