//! Storms over selects. No wait in them has a deadline, so that a lost wake hangs, and the watchdog ends the test.

use crate::common::flavours::FLAVOURS;
use crate::common::places::{self, Place};
use crate::common::storm::{once_parked, race, racer};
use crate::common::{in_background, in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, RecvError, Sender, TryRecvError, bounded, broadcast, never, oneshot, watch};
use sisal::{Select, join_all, select, spawn, spawn_on};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn fifty_selectors_over_two_rendezvous_channels_receive_a_thousand_items_each() {
    const SELECTORS: u64 = 50;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let each = rounds(1_000) as u64;
            let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
            let selectors: Vec<_> = (0..SELECTORS)
                .map(|_| {
                    let (rx1, rx2) = (rx1.clone(), rx2.clone());
                    spawn(move || {
                        let receive = |_| {
                            let received: Result<u64, RecvError> = select! {
                                recv(rx1) -> received => received,
                                recv(rx2) -> received => received,
                            };
                            received.unwrap()
                        };
                        (0..each).map(receive).sum::<u64>()
                    })
                })
                .collect();
            let half = SELECTORS * each / 2;
            let senders = [(&tx1, 0..half), (&tx2, half..2 * half)].map(|(tx, numbers)| {
                // Neither channel is closed before the other has brought its last item.
                let tx = tx.clone();
                spawn(move || numbers.for_each(|number| tx.send(number).unwrap()))
            });
            let sum: u64 = join_all(selectors).into_iter().map(Result::unwrap).sum();
            join_all(senders).into_iter().for_each(Result::unwrap);
            assert_eq!(sum, 2 * half * (2 * half - 1) / 2);
        });
    });
}

/// Sends or receives so often over two rendezvous channels by selects; what was received, less what was sent.
fn select_often(count: u64, is_sender: bool, ends: &[(Sender<u64>, Receiver<u64>); 2]) -> i64 {
    let [(tx1, rx1), (tx2, rx2)] = ends;
    (0..count)
        .map(|number| {
            if is_sender {
                select! {
                    send(tx1, number) -> sent => sent.unwrap(),
                    send(tx2, number) -> sent => sent.unwrap(),
                }
                -(number as i64)
            } else {
                let received = select! {
                    recv(rx2) -> received => received,
                    recv(rx1) -> received => received,
                };
                received.unwrap() as i64
            }
        })
        .sum()
}

#[test]
fn fifty_selectors_that_meet_only_selectors_all_find_each_other() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let each = rounds(1_000) as u64;
            let ends = [bounded(0), bounded(0)];
            let selectors = (0..50).map(|number| {
                let ends = ends.clone();
                spawn(move || select_often(each, number % 2 == 0, &ends))
            });
            let difference: i64 = join_all(selectors).into_iter().map(Result::unwrap).sum();
            assert_eq!(difference, 0);
        });
    });
}

#[test]
fn threads_and_fibers_meet_by_selects() {
    with_workers(|workers| {
        places::mixed(workers, |place: &Place| {
            let each = rounds(2_000) as u64;
            let ends = [bounded(0), bounded(0)];
            // Two neighbours are a fiber and a thread: of both kinds half send.
            let selectors = place.crowd(8, |number| {
                let ends = ends.clone();
                move || select_often(each, number / 2 % 2 == 0, &ends)
            });
            assert_eq!(places::join_all(selectors).into_iter().sum::<i64>(), 0);
        });
    });
}

#[test]
fn a_hundred_thousand_selects_of_one_arm_miss_nothing() {
    with_workers(|workers| {
        for capacity in [0, 128] {
            in_main_fiber(workers, || {
                let count = rounds(100_000) as u64;
                let (tx, rx) = bounded(capacity);
                let sender = spawn_on(workers - 1, move || {
                    for number in 0..count {
                        select! { send(tx, number) -> sent => sent.unwrap() }
                    }
                });
                for number in 0..count {
                    select! { recv(rx) -> received => assert_eq!(received, Ok(number)) }
                }
                sender.join().unwrap();
            });
        }
    });
}

