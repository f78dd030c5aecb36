//! Channels whose every receiver gets every item.

use crate::common::LONG;
use crate::common::places::{everywhere, join_all, settle};
use sisal::chan::{
    BroadcastReceiver, BroadcastRecvError, BroadcastRecvTimeoutError, BroadcastSender, BroadcastTryRecvError,
    SendError, broadcast,
};
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// What is there for a receiver, up to the first error.
fn taken<T: Clone>(rx: &mut BroadcastReceiver<T>) -> Vec<T> {
    std::iter::from_fn(|| rx.try_recv().ok()).collect()
}

#[test]
fn every_receiver_gets_every_item_in_order() {
    everywhere(|place| {
        let (tx, rx) = broadcast(64);
        let receivers = place.crowd(4, |_| {
            let mut rx = rx.clone();
            move || ((0..50).map(|_| rx.recv().unwrap()).collect::<Vec<i32>>(), rx)
        });
        drop(rx);
        (0..50).for_each(|number| assert_eq!(tx.send(number), Ok(4)));
        for (received, _rx) in join_all(receivers) {
            assert_eq!(received, (0..50).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_receiver_gets_what_is_sent_after_it_subscribed() {
    everywhere(|_| {
        let (tx, mut first) = broadcast(8);
        tx.send("a").unwrap();
        let mut second = tx.subscribe();
        assert_eq!(tx.receiver_count(), 2);
        tx.send("b").unwrap();
        assert_eq!(taken(&mut first), ["a", "b"]);
        assert_eq!(taken(&mut second), ["b"]);
    });
}

#[test]
fn a_clone_is_where_its_original_is() {
    everywhere(|_| {
        let (tx, mut rx) = broadcast(8);
        (0..4).for_each(|number| assert!(tx.send(number).is_ok()));
        assert_eq!((rx.recv(), rx.recv()), (Ok(0), Ok(1)));
        let mut clone = rx.clone();
        assert_eq!(taken(&mut rx), [2, 3]);
        assert_eq!(taken(&mut clone), [2, 3]);
    });
}

#[test]
fn a_send_tells_how_many_will_receive_and_never_waits() {
    everywhere(|_| {
        let (tx, one) = broadcast(2);
        assert_eq!((tx.send(0), tx.receiver_count()), (Ok(1), 1));
        let two = one.clone();
        assert_eq!((tx.send(1), tx.receiver_count()), (Ok(2), 2));
        drop(one);
        (2..100).for_each(|number| assert_eq!(tx.send(number), Ok(1)));
        drop(two);
        assert_eq!((tx.send(100), tx.receiver_count()), (Err(SendError::Closed(100)), 0));
    });
}

#[test]
fn one_who_falls_behind_is_told_how_many_were_missed_and_goes_on_with_the_oldest_there() {
    everywhere(|_| {
        for capacity in [1, 2, 4, 8] {
            let (tx, mut rx) = broadcast(capacity);
            let count = capacity as u64;
            (0..count + 3).for_each(|number| assert!(tx.send(number).is_ok()));
            assert_eq!(rx.recv(), Err(BroadcastRecvError::Lagged(3)));
            assert_eq!(taken(&mut rx), (3..count + 3).collect::<Vec<_>>());
            (0..count + 5).for_each(|number| assert!(tx.send(number).is_ok()));
            assert_eq!(rx.try_recv(), Err(BroadcastTryRecvError::Lagged(5)));
            (0..2).for_each(|number| assert!(tx.send(number).is_ok()));
            assert_eq!(rx.recv_timeout(LONG), Err(BroadcastRecvTimeoutError::Lagged(2)));
            assert_eq!(taken(&mut rx).len() as u64, count);
        }
    });
}

#[test]
fn one_who_falls_behind_hinders_nobody() {
    everywhere(|_| {
        let (tx, mut quick) = broadcast(2);
        let mut slow = quick.clone();
        for number in 0..10 {
            tx.send(number).unwrap();
            assert_eq!(quick.recv(), Ok(number));
        }
        assert_eq!(slow.recv(), Err(BroadcastRecvError::Lagged(8)));
        assert_eq!(taken(&mut slow), [8, 9]);
    });
}

#[test]
fn trying_to_receive_does_not_wait() {
    everywhere(|_| {
        let (tx, mut rx) = broadcast(2);
        assert_eq!(rx.try_recv(), Err(BroadcastTryRecvError::Empty));
        tx.send(1).unwrap();
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(BroadcastTryRecvError::Empty)));
        drop(tx);
        assert_eq!(rx.try_recv(), Err(BroadcastTryRecvError::Closed));
    });
}

#[test]
fn a_receive_ends_when_its_time_is_over_and_not_before() {
    everywhere(|_| {
        let (tx, mut rx) = broadcast::<u8>(2);
        let start = Instant::now();
        assert_eq!(rx.recv_timeout(Duration::from_millis(2)), Err(BroadcastRecvTimeoutError::TimedOut));
        assert!(start.elapsed() >= Duration::from_millis(2));
        let deadline = Instant::now() + Duration::from_millis(2);
        assert_eq!(rx.recv_deadline(deadline), Err(BroadcastRecvTimeoutError::TimedOut));
        assert!(Instant::now() >= deadline);
        tx.send(1).unwrap();
        assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(1));
        drop(tx);
        assert_eq!(rx.recv_timeout(LONG), Err(BroadcastRecvTimeoutError::Closed));
    });
}

#[test]
fn one_send_wakes_all_that_wait() {
    everywhere(|place| {
        let (tx, rx) = broadcast(1);
        let receivers = place.crowd(8, |_| {
            let mut rx = rx.clone();
            move || rx.recv()
        });
        settle();
        assert!(receivers.iter().all(|receiver| !receiver.is_finished()));
        tx.send(7).unwrap();
        assert_eq!(join_all(receivers), [Ok(7); 8]);
    });
}

#[test]
fn when_the_last_sender_goes_the_rest_is_received_and_then_the_end_is_seen() {
    everywhere(|place| {
        let (tx, mut rx) = broadcast(4);
        let mut other = rx.clone();
        let waiter = place.spawn(move || [other.recv(), other.recv(), other.recv()]);
        let clone = tx.clone();
        tx.send(1).unwrap();
        drop(tx);
        clone.send(2).unwrap();
        drop(clone);
        let expected = [Ok(1), Ok(2), Err(BroadcastRecvError::Closed)];
        assert_eq!(waiter.join(), expected);
        assert_eq!([rx.recv(), rx.recv(), rx.recv()], expected);
        assert_eq!(rx.recv(), Err(BroadcastRecvError::Closed));
    });
}

#[test]
fn after_a_close_nothing_is_sent_and_the_rest_is_received() {
    everywhere(|place| {
        let (tx, mut rx) = broadcast(4);
        tx.send(1).unwrap();
        let mut late = tx.subscribe();
        let waiter = place.spawn(move || late.recv());
        settle();
        tx.close();
        assert_eq!(waiter.join(), Err(BroadcastRecvError::Closed));
        assert_eq!(tx.send(2), Err(SendError::Closed(2)));
        assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(BroadcastRecvError::Closed)));
    });
}

