//! Storms over channels. No wait in them has a deadline, so that a lost wake hangs, and the watchdog ends the test.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::places::{self, Place};
use crate::common::storm::{once_parked, race, racer};
use crate::common::{in_background, in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, RecvError, Sender, TryRecvError, bounded};
use sisal::{inspect, join_all, spawn, spawn_on, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[test]
fn a_wake_that_comes_before_or_while_its_receiver_parks_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = FLAVOURS[round % FLAVOURS.len()].make();
                race(
                    workers,
                    round,
                    [racer(move || assert_eq!(rx.recv(), Ok(round))), racer(move || tx.send(round).unwrap())],
                );
            }
        });
    });
}

#[test]
fn a_wake_that_comes_before_or_while_its_sender_parks_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = bounded(round % 3);
                (0..round % 3).for_each(|_| tx.send(usize::MAX).unwrap());
                let receive = move || {
                    (0..round % 3).for_each(|_| assert_eq!(rx.recv(), Ok(usize::MAX)));
                    assert_eq!(rx.recv(), Ok(round));
                };
                race(workers, round, [racer(receive), racer(move || tx.send(round).unwrap())]);
            }
        });
    });
}

#[test]
fn a_wake_that_comes_after_its_receiver_has_parked_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = bounded(0);
                // A rendezvous takes an item without waiting only when the receiver can be found.
                let send = move || until(|| tx.try_send(round).is_ok());
                race(workers, round, [racer(move || assert_eq!(rx.recv(), Ok(round))), racer(send)]);
            }
        });
    });
}

#[test]
fn a_receiver_that_is_parked_for_all_to_see_is_woken_by_a_send() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = FLAVOURS[round % FLAVOURS.len()].make();
                let receive = racer(move || assert_eq!(rx.recv(), Ok(round)));
                once_parked(workers, round, receive, racer(move || tx.send(round).unwrap()));
            }
        });
    });
}

#[test]
fn a_sender_that_is_parked_for_all_to_see_is_woken_by_a_receive() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                // Of a rendezvous a receiver, of the others room is what is waited for.
                let capacity = round % 3;
                let (tx, rx) = bounded(capacity);
                (0..capacity).for_each(|_| tx.send(usize::MAX).unwrap());
                let receive = move || {
                    (0..capacity).for_each(|_| assert_eq!(rx.recv(), Ok(usize::MAX)));
                    assert_eq!(rx.recv(), Ok(round));
                };
                once_parked(workers, round, racer(move || tx.send(round).unwrap()), racer(receive));
            }
        });
    });
}

/// One place is enough: nobody receives more before the sender has gone on.
#[test]
fn a_sender_that_is_parked_for_all_to_see_is_woken_by_a_single_place() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = bounded(1 + round % 3);
                while tx.try_send(usize::MAX).is_ok() {}
                let sent = Arc::new(AtomicBool::new(false));
                let is_sent = Arc::clone(&sent);
                let send = move || {
                    tx.send(round).unwrap();
                    sent.store(true, Ordering::Relaxed);
                };
                let receive = move || {
                    assert_eq!(rx.recv(), Ok(usize::MAX));
                    until(|| is_sent.load(Ordering::Relaxed));
                    assert_eq!(rx.iter().last(), Some(round));
                };
                once_parked(workers, round, racer(send), racer(receive));
            }
        });
    });
}

#[test]
fn a_send_against_a_close_succeeds_exactly_when_its_item_is_received() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let (tx, rx) = FLAVOURS[round % FLAVOURS.len()].make();
                let sent = Arc::new(AtomicBool::new(false));
                let received = Arc::new(AtomicUsize::new(0));
                let (told, count, closer) = (Arc::clone(&sent), Arc::clone(&received), tx.clone());
                let send = move || told.store(tx.send(round).is_ok(), Ordering::SeqCst);
                let receive = move || count.store(rx.iter().count(), Ordering::SeqCst);
                race(workers, round, [racer(send), racer(receive), racer(move || assert!(closer.close()))]);
                assert_eq!(usize::from(sent.load(Ordering::SeqCst)), received.load(Ordering::SeqCst), "round {round}");
            }
        });
    });
}

