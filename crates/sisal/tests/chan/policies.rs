//! Channels that drop an item rather than let a sender wait.

use crate::common::flavours::Ledger;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::{rounds, until};
use sisal::chan::{Policy, SendError, TryRecvError, bounded_with};
use sisal::yield_now;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const DROPPING: [Policy; 2] = [Policy::DropNewest, Policy::DropOldest];

#[test]
fn a_full_channel_that_drops_the_newest_keeps_the_first_items() {
    everywhere(|_| {
        for capacity in [1, 2, 3, 8] {
            let (tx, rx) = bounded_with(capacity, Policy::DropNewest);
            (0..20).for_each(|number| tx.send(number).unwrap());
            assert_eq!((tx.len(), rx.is_full(), tx.capacity()), (capacity, true, Some(capacity)));
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..capacity).collect::<Vec<_>>());
            tx.send(99).unwrap();
            assert_eq!(rx.recv(), Ok(99), "there is room again");
        }
    });
}

#[test]
fn a_full_channel_that_drops_the_oldest_keeps_the_last_items() {
    everywhere(|_| {
        for capacity in [1, 2, 3, 8] {
            let (tx, rx) = bounded_with(capacity, Policy::DropOldest);
            (0..20).for_each(|number| tx.send(number).unwrap());
            assert_eq!((tx.len(), rx.is_full(), tx.capacity()), (capacity, true, Some(capacity)));
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (20 - capacity..20).collect::<Vec<_>>());
            tx.send(99).unwrap();
            assert_eq!(rx.recv(), Ok(99), "there is room again");
        }
    });
}

#[test]
fn what_is_dropped_is_dropped_by_the_send_itself() {
    everywhere(|_| {
        for policy in DROPPING {
            let ledger = Ledger::of(10);
            let (tx, rx) = bounded_with(4, policy);
            for number in 0..10 {
                tx.send(ledger.make(number)).unwrap();
                assert_eq!(ledger.dropped(), (number + 1usize).saturating_sub(4));
            }
            drop((tx, rx));
            ledger.check();
        }
    });
}

#[test]
fn a_channel_with_room_drops_nothing() {
    everywhere(|_| {
        for policy in [Policy::Wait, Policy::DropNewest, Policy::DropOldest] {
            let (tx, rx) = bounded_with(4, policy);
            for round in 0..10 {
                (0..4).for_each(|number| tx.send(4 * round + number).unwrap());
                assert_eq!(rx.try_iter().collect::<Vec<_>>(), (4 * round..4 * round + 4).collect::<Vec<_>>());
            }
        }
    });
}

#[test]
fn with_the_policy_to_wait_a_sender_waits() {
    everywhere(|place| {
        for capacity in [0, 1, 2] {
            let (tx, rx) = bounded_with(capacity, Policy::Wait);
            let sender = place.spawn(move || (0..10).for_each(|number| tx.send(number).unwrap()));
            settle();
            assert!(!sender.is_finished());
            assert_eq!(rx.iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
            sender.join();
        }
    });
}

#[test]
fn a_channel_that_drops_has_room_for_one_at_least() {
    for policy in DROPPING {
        let made = catch_unwind(move || drop(bounded_with::<u8>(0, policy)));
        assert!(made.is_err(), "a rendezvous has nothing to drop");
    }
}

#[test]
fn a_receiver_that_waits_gets_the_next_item() {
    everywhere(|place| {
        for policy in DROPPING {
            let (tx, rx) = bounded_with(1, policy);
            let receiver = place.spawn(move || rx.recv());
            settle();
            tx.send(5).unwrap();
            assert_eq!(receiver.join(), Ok(5));
        }
    });
}

#[test]
fn a_closed_channel_takes_and_drops_nothing_more() {
    everywhere(|_| {
        for policy in DROPPING {
            let (tx, rx) = bounded_with(2, policy);
            (0..2).for_each(|number| tx.send(number).unwrap());
            tx.close();
            assert_eq!(tx.send(7), Err(SendError::Closed(7)));
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1]);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
    });
}

#[test]
fn each_item_is_received_or_dropped_whatever_races() {
    const SENDERS: usize = 3;
    const EACH: usize = 200;
    everywhere(|place| {
        for policy in DROPPING {
            let ledger = Ledger::of(SENDERS * EACH);
            let (tx, rx) = bounded_with(2, policy);
            let receivers = place.crowd(2, |_| {
                let rx = rx.clone();
                move || rx.into_iter().map(|item: crate::common::flavours::Counted| item.number).collect::<Vec<_>>()
            });
            let senders = place.crowd(SENDERS, |sender| {
                let (tx, ledger) = (tx.clone(), ledger.clone());
                move || (0..EACH).for_each(|number| tx.send(ledger.make(sender * EACH + number)).unwrap())
            });
            join_all(senders);
            drop(tx);
            for received in join_all(receivers) {
                for sender in 0..SENDERS {
                    let of_one = received.iter().filter(|number| **number / EACH == sender);
                    assert!(of_one.is_sorted(), "the items of one sender stay in their order");
                }
            }
            drop(rx);
            ledger.check();
        }
    });
}

#[test]
fn the_last_item_always_arrives_where_the_oldest_is_dropped() {
    everywhere(|place| {
        let (tx, rx) = bounded_with(1, Policy::DropOldest);
        let sender = place.spawn(move || (0..=1_000).for_each(|number| tx.send(number).unwrap()));
        let received: Vec<_> = rx.iter().collect();
        assert!(received.is_sorted_by(|a, b| a < b));
        assert_eq!(received.last(), Some(&1_000));
        sender.join();
    });
}

#[test]
fn the_first_item_always_arrives_where_the_newest_is_dropped() {
    everywhere(|place| {
        let (tx, rx) = bounded_with(1, Policy::DropNewest);
        let sender = place.spawn(move || (0..=1_000).for_each(|number| tx.send(number).unwrap()));
        let received: Vec<_> = rx.iter().collect();
        assert!(received.is_sorted_by(|a, b| a < b));
        assert_eq!(received.first(), Some(&0));
        sender.join();
    });
}

/// Dropped by the send of another, unless it was received.
struct Watched {
    number: usize,
    /// Which one is being sent.
    newest: Arc<AtomicUsize>,
    is_received: bool,
}

/// How many there is room for.
const ROOM: usize = 3;

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.is_received {
            let newest = self.newest.load(Ordering::Acquire);
            assert_eq!(newest, self.number + ROOM, "all room was taken, from item {} on", self.number);
        }
    }
}

#[test]
fn an_item_is_dropped_for_another_only_while_there_is_no_room() {
    everywhere(|place| {
        let (tx, rx) = bounded_with(ROOM, Policy::DropOldest);
        let receiver = place.spawn(move || {
            loop {
                match rx.try_recv() {
                    Ok(Watched { number: usize::MAX, .. }) => break,
                    Ok(mut item) => item.is_received = true,
                    Err(error) => assert_eq!(error, TryRecvError::Empty),
                }
                yield_now();
            }
        });
        let newest = Arc::new(AtomicUsize::new(0));
        for number in 0..rounds(20_000) {
            newest.store(number, Ordering::Release);
            tx.send(Watched { number, newest: Arc::clone(&newest), is_received: false }).unwrap();
        }
        until(|| tx.is_empty());
        tx.send(Watched { number: usize::MAX, newest, is_received: true }).unwrap();
        receiver.join();
    });
}