#[test]
fn a_channel_has_room_for_one_at_least() {
    assert!(catch_unwind(|| drop(broadcast::<u8>(0))).is_err());
}

#[test]
fn of_several_senders_all_receivers_see_the_same_order() {
    const EACH: usize = 100;
    everywhere(|place| {
        let (tx, rx) = broadcast(3 * EACH);
        let receivers = place.crowd(3, |_| {
            let mut rx = rx.clone();
            move || std::iter::from_fn(|| rx.recv().ok()).collect::<Vec<_>>()
        });
        drop(rx);
        let senders = place.crowd(3, |sender| {
            let tx: BroadcastSender<usize> = tx.clone();
            move || (0..EACH).for_each(|number| assert!(tx.send(sender * EACH + number).is_ok()))
        });
        join_all(senders);
        drop(tx);
        let received = join_all(receivers);
        assert!(received.iter().all(|order| order == &received[0]));
        for sender in 0..3 {
            let of_one: Vec<_> = received[0].iter().copied().filter(|number| number / EACH == sender).collect();
            assert_eq!(of_one, (sender * EACH..(sender + 1) * EACH).collect::<Vec<_>>());
        }
    });
}

#[test]
fn what_a_receiver_gets_and_what_it_misses_is_together_all_that_was_sent() {
    const ITEMS: u64 = 2_000;
    everywhere(|place| {
        let (tx, rx) = broadcast(4);
        let receivers = place.crowd(3, |_| {
            let mut rx = rx.clone();
            move || {
                let (mut got, mut missed, mut next) = (0, 0, 0);
                loop {
                    match rx.recv() {
                        Ok(number) => {
                            assert_eq!(number, next, "the next one, or the one after what was missed");
                            got += 1;
                            next += 1;
                        }
                        Err(BroadcastRecvError::Lagged(count)) => {
                            missed += count;
                            next += count;
                        }
                        Err(BroadcastRecvError::Closed) => return got + missed,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        drop(rx);
        (0..ITEMS).for_each(|number| assert!(tx.send(number).is_ok()));
        drop(tx);
        assert_eq!(join_all(receivers), [ITEMS; 3]);
    });
}

#[test]
fn the_reason_of_a_close_is_heard_on_both_sides() {
    everywhere(|place| {
        let (sender, mut receiver) = broadcast::<u32>(2);
        assert!(sender.close_reason().is_none() && !receiver.is_closed());
        let closer = {
            let sender = sender.clone();
            place.spawn(move || sender.close_with("off the air"))
        };
        assert_eq!(receiver.recv(), Err(BroadcastRecvError::Closed));
        assert!(closer.join() && sender.is_closed() && receiver.is_closed());
        assert!(!sender.close_with("again") && !sender.close());
        for reason in [sender.close_reason(), receiver.close_reason()] {
            assert_eq!(reason.unwrap().to_string(), "off the air");
        }
    });
}

#[test]
fn a_receiver_counts_what_it_can_still_receive() {
    let (sender, mut early) = broadcast(2);
    assert!(early.is_empty() && sender.is_empty());
    sender.send(1).unwrap();
    let mut late = sender.subscribe();
    assert_eq!((early.len(), late.len(), sender.len()), (1, 0, 1));
    (2..=4).for_each(|number| assert_eq!(sender.send(number), Ok(2)));
    assert_eq!((early.len(), late.len(), sender.len()), (2, 2, 2));
    assert_eq!(late.recv(), Err(BroadcastRecvError::Lagged(1)));
    assert_eq!((late.recv(), late.len()), (Ok(3), 1));
    assert_eq!((early.capacity(), sender.capacity()), (2, 2));
    drop(sender);
    assert_eq!(early.iter().collect::<Vec<_>>(), [Err(BroadcastRecvError::Lagged(2)), Ok(3), Ok(4)]);
    assert_eq!((early.len(), early.is_closed()), (0, true));
}

#[test]
fn an_iterator_waits_for_the_next_message_and_ends_with_the_channel() {
    everywhere(|place| {
        let (sender, mut receiver) = broadcast(64);
        let sending = place.spawn(move || (0..50).for_each(|number| assert_eq!(sender.send(number), Ok(1))));
        let mut received = Vec::new();
        for message in &mut receiver {
            received.push(message.unwrap());
        }
        assert_eq!(received, (0..50).collect::<Vec<_>>());
        sending.join();
    });
}
