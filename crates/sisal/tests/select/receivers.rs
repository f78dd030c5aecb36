//! Receivers that a select has to itself: of one message, of what is sent to all, of changes.

use crate::common::LONG;
use crate::common::places::everywhere;
use sisal::chan::{BroadcastRecvError, RecvError, after, bounded, broadcast, never, oneshot, unbounded, watch};
use sisal::{Select, select};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn one_message_is_received_by_its_arm_whether_it_is_there_or_has_to_come() {
    everywhere(|place| {
        let (_keep, other) = bounded::<u32>(0);
        for waits in [false, true] {
            let (sender, mut receiver) = oneshot();
            let send = move || sender.send(7).unwrap();
            let sent = if waits {
                Some(place.spawn(send))
            } else {
                send();
                None
            };
            select! {
                recv(&mut receiver) -> received => assert_eq!(received, Ok(7)),
                recv(other) -> _ => panic!("nothing is there"),
            }
            sent.into_iter().for_each(|sent| sent.join());
            let again =
                select! { recv(&mut receiver) -> received => received, default => panic!("there is nothing more") };
            assert_eq!(again, Err(RecvError::Closed));
        }
    });
}

#[test]
fn one_message_that_another_arm_was_chosen_before_is_still_there() {
    everywhere(|_| {
        let (sender, mut receiver) = oneshot();
        let (tx, rx) = unbounded();
        tx.send(1).unwrap();
        select! {
            recv(&mut receiver) -> _ => panic!("nothing is there"),
            recv(rx) -> received => assert_eq!(received, Ok(1)),
        }
        let waited = select! {
            recv(&mut receiver) -> _ => panic!("nothing is there"),
            recv(after(Duration::from_millis(1))) -> time => time.is_ok(),
        };
        assert!(waited);
        let value = Arc::new(());
        sender.send(Arc::clone(&value)).unwrap();
        tx.send(2).unwrap();
        // As it is written, and as another macro passes it on.
        macro_rules! receives {
            ($first:expr, $second:expr) => {
                select! { recv($first,) -> received => received.is_ok(), recv($second) -> _ => false }
            };
        }
        let received = receives!(&mut receiver, rx);
        assert_eq!(Arc::strong_count(&value), if received { 1 } else { 2 });
        drop(receiver);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn the_end_of_the_only_sender_is_an_arm_that_is_ready() {
    everywhere(|place| {
        let (sender, mut receiver) = oneshot::<u32>();
        let (_keep, other) = bounded::<u32>(0);
        let gone = place.spawn(move || drop(sender));
        select! {
            recv(other) -> _ => panic!("nothing is there"),
            recv(&mut receiver) -> received => assert_eq!(received, Err(RecvError::Closed)),
        }
        gone.join();
    });
}

#[test]
fn what_is_sent_to_all_comes_to_those_who_select() {
    everywhere(|place| {
        let (sender, receiver) = broadcast(4);
        let listeners = place.crowd(3, |_| {
            let mut receiver = receiver.clone();
            move || {
                let mut messages = Vec::new();
                loop {
                    select! {
                        recv(&mut receiver) -> message => match message {
                            Ok(message) => messages.push(message),
                            Err(BroadcastRecvError::Lagged(missed)) => messages.extend(vec![0; missed as usize]),
                            Err(error) => break (messages, error),
                        },
                        recv(never::<u32>()) -> _ => panic!("nothing is there"),
                    }
                }
            }
        });
        (1..=20).for_each(|number| _ = sender.send(number).unwrap());
        drop(sender);
        for listener in listeners {
            let (messages, error) = listener.join();
            assert_eq!(error, BroadcastRecvError::Closed);
            assert_eq!((messages.len(), messages[16..].to_vec()), (20, vec![17, 18, 19, 20]));
        }
    });
}

#[test]
fn a_receiver_whose_arm_was_not_chosen_has_not_moved() {
    everywhere(|_| {
        let (sender, mut receiver) = broadcast(4);
        let (settings, mut changes) = watch(0);
        let (tx, rx) = bounded(1);
        let mut by_arm = [0; 3];
        for round in 1..=300 {
            sender.send(round).unwrap();
            settings.send(round);
            tx.send(round).unwrap();
            // All three are ready, and stay so until each was chosen.
            for _ in 0..3 {
                select! {
                    recv(&mut receiver) -> message => { assert_eq!(message, Ok(round)); by_arm[0] += 1 },
                    recv(&mut changes) -> changed => { changed.unwrap(); assert_eq!(changes.get(), round); by_arm[1] += 1 },
                    recv(rx) -> message => { assert_eq!(message, Ok(round)); by_arm[2] += 1 },
                    default => panic!("one is ready"),
                }
            }
            let more = select! {
                recv(&mut receiver) -> _ => true,
                recv(&mut changes) -> _ => true,
                recv(rx) -> _ => true,
                default(Duration::ZERO) => false,
            };
            assert!(!more, "each was chosen once");
        }
        assert_eq!(by_arm, [300; 3]);
    });
}

#[test]
fn a_change_ends_a_select_and_so_does_the_end_of_the_sender() {
    everywhere(|place| {
        let (sender, mut receiver) = watch(1);
        let (_keep, other) = bounded::<u32>(0);
        let changer = place.spawn(move || sender.send(2));
        for expected in [Ok(()), Err(RecvError::Closed), Err(RecvError::Closed)] {
            select! {
                recv(other) -> _ => panic!("nothing is there"),
                recv(&mut receiver) -> changed => assert_eq!(changed, expected),
            }
        }
        assert_eq!((receiver.get(), changer.join()), (2, 1));
    });
}

#[test]
fn a_select_of_one_such_receiver_waits_and_ends_in_time() {
    everywhere(|place| {
        let (_sender, mut receiver) = oneshot::<u32>();
        assert!(select! { recv(&mut receiver) -> _ => false, default(Duration::from_millis(1)) => true });
        let (_sender, mut receiver) = broadcast::<u32>(1);
        assert!(select! { recv(&mut receiver) -> _ => false, default(Duration::from_millis(1)) => true });
        let (sender, mut receiver) = watch(1);
        assert!(select! { recv(&mut receiver) -> _ => false, default(Duration::from_millis(1)) => true });
        let changer = place.spawn(move || sender.send(2));
        assert!(select! { recv(&mut receiver) -> changed => changed.is_ok(), default(LONG) => false });
        changer.join();
    });
}

#[test]
fn a_cancelled_select_says_so_by_its_first_arm() {
    everywhere(|_| {
        let (_sender, mut one) = oneshot::<u32>();
        let (_speaker, mut news) = broadcast::<u32>(1);
        let (_settings, mut changes) = watch(1);
        let limit = Duration::from_millis(1);
        let told = [
            sisal::timeout(
                limit,
                || select! { recv(&mut one) -> it => matches!(it, Err(RecvError::Cancelled(_))), recv(&mut news) -> _ => false },
            ),
            sisal::timeout(limit, || {
                select! { recv(&mut news) -> it => matches!(it, Err(BroadcastRecvError::Cancelled(_))), recv(&mut one) -> _ => false }
            }),
            sisal::timeout(
                limit,
                || select! { recv(&mut changes) -> it => matches!(it, Err(RecvError::Cancelled(_))) },
            ),
        ];
        assert_eq!(told, [true; 3]);
    });
}

#[test]
fn a_receiver_that_was_polled_can_be_selected() {
    everywhere(|place| {
        let (sender, mut receiver) = oneshot();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::future::Future::poll(std::pin::Pin::new(&mut receiver), &mut context).is_pending());
        let (_keep, other) = bounded::<u32>(0);
        let sent = place.spawn(move || sender.send(7).unwrap());
        select! {
            recv(&mut receiver) -> received => assert_eq!(received, Ok(7)),
            recv(other) -> _ => panic!("nothing is there"),
        }
        sent.join();
    });
}

#[test]
fn a_builder_takes_them_too_again_and_again() {
    everywhere(|_| {
        let (answer, mut answered) = oneshot();
        let (speaker, mut news) = broadcast(4);
        let (settings, mut changes) = watch(0);
        let (tx, mut rx) = bounded(1);
        let mut select = Select::new();
        select.recv_mut(&mut answered, |answer| answer.map_or(-1, |number: i32| number));
        select.recv_mut(&mut news, |message| message.unwrap());
        select.recv_mut(&mut changes, |changed| changed.map(|()| 3).unwrap());
        select.recv_mut(&mut rx, |message| message.unwrap());
        assert_eq!(select.try_wait(), None);
        speaker.send(2).unwrap();
        assert_eq!((select.wait(), select.try_wait()), (2, None));
        settings.send(1);
        assert_eq!((select.wait(), select.try_wait()), (3, None));
        tx.send(4).unwrap();
        assert_eq!((select.wait(), select.try_wait()), (4, None));
        answer.send(1).unwrap();
        assert_eq!((select.wait(), select.wait()), (1, -1), "the message, and that there is no more");
    });
}
