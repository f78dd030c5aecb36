//! Channels for a single item.

use crate::common::LONG;
use crate::common::flavours::Ledger;
use crate::common::places::{everywhere, join_all, settle};
use sisal::chan::{RecvError, RecvTimeoutError, TryRecvError, oneshot};
use std::time::{Duration, Instant};

#[test]
fn what_was_sent_before_is_received() {
    everywhere(|_| {
        let (tx, rx) = oneshot();
        tx.send(String::from("tea")).unwrap();
        assert_eq!(rx.recv().unwrap(), "tea");
    });
}

#[test]
fn a_receiver_waits_for_what_is_sent_later() {
    everywhere(|place| {
        let (tx, rx) = oneshot();
        let receiver = place.spawn(move || rx.recv());
        settle();
        assert!(!receiver.is_finished());
        tx.send(7).unwrap();
        assert_eq!(receiver.join(), Ok(7));
    });
}

#[test]
fn a_sender_that_goes_without_sending_closes() {
    everywhere(|place| {
        let (tx, rx) = oneshot::<u8>();
        let receiver = place.spawn(move || rx.recv());
        settle();
        drop(tx);
        assert_eq!(receiver.join(), Err(RecvError::Closed));
        let (tx, rx) = oneshot::<u8>();
        drop(tx);
        assert_eq!(rx.recv(), Err(RecvError::Closed));
    });
}

#[test]
fn sending_to_nobody_gives_the_item_back() {
    everywhere(|_| {
        let (tx, rx) = oneshot();
        assert!(!tx.is_closed());
        drop(rx);
        assert!(tx.is_closed());
        assert_eq!(tx.send(vec![1, 2]), Err(vec![1, 2]));
    });
}

#[test]
fn trying_to_receive_does_not_wait() {
    everywhere(|_| {
        let (tx, mut rx) = oneshot();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        tx.send(7).unwrap();
        assert_eq!(rx.try_recv(), Ok(7));
        assert!(rx.try_recv().is_err(), "it was the only one");
        let (tx, mut rx) = oneshot::<u8>();
        drop(tx);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
}

#[test]
fn a_receive_whose_time_is_over_can_be_repeated() {
    everywhere(|_| {
        let (tx, mut rx) = oneshot();
        let start = Instant::now();
        assert_eq!(rx.recv_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::TimedOut));
        assert!(start.elapsed() >= Duration::from_millis(2));
        let deadline = Instant::now() + Duration::from_millis(2);
        assert_eq!(rx.recv_deadline(deadline), Err(RecvTimeoutError::TimedOut));
        assert!(Instant::now() >= deadline);
        tx.send(7).unwrap();
        assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(7), "what is there is received though the time is over");
    });
}

#[test]
fn what_comes_in_time_is_received() {
    everywhere(|place| {
        let ((tx, mut rx), (other_tx, mut other_rx)) = (oneshot(), oneshot());
        let receiver = place.spawn(move || [rx.recv_timeout(LONG), other_rx.recv_deadline(Instant::now() + LONG)]);
        settle();
        tx.send(7).unwrap();
        settle();
        drop::<sisal::chan::OneSender<i32>>(other_tx);
        assert_eq!(receiver.join(), [Ok(7), Err(RecvTimeoutError::Closed)]);
    });
}

#[test]
fn an_item_that_nobody_receives_is_dropped() {
    everywhere(|_| {
        let ledger = Ledger::of(2);
        let (tx, rx) = oneshot();
        tx.send(ledger.make(0)).unwrap();
        drop(rx);
        assert_eq!(ledger.dropped(), 1);
        let (tx, rx) = oneshot();
        drop(rx);
        drop(tx.send(ledger.make(1)));
        ledger.check();
    });
}

#[test]
fn an_item_is_dropped_once_when_both_ends_go_at_the_same_time() {
    const ROUNDS: usize = 200;
    everywhere(|place| {
        let ledger = Ledger::of(ROUNDS);
        for number in 0..ROUNDS {
            let (tx, rx) = oneshot();
            let item = ledger.make(number);
            let receiver = place.spawn(move || match number % 3 {
                0 => drop(rx),
                1 => drop(rx.recv()),
                _ => drop({ rx }.try_recv()),
            });
            drop(tx.send(item));
            receiver.join();
        }
        ledger.check();
    });
}

#[test]
fn each_of_many_answers_reaches_the_one_who_asked() {
    everywhere(|place| {
        let (requests, asked) = sisal::chan::unbounded();
        let server = place.spawn(move || {
            for (number, answer) in asked {
                let answer: sisal::chan::OneSender<u32> = answer;
                answer.send(number * 2).unwrap();
            }
        });
        let clients = place.crowd(4, |client| {
            let requests = requests.clone();
            move || {
                for number in 0..50 {
                    let number = client as u32 * 1_000 + number;
                    let (tx, rx) = oneshot();
                    requests.send((number, tx)).unwrap();
                    assert_eq!(rx.recv(), Ok(number * 2));
                }
            }
        });
        join_all(clients);
        drop(requests);
        server.join();
    });
}

#[test]
fn a_large_item_and_one_without_size_are_sent_alike() {
    everywhere(|place| {
        let ((large, larges), (nothing, nothings)) = (oneshot(), oneshot());
        let sender = place.spawn(move || {
            large.send([7u64; 512]).unwrap();
            nothing.send(()).unwrap();
        });
        assert_eq!(larges.recv(), Ok([7; 512]));
        assert_eq!(nothings.recv(), Ok(()));
        sender.join();
    });
}
