//! Sending and receiving: what arrives, in which order, and who waits.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::places::{everywhere, join_all, settle};
use crate::common::until;
use sisal::chan::{Receiver, Sender, TryRecvError, TrySendError, bounded, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn an_item_that_is_sent_is_received() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let sender = place.spawn(move || tx.send(String::from("tea")));
            assert_eq!(rx.recv().unwrap(), "tea", "{flavour:?}");
            sender.join().unwrap();
        }
    });
}

#[test]
fn the_items_of_one_sender_arrive_in_their_order() {
    everywhere(|place| {
        for flavour in (0..8).map(Flavour::Bounded).chain(FLAVOURS) {
            let (tx, rx) = flavour.make();
            let sender = place.spawn(move || (0..100).for_each(|number| tx.send(number).unwrap()));
            let received: Vec<i32> = (0..100).map(|_| rx.recv().unwrap()).collect();
            assert_eq!(received, (0..100).collect::<Vec<_>>(), "{flavour:?}");
            sender.join();
        }
    });
}

#[test]
fn a_receive_from_an_empty_channel_waits_for_an_item() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let receivers = place.crowd(2, |_| {
                let rx = rx.clone();
                move || rx.recv().unwrap()
            });
            settle();
            assert!(receivers.iter().all(|receiver| !receiver.is_finished()), "{flavour:?}");
            tx.send(1).unwrap();
            tx.send(2).unwrap();
            assert_eq!(join_all(receivers).into_iter().sum::<i32>(), 3);
        }
    });
}

#[test]
fn a_send_into_a_full_channel_waits_for_room() {
    everywhere(|place| {
        for capacity in [0, 1, 2, 5] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|number| tx.send(number).unwrap());
            let sender = place.spawn(move || tx.send(capacity));
            settle();
            assert!(!sender.is_finished(), "capacity {capacity}");
            let received: Vec<_> = (0..=capacity).map(|_| rx.recv().unwrap()).collect();
            assert_eq!(received, (0..=capacity).collect::<Vec<_>>());
            sender.join().unwrap();
        }
    });
}

#[test]
fn a_send_into_an_unbounded_channel_never_waits() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        (0..10_000u64).for_each(|number| tx.send(number).unwrap());
        assert_eq!(rx.len(), 10_000);
        assert_eq!(rx.try_iter().sum::<u64>(), 49_995_000);
    });
}

#[test]
fn trying_to_receive_takes_what_is_there_and_does_not_wait() {
    everywhere(|_| {
        for flavour in [Flavour::Bounded(1), Flavour::Bounded(3), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            tx.send(7).unwrap();
            assert_eq!(rx.try_recv(), Ok(7));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    });
}

#[test]
fn trying_to_send_into_a_full_channel_gives_the_item_back() {
    everywhere(|_| {
        for capacity in [1, 2, 7] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|number| tx.try_send(number).unwrap());
            assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)));
            assert_eq!(rx.recv(), Ok(0));
            tx.try_send(capacity).unwrap();
            assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)));
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (1..=capacity).collect::<Vec<_>>());
        }
    });
}

#[test]
fn trying_to_send_to_a_rendezvous_succeeds_exactly_when_a_receiver_waits() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
        let receiver = place.spawn(move || (rx.recv(), rx));
        until(|| tx.try_send(2).is_ok());
        let (received, rx) = receiver.join();
        assert_eq!(received, Ok(2));
        assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)), "nobody waits any more");
        drop(rx);
    });
}

#[test]
fn trying_to_receive_from_a_rendezvous_succeeds_exactly_when_a_sender_waits() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        let sender = place.spawn(move || (tx.send(2), tx));
        let received = loop {
            if let Ok(received) = rx.try_recv() {
                break received;
            }
            sisal::yield_now();
        };
        assert_eq!(received, 2);
        let (sent, tx) = sender.join();
        sent.unwrap();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "nobody waits any more");
        drop(tx);
    });
}

#[test]
fn a_rendezvous_send_returns_only_when_its_item_is_taken() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        let taken = Arc::new(AtomicUsize::new(0));
        let at = Arc::clone(&taken);
        let sender = place.spawn(move || {
            for number in 0..20 {
                tx.send(number).unwrap();
                // The receiver may be ahead of this look by the item it has in hand, never behind.
                assert!(at.load(Ordering::SeqCst) >= number, "item {number} was not taken");
            }
        });
        for number in 0..20 {
            taken.store(number, Ordering::SeqCst);
            assert_eq!(rx.recv(), Ok(number));
        }
        sender.join();
    });
}