#[test]
fn a_send_and_a_close_that_race_for_one_receiver_complete_it_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let flavour = FLAVOURS[round % FLAVOURS.len()];
                let (tx, rx) = flavour.make();
                let (closer, rest) = (tx.clone(), rx.clone());
                let (sent, received) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let (told, count) = (Arc::clone(&sent), Arc::clone(&received));
                let receive = move || match rx.recv() {
                    Ok(()) => count.store(1, Ordering::SeqCst),
                    Err(error) => assert_eq!(error, RecvError::Closed),
                };
                let send = move || told.store(usize::from(tx.send(()).is_ok()), Ordering::SeqCst);
                race(workers, round, [racer(receive), racer(send), racer(move || assert!(closer.close()))]);
                let rest = rest.try_iter().count();
                assert_eq!(received.load(Ordering::SeqCst) + rest, sent.load(Ordering::SeqCst), "{flavour:?}");
                assert_eq!(rest, 0, "one who waits gets what was sent before the close");
            }
        });
    });
}

#[test]
fn sixteen_receivers_each_see_a_close_once_however_many_close() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(400) {
                let (tx, rx) = FLAVOURS[round % FLAVOURS.len()].make::<u8>();
                let (seen, closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let receivers = (0..16).map(|_| {
                    let (rx, seen) = (rx.clone(), Arc::clone(&seen));
                    racer(move || {
                        assert_eq!(rx.recv(), Err(RecvError::Closed));
                        seen.fetch_add(1, Ordering::Relaxed);
                    })
                });
                let closers = (0..3).map(|closer| {
                    let (tx, rx, closed) = (tx.clone(), rx.clone(), Arc::clone(&closed));
                    racer(move || {
                        let is_first = if closer == 0 { rx.close() } else { tx.close() };
                        closed.fetch_add(usize::from(is_first), Ordering::Relaxed);
                    })
                });
                race(workers, round, receivers.chain(closers).collect::<Vec<_>>());
                assert_eq!((seen.load(Ordering::Relaxed), closed.load(Ordering::Relaxed)), (16, 1));
            }
        });
    });
}

#[test]
fn after_a_close_no_send_succeeds_and_all_that_was_admitted_is_received() {
    const SENDERS: usize = 4;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(400) {
                let flavour = FLAVOURS[round % FLAVOURS.len()];
                let (tx, rx) = flavour.make();
                let is_closed = Arc::new(AtomicBool::new(false));
                let (sent, received) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
                let senders = (0..SENDERS).map(|_| {
                    let (tx, is_closed, sent) = (tx.clone(), Arc::clone(&is_closed), Arc::clone(&sent));
                    racer(move || {
                        loop {
                            let was_closed = is_closed.load(Ordering::SeqCst);
                            if tx.send(1u64).is_err() {
                                break;
                            }
                            assert!(!was_closed, "a send succeeded after the close");
                            sent.fetch_add(1, Ordering::SeqCst);
                        }
                    })
                });
                let receivers = (0..2).map(|_| {
                    let (rx, received) = (rx.clone(), Arc::clone(&received));
                    racer(move || {
                        received.fetch_add(rx.iter().sum::<u64>(), Ordering::SeqCst);
                    })
                });
                let closer = {
                    let (rx, is_closed) = (rx.clone(), Arc::clone(&is_closed));
                    racer(move || {
                        (0..round % 5).for_each(|_| yield_now());
                        assert!(rx.close());
                        is_closed.store(true, Ordering::SeqCst);
                    })
                };
                race(workers, round, senders.chain(receivers).chain([closer]).collect::<Vec<_>>());
                assert_eq!(sent.load(Ordering::SeqCst), received.load(Ordering::SeqCst), "{flavour:?}");
            }
        });
    });
}

