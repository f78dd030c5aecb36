//! Sends and receives that wait for a limited time. Nothing here asks how late they end: only that it is not early.

use crate::common::LONG;
use crate::common::flavours::FLAVOURS;
use crate::common::places::{everywhere, join_all};
use sisal::chan::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError, bounded, unbounded};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);

/// A moment that has passed.
fn past() -> Instant {
    let now = Instant::now();
    now.checked_sub(Duration::from_secs(1)).unwrap_or(now)
}

#[test]
fn a_receive_ends_when_its_time_is_over_and_not_before() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make::<i32>();
            let start = Instant::now();
            assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::TimedOut), "{flavour:?}");
            assert!(start.elapsed() >= SHORT);
            let deadline = Instant::now() + SHORT;
            assert_eq!(rx.recv_deadline(deadline), Err(RecvTimeoutError::TimedOut));
            assert!(Instant::now() >= deadline);
            drop(tx);
        }
    });
}

#[test]
fn a_send_ends_when_its_time_is_over_and_gives_the_item_back() {
    everywhere(|_| {
        for capacity in [0, 1, 3] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|number| tx.send(number).unwrap());
            let start = Instant::now();
            assert_eq!(tx.send_timeout(77, SHORT), Err(SendTimeoutError::TimedOut(77)));
            assert!(start.elapsed() >= SHORT);
            let deadline = Instant::now() + SHORT;
            assert_eq!(tx.send_deadline(78, deadline), Err(SendTimeoutError::TimedOut(78)));
            assert!(Instant::now() >= deadline);
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..capacity).collect::<Vec<_>>(), "neither is received");
        }
    });
}

#[test]
fn what_comes_in_time_is_received() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let receiver = place.spawn(move || {
                let deadline = Instant::now() + LONG;
                [rx.recv_timeout(LONG), rx.recv_deadline(deadline), rx.recv_timeout(LONG)]
            });
            tx.send_timeout(1, LONG).unwrap();
            tx.send_deadline(2, Instant::now() + LONG).unwrap();
            drop(tx);
            assert_eq!(receiver.join(), [Ok(1), Ok(2), Err(RecvTimeoutError::Closed)], "{flavour:?}");
        }
    });
}

#[test]
fn what_is_there_is_received_though_the_time_is_over() {
    everywhere(|_| {
        let ((bounded_tx, bounded_rx), (tx, rx)) = (bounded(4), unbounded());
        for (tx, rx) in [(bounded_tx, bounded_rx), (tx, rx)] {
            (0..2).for_each(|number| tx.send(number).unwrap());
            assert_eq!((rx.recv_deadline(past()), rx.recv_timeout(Duration::ZERO)), (Ok(0), Ok(1)));
            assert_eq!(rx.recv_deadline(past()), Err(RecvTimeoutError::TimedOut));
            assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::TimedOut));
        }
    });
}

#[test]
fn where_there_is_room_is_sent_though_the_time_is_over() {
    everywhere(|_| {
        let (tx, rx) = bounded(2);
        tx.send_deadline(1, past()).unwrap();
        tx.send_timeout(2, Duration::ZERO).unwrap();
        assert_eq!(tx.send_deadline(3, past()), Err(SendTimeoutError::TimedOut(3)));
        assert_eq!(tx.send_timeout(4, Duration::ZERO), Err(SendTimeoutError::TimedOut(4)));
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn of_a_closed_channel_that_is_said_and_not_that_the_time_is_over() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            tx.close();
            assert_eq!(tx.send_deadline(1, past()), Err(SendTimeoutError::Closed(1)));
            assert_eq!(rx.recv_deadline(past()), Err(RecvTimeoutError::Closed));
        }
    });
}

#[test]
fn the_longest_times_are_taken() {
    everywhere(|place| {
        for time in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 40)] {
            let (tx, rx) = bounded(0);
            let sender = place.spawn(move || tx.send_timeout(1, time));
            assert_eq!(rx.recv_timeout(time), Ok(1));
            sender.join().unwrap();
        }
    });
}

#[test]
fn nobody_meets_a_receiver_whose_time_was_over() {
    everywhere(|_| {
        let (tx, rx) = bounded(0);
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
        let (tx, rx) = bounded(1);
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        tx.send(1).unwrap();
        assert_eq!(rx.len(), 1, "it lies in the queue");
        assert_eq!(rx.try_recv(), Ok(1));
    });
}

#[test]
fn nobody_meets_a_sender_whose_time_was_over() {
    everywhere(|_| {
        let (tx, rx) = bounded(0);
        assert_eq!(tx.send_timeout(1, Duration::from_millis(1)), Err(SendTimeoutError::TimedOut(1)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn those_that_wait_on_are_served_though_others_gave_up() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let receivers = place.crowd(6, |number| {
                let rx = rx.clone();
                move || if number % 2 == 0 { rx.recv_timeout(SHORT).ok() } else { rx.recv().ok() }
            });
            let (impatient, patient): (Vec<_>, Vec<_>) =
                receivers.into_iter().enumerate().partition(|(number, _)| number % 2 == 0);
            for (_, receiver) in impatient {
                assert_eq!(receiver.join(), None);
            }
            (0..3).for_each(|number| tx.send(number).unwrap());
            let mut received: Vec<_> = join_all(patient.into_iter().map(|(_, actor)| actor));
            received.sort_unstable();
            assert_eq!(received, [Some(0), Some(1), Some(2)], "{flavour:?}");
        }
    });
}

#[test]
fn an_item_is_either_sent_or_given_back_however_close_the_time_is() {
    const ITEMS: u64 = 300;
    everywhere(|place| {
        for capacity in [0, 1] {
            let (tx, rx) = bounded(capacity);
            let sender = place.spawn(move || {
                let send = |number: &u64| match tx.send_timeout(*number, Duration::from_micros(number % 60)) {
                    Ok(()) => true,
                    Err(error) => {
                        assert_eq!(error, SendTimeoutError::TimedOut(*number));
                        false
                    }
                };
                (0..ITEMS).filter(send).collect::<Vec<_>>()
            });
            let mut received = Vec::new();
            for round in 0.. {
                match rx.recv_timeout(Duration::from_micros(round % 50)) {
                    Ok(number) => received.push(number),
                    Err(RecvTimeoutError::TimedOut) => {}
                    Err(RecvTimeoutError::Closed) => break,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(sender.join(), received, "capacity {capacity}");
        }
    });
}