#[test]
fn length_and_room_are_those_of_the_queue() {
    everywhere(|_| {
        for flavour in [Flavour::Bounded(1), Flavour::Bounded(2), Flavour::Bounded(5), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            let most = flavour.room().unwrap_or(10);
            for length in 0..=most {
                let is_full = flavour.room() == Some(length);
                assert_eq!((tx.len(), rx.len()), (length, length));
                assert_eq!((tx.is_empty(), rx.is_empty()), (length == 0, length == 0));
                assert_eq!((tx.is_full(), rx.is_full()), (is_full, is_full));
                assert_eq!((tx.capacity(), rx.capacity()), (flavour.room(), flavour.room()));
                if length < most {
                    tx.send(length).unwrap();
                }
            }
            (0..most).rev().for_each(|left| {
                rx.recv().unwrap();
                assert_eq!((tx.len(), rx.len()), (left, left));
            });
        }
    });
}

#[test]
fn a_rendezvous_is_empty_and_full_at_once() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        let check = |tx: &Sender<i32>, rx: &Receiver<i32>| {
            assert_eq!((tx.len(), rx.len()), (0, 0));
            assert!(tx.is_empty() && rx.is_empty() && tx.is_full() && rx.is_full());
            assert_eq!((tx.capacity(), rx.capacity()), (Some(0), Some(0)));
        };
        check(&tx, &rx);
        let other = tx.clone();
        let sender = place.spawn(move || other.send(1));
        settle();
        check(&tx, &rx);
        assert_eq!(rx.recv(), Ok(1));
        sender.join().unwrap();
        check(&tx, &rx);
    });
}

#[test]
fn of_many_senders_and_receivers_each_item_goes_to_exactly_one() {
    const ACTORS: usize = 4;
    const EACH: usize = 100;
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let seen: Arc<[AtomicUsize]> = (0..ACTORS * EACH).map(|_| AtomicUsize::new(0)).collect();
            let receivers = place.crowd(ACTORS, |_| {
                let (rx, seen) = (rx.clone(), Arc::clone(&seen));
                move || {
                    for _ in 0..EACH {
                        let number: usize = rx.recv().unwrap();
                        seen[number].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            let senders = place.crowd(ACTORS, |actor| {
                let tx = tx.clone();
                move || (0..EACH).for_each(|number| tx.send(actor * EACH + number).unwrap())
            });
            join_all(receivers.into_iter().chain(senders));
            assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "{flavour:?}");
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    });
}

#[test]
fn who_sends_first_and_then_takes_without_waiting_always_finds_something() {
    everywhere(|place| {
        for flavour in [Flavour::Bounded(4), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            let actors = place.crowd(4, |_| {
                let (tx, rx) = (tx.clone(), rx.clone());
                move || {
                    for _ in 0..200 {
                        tx.send(()).unwrap();
                        rx.try_recv().unwrap();
                    }
                }
            });
            join_all(actors);
        }
    });
}

#[test]
fn a_channel_goes_through_a_channel_which_goes_through_that() {
    struct Link(Option<Receiver<Link>>);
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (first, mut rx) = flavour.make::<Link>();
            let sender = place.spawn(move || {
                let mut tx = first;
                for _ in 0..50 {
                    let (next_tx, next_rx) = flavour.make();
                    tx.send(Link(Some(next_rx))).unwrap();
                    tx = next_tx;
                }
                tx.send(Link(None)).unwrap();
            });
            let mut links = 0;
            while let Some(next) = rx.recv().unwrap().0 {
                rx = next;
                links += 1;
            }
            assert_eq!(links, 50);
            sender.join();
        }
    });
}

#[test]
fn things_without_size_and_large_things_are_sent_alike() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ((nothing, nothings), (large, larges)) = (flavour.make::<()>(), flavour.make::<[u64; 256]>());
            let sender = place.spawn(move || {
                for number in 0..20 {
                    nothing.send(()).unwrap();
                    large.send([number; 256]).unwrap();
                }
            });
            for number in 0..20 {
                assert_eq!(nothings.recv(), Ok(()));
                assert_eq!(larges.recv(), Ok([number; 256]));
            }
            sender.join();
        }
    });
}