#[test]
fn a_channel_is_closed_exactly_when_the_last_of_many_senders_goes() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(400) {
                let (tx, rx) = FLAVOURS[round % FLAVOURS.len()].make();
                let sum = Arc::new(AtomicU64::new(0));
                let into = Arc::clone(&sum);
                let senders = (0..8u64).map(|number| {
                    let tx = tx.clone();
                    racer(move || {
                        let (one, other) = (tx.clone(), tx);
                        one.send(number).unwrap();
                        drop(one);
                        other.send(number).unwrap();
                    })
                });
                let racers: Vec<_> = senders.collect();
                drop(tx);
                let receive = racer(move || into.store(rx.iter().sum(), Ordering::SeqCst));
                race(workers, round, racers.into_iter().chain([receive]).collect::<Vec<_>>());
                assert_eq!(sum.load(Ordering::SeqCst), 2 * 28);
            }
        });
    });
}

/// Sends 1 to `count` through so many stages, each of which closes the next when it is done; what comes out, summed up.
fn pipeline(stages: usize, flavour: Flavour, count: u64) -> u64 {
    let (source, mut rx): (Sender<u64>, Receiver<u64>) = flavour.make();
    let mut fibers = vec![spawn(move || (1..=count).for_each(|number| source.send(number).unwrap()))];
    for _ in 2..stages {
        let (tx, next) = flavour.make();
        let from = std::mem::replace(&mut rx, next);
        fibers.push(spawn(move || from.iter().for_each(|number| tx.send(number).unwrap())));
    }
    let sum = spawn(move || rx.iter().sum());
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    sum.join().unwrap()
}

#[test]
fn pipelines_of_four_and_five_stages_lose_no_tail() {
    const COUNT: u64 = 100;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(500) {
                for stages in [4, 5] {
                    let flavour = FLAVOURS[round % FLAVOURS.len()];
                    assert_eq!(pipeline(stages, flavour, COUNT), COUNT * (COUNT + 1) / 2, "{flavour:?}");
                }
            }
        });
    });
}

/// How often fibers have parked, as soon as none is left but the caller and so many that are parked to receive.
fn parks_once_all_receive(receivers: usize) -> u64 {
    loop {
        let metrics = inspect::metrics().expect("there are fibers");
        let parked = metrics.parked.get("receiving from a channel").copied().unwrap_or(0);
        if parked == receivers && metrics.live == receivers as u64 + 1 {
            return metrics.parks;
        }
        yield_now();
    }
}

/// One that was woken for nothing would park again, which is counted. The one that is woken for an item ends with it.
#[test]
fn of_a_thousand_receivers_that_wait_one_send_wakes_one() {
    const RECEIVERS: usize = 1_000;
    const ITEMS: usize = 10;
    with_workers(|workers| {
        for flavour in FLAVOURS {
            in_main_fiber(workers, || {
                let (tx, rx) = flavour.make();
                let receive = |_| {
                    let rx = rx.clone();
                    spawn(move || rx.recv())
                };
                let fibers: Vec<_> = (0..RECEIVERS).map(receive).collect();
                let parks = parks_once_all_receive(RECEIVERS);
                for sent in 1..=ITEMS {
                    tx.send(sent).unwrap();
                    assert_eq!(parks_once_all_receive(RECEIVERS - sent), parks, "{flavour:?}: item {sent} woke one");
                }
                assert!(tx.close());
                assert_eq!(parks_once_all_receive(0), parks, "{flavour:?}: who sees the close waits no more");
                let results: Vec<_> = join_all(fibers).into_iter().map(Result::unwrap).collect();
                let mut received: Vec<_> = results.into_iter().flatten().collect();
                received.sort_unstable();
                assert_eq!(received, (1..=ITEMS).collect::<Vec<_>>());
            });
        }
    });
}