#[test]
fn a_wake_that_comes_before_or_while_its_select_parks_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let flavour = FLAVOURS[round % FLAVOURS.len()];
                let ((tx1, rx1), (tx2, rx2)) = (flavour.make(), flavour.make());
                let (keep, tx) = if round / 4 % 2 == 0 { (tx1, tx2) } else { (tx2, tx1) };
                let receive = move || {
                    let received = select! {
                        recv(rx1) -> received => received,
                        recv(rx2) -> received => received,
                    };
                    assert_eq!(received, Ok(round));
                };
                race(workers, round, [racer(receive), racer(move || tx.send(round).unwrap())]);
                drop(keep);
            }
        });
    });
}

#[test]
fn a_wake_that_comes_after_its_select_has_parked_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
                // A rendezvous takes an item without waiting only when the select can be found there.
                let send = move || {
                    until(|| if round % 2 == 0 { tx1.try_send(round).is_ok() } else { tx2.try_send(round).is_ok() });
                    (tx1, tx2)
                };
                let receive = move || {
                    let received = select! {
                        recv(rx1) -> received => received,
                        recv(rx2) -> received => received,
                    };
                    assert_eq!(received, Ok(round));
                };
                race(workers, round, [racer(receive), racer(move || drop(send()))]);
            }
        });
    });
}

#[test]
fn a_select_that_is_parked_for_all_to_see_is_woken_by_a_send() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let flavour = FLAVOURS[round % FLAVOURS.len()];
                let ((tx1, rx1), (tx2, rx2)) = (flavour.make(), flavour.make());
                let (keep, tx) = if round / 4 % 2 == 0 { (tx1, tx2) } else { (tx2, tx1) };
                let receive = racer(move || {
                    let received = select! {
                        recv(rx1) -> received => received,
                        recv(rx2) -> received => received,
                    };
                    assert_eq!(received, Ok(round));
                });
                once_parked(workers, round, receive, racer(move || tx.send(round).unwrap()));
                drop(keep);
            }
        });
    });
}

#[test]
fn a_select_that_is_parked_for_all_to_see_is_woken_by_a_receive() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let capacity = round % 3;
                let ends = [bounded(capacity), bounded(capacity)];
                ends.iter().for_each(|(tx, _)| (0..capacity).for_each(|_| tx.send(usize::MAX).unwrap()));
                let [(tx1, rx1), (tx2, rx2)] = ends;
                let (keep, rx) = if round / 3 % 2 == 0 { (rx1, rx2) } else { (rx2, rx1) };
                let send = racer(move || {
                    select! {
                        send(tx1, round) -> sent => sent.unwrap(),
                        send(tx2, round) -> sent => sent.unwrap(),
                    }
                });
                let receive = racer(move || {
                    (0..capacity).for_each(|_| assert_eq!(rx.recv(), Ok(usize::MAX)));
                    assert_eq!(rx.recv(), Ok(round));
                });
                once_parked(workers, round, send, receive);
                assert_eq!(keep.try_iter().count(), capacity, "nothing was sent there");
            }
        });
    });
}

#[test]
fn of_a_send_and_a_close_that_race_for_one_select_one_is_taken_and_the_item_is_not_lost() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let ((tx, rx), (done, is_done)) = (bounded(1), bounded::<()>(round % 2));
                let (rest, received) = (rx.clone(), Arc::new(AtomicUsize::new(0)));
                let count = Arc::clone(&received);
                let receive = move || {
                    select! {
                        recv(rx) -> item => {
                            assert_eq!(item, Ok(round));
                            count.fetch_add(1, Ordering::SeqCst);
                        }
                        recv(is_done) -> end => assert_eq!(end, Err(RecvError::Closed)),
                    }
                };
                let sender = tx.clone();
                race(
                    workers,
                    round,
                    [racer(receive), racer(move || sender.send(round).unwrap()), racer(move || drop(done))],
                );
                assert_eq!(received.load(Ordering::SeqCst) + rest.len(), 1, "received, or still there");
                drop(tx);
            }
        });
    });
}

#[test]
fn of_two_rendezvous_senders_that_race_for_one_select_exactly_one_succeeds() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(1_200) {
                let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
                let sent = Arc::new(AtomicUsize::new(0));
                let senders = [tx1, tx2].map(|tx| {
                    let sent = Arc::clone(&sent);
                    racer(move || {
                        sent.fetch_add(usize::from(tx.send(round).is_ok()), Ordering::SeqCst);
                    })
                });
                let receive = racer(move || {
                    let received = select! {
                        recv(rx1) -> received => received,
                        recv(rx2) -> received => received,
                    };
                    // The receivers go now, and with them the hope of the other sender.
                    assert_eq!(received, Ok(round));
                });
                race(workers, round, senders.into_iter().chain([receive]).collect::<Vec<_>>());
                assert_eq!(sent.load(Ordering::SeqCst), 1);
            }
        });
    });
}