#[test]
fn what_is_sent_may_be_what_was_received_in_the_same_call() {
    everywhere(|place| {
        let (tx, rx) = bounded(1);
        let (out, results) = bounded(0);
        let actor = place.spawn(move || out.send(rx.recv().unwrap() * 2).unwrap());
        tx.send(21).unwrap();
        assert_eq!(results.recv(), Ok(42));
        actor.join();
    });
}

#[test]
fn ends_are_of_the_same_channel_when_they_were_made_together_or_cloned() {
    let ((one_tx, one_rx), (other_tx, other_rx)) = (bounded::<u8>(1), bounded::<u8>(1));
    assert!(one_tx.same_channel(&one_tx.clone()) && one_rx.same_channel(&one_rx.clone()));
    assert!(!one_tx.same_channel(&other_tx) && !one_rx.same_channel(&other_rx));
    let (queue_tx, queue_rx) = unbounded::<u8>();
    assert!(!queue_tx.same_channel(&one_tx) && !queue_rx.same_channel(&one_rx));
    assert!(queue_tx.same_channel(&queue_tx.clone()) && queue_rx.same_channel(&queue_rx.clone()));
}

#[test]
fn the_ends_of_a_channel_are_counted() {
    for flavour in FLAVOURS {
        let (tx, rx) = flavour.make::<u8>();
        let counts = |tx: &Sender<u8>, rx: &Receiver<u8>| {
            assert_eq!((tx.sender_count(), tx.receiver_count()), (rx.sender_count(), rx.receiver_count()));
            (tx.sender_count(), rx.receiver_count())
        };
        assert_eq!(counts(&tx, &rx), (1, 1));
        let (more_tx, more_rx) = ([tx.clone(), tx.clone()], rx.clone());
        assert_eq!(counts(&tx, &rx), (3, 2));
        drop((more_tx, more_rx));
        assert_eq!(counts(&tx, &rx), (1, 1));
        drop(rx);
        assert_eq!(tx.receiver_count(), 0);
    }
}

#[test]
fn a_sieve_of_filters_gives_the_primes_and_ends_when_nobody_listens() {
    everywhere(|place| {
        let (tx, mut numbers) = bounded(0);
        let mut actors = vec![place.spawn(move || (2..).take_while(|number| tx.send(*number).is_ok()).for_each(drop))];
        let mut primes: Vec<u32> = Vec::new();
        for _ in 0..15 {
            let prime = numbers.recv().unwrap();
            primes.push(prime);
            let (tx, rx) = bounded(0);
            let upstream = std::mem::replace(&mut numbers, rx);
            actors.push(place.spawn(move || {
                let mut rest = upstream.iter().filter(|number| number % prime != 0);
                while rest.next().is_some_and(|number| tx.send(number).is_ok()) {}
            }));
        }
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]);
        drop(numbers);
        join_all(actors);
    });
}

#[test]
fn an_item_travels_through_a_long_chain() {
    everywhere(|place| {
        let (first, mut rx) = bounded(0);
        let links: Vec<_> = (0..100)
            .map(|_| {
                let (tx, next) = bounded(0);
                let from = std::mem::replace(&mut rx, next);
                place.spawn(move || tx.send(from.recv().unwrap() + 1).unwrap())
            })
            .collect();
        first.send(0).unwrap();
        assert_eq!(rx.recv(), Ok(100));
        join_all(links);
    });
}

#[test]
fn a_thread_that_ends_sends_and_receives_in_its_destructors() {
    use std::cell::RefCell;
    struct Last(Sender<u8>, Receiver<u8>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.send(self.1.recv().unwrap() + 1).unwrap();
            let (tx, rx) = bounded(1);
            sisal::select! {
                send(tx, 1) -> sent => sent.unwrap(),
                recv(rx) -> received => panic!("nothing was sent: {received:?}"),
            }
        }
    }
    thread_local! { static LAST: RefCell<Option<Last>> = const { RefCell::new(None) }; }
    crate::common::watchdog::guarded(|| {
        for flavour in FLAVOURS {
            let ((tx, rx), (back, answers)) = (flavour.make(), flavour.make());
            let thread = std::thread::spawn(move || LAST.set(Some(Last(back, rx))));
            tx.send(7).unwrap();
            assert_eq!(answers.recv(), Ok(8));
            thread.join().unwrap();
        }
    });
}