/// Sends `each` items from each of four actors to four others; each is to arrive once.
fn exchange(place: &Place, flavour: Flavour, each: usize) {
    const ACTORS: usize = 4;
    let (tx, rx) = flavour.make();
    let seen: Arc<[AtomicUsize]> = (0..ACTORS * each).map(|_| AtomicUsize::new(0)).collect();
    let receivers = place.crowd(ACTORS, |_| {
        let (rx, seen) = (rx.clone(), Arc::clone(&seen));
        move || {
            rx.iter().for_each(|number: usize| {
                seen[number].fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    let senders = place.crowd(ACTORS, |actor| {
        let tx = tx.clone();
        move || (0..each).for_each(|number| tx.send(actor * each + number).unwrap())
    });
    drop(tx);
    places::join_all(senders.into_iter().chain(receivers));
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "{flavour:?}");
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn threads_and_fibers_on_one_channel_receive_each_item_once() {
    with_workers(|workers| {
        for flavour in FLAVOURS {
            places::mixed(workers, |place| exchange(place, flavour, rounds(2_000)));
        }
    });
}

#[test]
fn many_fibers_on_one_channel_receive_each_item_once() {
    const FIBERS: usize = 50;
    with_workers(|workers| {
        for flavour in FLAVOURS {
            in_background(workers, || {
                let each = rounds(2_000);
                let (tx, rx) = flavour.make();
                let senders: Vec<_> = (0..FIBERS)
                    .map(|_| {
                        let tx = tx.clone();
                        spawn(move || (1..=each as u64).for_each(|number| tx.send(number).unwrap()))
                    })
                    .collect();
                drop(tx);
                let receivers = (0..FIBERS).map(|_| {
                    let rx = rx.clone();
                    spawn(move || rx.iter().fold((0, 0), |(count, sum), number| (count + 1, sum + number)))
                });
                let totals: Vec<(usize, u64)> = join_all(receivers).into_iter().map(Result::unwrap).collect();
                join_all(senders).into_iter().for_each(Result::unwrap);
                let each = each as u64;
                assert_eq!(totals.iter().map(|(count, _)| count).sum::<usize>(), FIBERS * each as usize);
                assert_eq!(totals.iter().map(|(_, sum)| sum).sum::<u64>(), FIBERS as u64 * each * (each + 1) / 2);
            });
        }
    });
}

#[test]
fn a_token_goes_round_a_ring_of_fibers() {
    const RING: usize = 100;
    with_workers(|workers| {
        for capacity in [0, 1] {
            in_main_fiber(workers, || {
                let laps = rounds(100);
                let (first, mut rx) = bounded(capacity);
                let fibers: Vec<_> = (1..RING)
                    .map(|number| {
                        let (tx, next) = bounded(capacity);
                        let from = std::mem::replace(&mut rx, next);
                        spawn_on(number % workers, move || {
                            from.iter().for_each(|token: usize| tx.send(token + 1).unwrap());
                        })
                    })
                    .collect();
                for lap in 0..laps {
                    first.send(lap).unwrap();
                    assert_eq!(rx.recv(), Ok(lap + RING - 1));
                }
                drop(first);
                fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            });
        }
    });
}

#[test]
fn two_fibers_that_hand_an_item_back_and_forth_never_miss_each_other() {
    with_workers(|workers| {
        for flavour in FLAVOURS {
            in_main_fiber(workers, || {
                let ((ping, pings), (pong, pongs)) = (flavour.make(), flavour.make());
                let other =
                    spawn_on(workers - 1, move || pings.iter().for_each(|item: usize| pong.send(item + 1).unwrap()));
                for round in 0..rounds(4_000) {
                    ping.send(round).unwrap();
                    assert_eq!(pongs.recv(), Ok(round + 1));
                }
                drop(ping);
                other.join().unwrap();
            });
        }
    });
}