#[test]
fn sixteen_selects_each_see_a_close_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(400) {
                let flavour = FLAVOURS[round % FLAVOURS.len()];
                let ((tx1, rx1), (tx2, rx2)) = (flavour.make::<u8>(), flavour.make::<u8>());
                let seen = Arc::new(AtomicUsize::new(0));
                let selects = (0..16).map(|_| {
                    let (rx1, rx2, seen) = (rx1.clone(), rx2.clone(), Arc::clone(&seen));
                    racer(move || {
                        let received = select! {
                            recv(rx1) -> received => received,
                            recv(rx2) -> received => received,
                        };
                        assert_eq!(received, Err(RecvError::Closed));
                        seen.fetch_add(1, Ordering::Relaxed);
                    })
                });
                let closers = [racer(move || assert!(tx1.close())), racer(move || drop(tx2))];
                race(workers, round, selects.chain(closers).collect::<Vec<_>>());
                assert_eq!(seen.load(Ordering::Relaxed), 16);
            }
        });
    });
}

/// One who sends over four channels, so often over each, by one select.
fn send_over(txs: &[Sender<u8>; 4], each: usize) {
    let left = [const { Cell::new(0) }; 4];
    left.iter().for_each(|left| left.set(each));
    while left.iter().any(|left| left.get() > 0) {
        let mut select = Select::new();
        for (tx, left) in txs.iter().zip(&left).filter(|(_, left)| left.get() > 0) {
            select.send(tx, || 1, |sent| sent.map(|()| left.set(left.get() - 1)).unwrap());
        }
        select.wait();
    }
}

/// One who receives over four channels, so often over each, by one select.
fn receive_over(rxs: &[Receiver<u8>; 4], each: usize) {
    let (off, mut left) = (never(), [each; 4]);
    let rx = |left: &[usize; 4], number: usize| if left[number] > 0 { rxs[number].clone() } else { off.clone() };
    while left.iter().any(|left| *left > 0) {
        select! {
            recv(rx(&left, 0)) -> item => item.map(|_| left[0] -= 1).unwrap(),
            recv(rx(&left, 1)) -> item => item.map(|_| left[1] -= 1).unwrap(),
            recv(rx(&left, 2)) -> item => item.map(|_| left[2] -= 1).unwrap(),
            recv(rx(&left, 3)) -> item => item.map(|_| left[3] -= 1).unwrap(),
        }
    }
}

#[test]
fn plain_calls_and_selects_over_four_channels_at_once_all_come_to_their_end() {
    with_workers(|workers| {
        places::mixed(workers, |place: &Place| {
            let each = rounds(10_000);
            let ends = [0, 0, 2, 3].map(bounded::<u8>);
            let (txs, rxs) = (ends.clone().map(|(tx, _)| tx), ends.map(|(_, rx)| rx));
            let senders = place.crowd(4, |number| {
                let tx = txs[number].clone();
                move || (0..each).for_each(|_| tx.send(0).unwrap())
            });
            let receivers = place.crowd(4, |number| {
                let rx = rxs[number].clone();
                move || (0..each).for_each(|_| assert!(rx.recv().is_ok()))
            });
            let (all_txs, all_rxs) = (txs.clone(), rxs.clone());
            let selects =
                [place.spawn(move || send_over(&all_txs, each)), place.spawn(move || receive_over(&all_rxs, each))];
            places::join_all(senders.into_iter().chain(receivers).chain(selects));
            assert!(rxs.iter().all(|rx| rx.try_recv() == Err(TryRecvError::Empty)));
        });
    });
}

#[test]
fn crowds_that_send_or_receive_on_one_channel_all_find_a_partner() {
    const CROWD: usize = 20;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..rounds(500) {
                let (tx, rx) = bounded(0);
                let balance = join_all((0..CROWD).map(|me| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    spawn(move || {
                        select! {
                            recv(rx) -> other => {
                                assert_ne!(other.unwrap(), me);
                                1
                            }
                            send(tx, me) -> sent => sent.map(|()| -1).unwrap(),
                        }
                    })
                }));
                assert_eq!(balance.into_iter().map(Result::unwrap).sum::<i32>(), 0);
            }
        });
    });
}

