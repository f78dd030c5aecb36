//! Iterating over what comes out of a channel.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::places::everywhere;
use sisal::chan::{TryRecvError, unbounded};

#[test]
fn an_iterator_gives_all_items_and_ends_when_the_channel_is_closed() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let sum = place.spawn(move || rx.iter().sum::<i32>());
            [3, 1, 2].into_iter().for_each(|number| tx.send(number).unwrap());
            drop(tx);
            assert_eq!(sum.join(), 6, "{flavour:?}");
        }
    });
}

#[test]
fn an_iterator_gives_what_was_queued_when_the_channel_was_closed() {
    everywhere(|_| {
        for flavour in [Flavour::Bounded(5), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            (0..5).for_each(|number| tx.send(number).unwrap());
            assert!(tx.close());
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
            assert_eq!(rx.iter().next(), None, "and not one more");
        }
    });
}

#[test]
fn an_iterator_that_is_left_early_leaves_the_rest_there() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let counter = place.spawn(move || {
                let mut count = 0;
                for number in &rx {
                    if count >= 3 {
                        break;
                    }
                    count += number;
                }
                (count, rx)
            });
            [2, 2, 2].into_iter().for_each(|number| tx.send(number).unwrap());
            let (count, rx) = counter.join();
            assert_eq!(count, 4);
            let sent = tx.try_send(9).is_ok();
            assert_eq!(sent, rx.try_recv().is_ok(), "{flavour:?}");
        }
    });
}

#[test]
fn channels_are_iterated_over_inside_one_another() {
    everywhere(|place| {
        let (tx, rx) = unbounded();
        let total =
            place.spawn(move || rx.iter().map(|inner: sisal::chan::Receiver<i32>| inner.iter().sum::<i32>()).sum());
        for round in 0..10 {
            let (inner, numbers) = unbounded();
            tx.send(numbers).unwrap();
            (0..=round).for_each(|number| inner.send(number).unwrap());
        }
        drop(tx);
        let total: i32 = total.join();
        assert_eq!(total, 165);
    });
}

#[test]
fn a_trying_iterator_gives_what_is_there_and_does_not_wait() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        assert_eq!(rx.try_iter().next(), None);
        (0..3).for_each(|number| tx.send(number).unwrap());
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "the channel is still open");
        tx.send(3).unwrap();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3]);
    });
}

#[test]
fn a_trying_iterator_takes_turns_with_the_sender() {
    everywhere(|place| {
        let ((requests, asked), (answers, answered)) = (unbounded(), unbounded());
        let server = place.spawn(move || {
            for () in asked {
                answers.send(1).unwrap();
            }
        });
        let mut count = 0;
        while count < 50 {
            requests.send(()).unwrap();
            count += answered.try_iter().sum::<i32>();
            sisal::yield_now();
        }
        drop(requests);
        server.join();
    });
}

#[test]
fn a_receiver_is_itself_iterated_over() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        (1..=3).for_each(|number| tx.send(number).unwrap());
        drop(tx);
        let mut by_reference = (&rx).into_iter();
        assert_eq!(by_reference.next(), Some(1));
        let mut by_value = rx.into_iter();
        assert_eq!((by_value.next(), by_value.next(), by_value.next()), (Some(2), Some(3), None));
    });
}

#[test]
fn an_iterator_that_owns_its_receiver_closes_the_channel_when_it_goes() {
    let (tx, rx) = unbounded();
    tx.send(1).unwrap();
    let mut items = rx.into_iter();
    assert_eq!(items.next(), Some(1));
    tx.send(2).unwrap();
    drop(items);
    assert!(tx.is_closed());
    assert_eq!(tx.send(3).unwrap_err().into_inner(), 3);
}

#[test]
fn several_iterators_share_the_items() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let takers = place.crowd(3, |_| {
                let rx = rx.clone();
                move || rx.into_iter().collect::<Vec<i32>>()
            });
            drop(rx);
            (0..90).for_each(|number| tx.send(number).unwrap());
            drop(tx);
            let shares = crate::common::places::join_all(takers);
            assert!(shares.iter().all(|share| share.is_sorted()), "each sees them in their order");
            let mut all = shares.concat();
            all.sort_unstable();
            assert_eq!(all, (0..90).collect::<Vec<_>>(), "{flavour:?}");
        }
    });
}
