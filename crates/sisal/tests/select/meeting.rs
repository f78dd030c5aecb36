//! Selects on the same channels: who meets whom, and that nothing is lost or doubled.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::places::{everywhere, join_all, settle};
use crate::common::until;
use sisal::chan::{Receiver, TryRecvError, bounded, never};
use sisal::select;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn two_selects_meet() {
    everywhere(|place| {
        let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
        let sender = place.spawn(move || {
            for number in 0..100 {
                select! {
                    send(tx1, number) -> sent => sent.unwrap(),
                    send(tx2, number) -> sent => sent.unwrap(),
                }
            }
        });
        for number in 0..100 {
            let received = select! {
                recv(rx1) -> received => received,
                recv(rx2) -> received => received,
            };
            assert_eq!(received, Ok(number), "none is lost, none is doubled");
        }
        sender.join();
    });
}

#[test]
fn a_select_does_not_meet_itself() {
    everywhere(|_| {
        let (tx, rx) = bounded(0);
        for _ in 0..20 {
            select! {
                send(tx, 1) -> sent => panic!("nobody receives: {sent:?}"),
                recv(rx) -> received => panic!("nobody sends: {received:?}"),
                default => {}
            }
        }
        select! {
            recv(rx) -> received => panic!("nobody sends: {received:?}"),
            send(tx, 1) -> sent => panic!("nobody receives: {sent:?}"),
            default(Duration::from_millis(1)) => {}
        }
    });
}

#[test]
fn two_that_would_both_send_and_receive_on_one_channel_meet_each_other() {
    const ROUNDS: usize = 200;
    everywhere(|place| {
        for capacity in [0, 10] {
            let (tx, rx) = bounded(capacity);
            let actors = place.crowd(2, |me| {
                let (tx, rx) = (tx.clone(), rx.clone());
                move || {
                    for round in 0..ROUNDS {
                        let received = if me == 0 || round % 2 == 0 {
                            select! {
                                send(tx, me) -> sent => sent.map(|()| None).unwrap(),
                                recv(rx) -> received => Some(received.unwrap()),
                            }
                        } else {
                            select! {
                                recv(rx) -> received => Some(received.unwrap()),
                                send(tx, me) -> sent => sent.map(|()| None).unwrap(),
                            }
                        };
                        assert!(capacity > 0 || received != Some(me), "{me} has met itself");
                    }
                }
            });
            join_all(actors);
        }
    });
}

#[test]
fn of_a_crowd_that_sends_or_receives_on_one_channel_all_find_a_partner() {
    const ACTORS: usize = 8;
    everywhere(|place| {
        for leftover in [false, true] {
            let (tx, rx) = bounded(0);
            let actors = place.crowd(ACTORS + usize::from(leftover), |me| {
                let (tx, rx) = (tx.clone(), rx.clone());
                move || {
                    select! {
                        recv(rx) -> other => other.map(|other| assert_ne!(other, me)).unwrap(),
                        send(tx, me) -> sent => sent.unwrap(),
                    }
                }
            });
            if leftover {
                // Who has found nobody finds us.
                tx.send(usize::MAX).unwrap();
            }
            join_all(actors);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    });
}

#[test]
fn a_channel_may_stand_in_several_arms() {
    everywhere(|place| {
        let ((tx, rx), (other, others)) = (bounded(0), bounded::<i32>(0));
        let (first, back) = (rx.clone(), others.clone());
        let selector = place.spawn(move || {
            select! {
                recv(first) -> received => received,
                recv(first) -> received => received,
                recv(others) -> received => received,
            }
        });
        settle();
        let plain = place.spawn(move || rx.recv());
        settle();
        // The select leaves both its places in the queue of the channel, and the other one stays.
        other.send(7).unwrap();
        assert_eq!(selector.join(), Ok(7));
        tx.send(8).unwrap();
        assert_eq!(plain.join(), Ok(8));
        drop(back);
    });
}

#[test]
fn of_two_arms_that_send_on_one_channel_one_sends() {
    everywhere(|_| {
        for flavour in [Flavour::Bounded(100), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            for _ in 0..100 {
                select! {
                    send(tx, 0) -> sent => sent.unwrap(),
                    send(tx, 1) -> sent => sent.unwrap(),
                }
            }
            assert_eq!(rx.len(), 100);
            let ones: usize = rx.try_iter().sum();
            assert!((10..=90).contains(&ones), "{ones} of 100 were the second");
        }
    });
}

#[test]
fn a_channel_goes_through_a_channel_by_selects_alone() {
    struct Link(Option<Receiver<Link>>);
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (first, mut rx) = flavour.make::<Link>();
            let sender = place.spawn(move || {
                let mut tx = first;
                for _ in 0..50 {
                    let (next_tx, next_rx) = flavour.make();
                    select! { send(tx, Link(Some(next_rx))) -> sent => sent.unwrap() }
                    tx = next_tx;
                }
                select! { send(tx, Link(None)) -> sent => sent.unwrap() }
            });
            let mut links = 0;
            loop {
                let next = select! { recv(rx) -> link => link.unwrap().0 };
                let Some(next) = next else { break };
                rx = next;
                links += 1;
            }
            assert_eq!(links, 50);
            sender.join();
        }
    });
}

#[test]
fn many_selects_on_the_same_channels_share_the_items() {
    const ITEMS: usize = 300;
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ((tx1, rx1), (tx2, rx2)) = (flavour.make(), flavour.make());
            let seen: Arc<[AtomicUsize]> = (0..2 * ITEMS).map(|_| AtomicUsize::new(0)).collect();
            let takers = place.crowd(4, |_| {
                let (rx1, rx2, seen) = (rx1.clone(), rx2.clone(), Arc::clone(&seen));
                move || {
                    let (mut open1, mut open2) = (true, true);
                    let off = never();
                    while open1 || open2 {
                        let received: Result<usize, _> = select! {
                            recv(if open1 { &rx1 } else { &off }) -> received => received.inspect_err(|_| open1 = false),
                            recv(if open2 { &rx2 } else { &off }) -> received => received.inspect_err(|_| open2 = false),
                        };
                        if let Ok(number) = received {
                            seen[number].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
            let sender = place.spawn(move || (0..ITEMS).for_each(|number| tx1.send(number).unwrap()));
            (ITEMS..2 * ITEMS).for_each(|number| tx2.send(number).unwrap());
            drop(tx2);
            sender.join();
            join_all(takers);
            assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "{flavour:?}");
        }
    });
}

#[test]
fn trying_in_a_loop_meets_one_who_tries_in_a_loop_or_waits() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        let (end, ended) = bounded::<()>(0);
        let sender = place.spawn(move || {
            loop {
                select! {
                    send(tx, 1) -> sent => break sent.unwrap(),
                    default => sisal::yield_now(),
                }
            }
            drop(end);
        });
        select! {
            recv(rx) -> received => assert_eq!(received, Ok(1)),
            recv(ended) -> _ => panic!("it ended without having sent"),
        }
        until(|| sender.is_finished());
        sender.join();
    });
}