#[test]
fn a_default_is_not_taken_while_one_arm_or_the_other_is_ready() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(4_000) {
                let ((tx1, rx1), (tx2, rx2)) = (bounded(1), bounded(1));
                tx1.send(()).unwrap();
                let (first, second) = (rx1.clone(), rx2.clone());
                let look = move || {
                    select! {
                        recv(first) -> _ => {}
                        recv(second) -> _ => {}
                        default => panic!("one of the two was ready at any moment"),
                    }
                };
                let change = move || {
                    if round % 2 == 0 {
                        tx2.send(()).unwrap()
                    } else {
                        assert!(tx2.close())
                    }
                    let _ = rx1.try_recv();
                };
                race(workers, round, [racer(look), racer(change)]);
                drop((tx1, rx2));
            }
        });
    });
}

#[test]
fn selects_whose_channels_come_and_go_leave_nothing_behind() {
    with_workers(|workers| {
        in_background(workers, || {
            let (steady, items) = bounded(0);
            let takers: Vec<_> = (0..4)
                .map(|_| {
                    let items = items.clone();
                    spawn(move || {
                        let mut count = 0u64;
                        loop {
                            // The other channel lives no longer than this turn.
                            let (_tx, short) = bounded::<u8>(0);
                            select! {
                                recv(short) -> _ => unreachable!(),
                                recv(items) -> item => match item {
                                    Ok(()) => count += 1,
                                    Err(_) => return count,
                                },
                            }
                        }
                    })
                })
                .collect();
            let count = rounds(20_000) as u64;
            (0..count).for_each(|_| steady.send(()).unwrap());
            drop(steady);
            assert_eq!(join_all(takers).into_iter().map(Result::unwrap).sum::<u64>(), count);
        });
    });
}

/// What comes by four ways at the same moment, each once, is received by selects over all of them.
#[test]
fn selects_over_receivers_of_every_kind_lose_nothing() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(2_000) {
                let (answer, mut answered) = oneshot();
                let (speaker, mut news) = broadcast(1);
                let (settings, mut changes) = watch(0);
                let (tx, rx) = bounded(0);
                let hold = Arc::new(());
                let message = Arc::clone(&hold);
                let receive = racer(move || {
                    let mut left = [true; 4];
                    while left.contains(&true) {
                        // One that has ended is always ready, and a wait for it no wait.
                        let (was, it) = select! {
                            recv(&mut answered) -> answer => (answer.is_ok(), 0),
                            recv(&mut news) -> message => (message == Ok(round), 1),
                            recv(&mut changes) -> changed => (changed.is_ok() && changes.get() == round, 2),
                            recv(rx) -> message => (message == Ok(round), 3),
                        };
                        assert!(!was || std::mem::take(&mut left[it]), "each comes once");
                    }
                });
                let senders = [
                    racer(move || answer.send(message).unwrap()),
                    racer(move || _ = speaker.send(round).unwrap()),
                    racer(move || tx.send(round).unwrap()),
                    // Zero is what it was, and would be told of as a change all the same.
                    racer(move || _ = settings.send(round)),
                ];
                race(workers, round, senders.into_iter().chain([receive]));
                assert_eq!(Arc::strong_count(&hold), 1, "the message was dropped");
            }
        });
    });
}

/// A select that another arm ends, and whose frame is left at once, while the only sender of a message looks for its record.
#[test]
fn a_select_that_is_over_is_not_looked_at_by_a_late_sender() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(5_000) {
                let (sender, mut receiver) = oneshot();
                let (tx, rx) = bounded(0);
                let receive = racer(move || {
                    let is_first = select! {
                        recv(&mut receiver) -> message => message == Ok(round),
                        recv(rx) -> message => message != Ok(round),
                    };
                    // The same places in memory, for something else.
                    let frame = std::hint::black_box([round; 64]);
                    let rest = if is_first { rx.recv() } else { receiver.recv() };
                    assert_eq!((rest, frame), (Ok(round), [round; 64]));
                });
                race(
                    workers,
                    round,
                    [receive, racer(move || sender.send(round).unwrap()), racer(move || tx.send(round).unwrap())],
                );
            }
        });
    });
}
