//! Every value is dropped exactly once, also when those who wait to send it or to receive it are cancelled at that very moment, while others
//! close the channel or leave it.

use crate::common::flavours::{Counted, FLAVOURS, Flavour, Ledger};
use crate::common::places::{Place, join_all, mixed};
use crate::common::{WORKERS, rounds, until};
use crate::drops::Live;
use sisal::chan::{
    BroadcastRecvError, OneReceiver, OneSender, OrderedReceiver, OrderedRecvError, OrderedRecvTimeoutError,
    OrderedSender, OrderedTryRecvError, Receiver, RecvError, RecvTimeoutError, Sender, broadcast, never, oneshot,
    ordered, pool, watch,
};
use sisal::{CancelToken, in_fiber, nursery, select, timeout, yield_now};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SENDERS: usize = 3;
const RECEIVERS: usize = 3;
const EACH: usize = 8;
const ALL: usize = SENDERS * EACH;

/// So short that it may be over at any step of what it limits.
const MOMENT: Duration = Duration::from_micros(20);

/// Calls `body` again and again, with fibers and threads as actors.
fn storm(body: impl Fn(&Place, usize) + Send + Sync) {
    for workers in WORKERS {
        mixed(workers, |place| (0..rounds(100)).for_each(|round| body(place, round)));
    }
}

/// Calls `f`, whose waits are cancelled: by the token, by a time, or by a nursery, in which it may also not run at all.
fn cancelled<R: Send>(how: usize, token: &CancelToken, f: impl FnOnce() -> R + Send) -> Option<R> {
    match how % 3 {
        0 => Some(token.run(f)),
        1 => Some(timeout(MOMENT, f)),
        _ if in_fiber() => {
            let mut result = None;
            let Ok(()) = nursery(|nursery| {
                nursery.spawn(|| result = Some(f()));
                (0..how % 4).for_each(|_| yield_now());
                nursery.cancel();
                Ok::<_, Infallible>(())
            });
            result
        }
        _ => Some(token.child().run(f)),
    }
}

/// What came of receiving.
enum Got {
    One,
    Nothing,
    Closed,
}

/// Receives, and is cancelled, until the token is, or the channel is closed and empty.
fn receive_until_the_end(token: &CancelToken, first: usize, mut receive: impl FnMut(usize) -> Got + Send) -> usize {
    let mut received = 0;
    for round in first.. {
        // Once it is cancelled, what is there may be received, but nothing is waited for.
        let is_last = token.is_cancelled();
        match cancelled(round, token, || receive(round)) {
            Some(Got::One) => received += 1,
            Some(Got::Closed) => break,
            Some(Got::Nothing) | None if is_last => break,
            Some(Got::Nothing) | None => {}
        }
    }
    received
}

fn send(tx: &Sender<Counted>, item: Counted) -> bool {
    match item.number % 4 {
        0 | 1 => tx.send(item).is_ok(),
        2 => tx.send_timeout(item, MOMENT * 2).is_ok(),
        _ => select! {
            send(tx, item) -> sent => sent.is_ok(),
            recv(never::<u8>()) -> _ => false,
        },
    }
}

fn receive(rx: &Receiver<Counted>, round: usize) -> Got {
    let by_recv = |received| match received {
        Ok(_) => Got::One,
        Err(RecvError::Closed) => Got::Closed,
        Err(_) => Got::Nothing,
    };
    match round % 4 {
        0 | 1 => by_recv(rx.recv()),
        2 => match rx.recv_timeout(MOMENT * 2) {
            Ok(_) => Got::One,
            Err(RecvTimeoutError::Closed) => Got::Closed,
            Err(_) => Got::Nothing,
        },
        _ => select! {
            recv(rx) -> item => by_recv(item),
            recv(never::<u8>()) -> _ => Got::Nothing,
        },
    }
}

/// How the channel ends in a round, beside the cancellations.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum End {
    ByCancel,
    BySender,
    ByReceiver,
    Dropped,
}

impl End {
    fn of(round: usize) -> End {
        [End::ByCancel, End::BySender, End::ByReceiver, End::Dropped][round % 4]
    }
}

fn race(place: &Place, flavour: Flavour, round: usize) {
    let (ledger, token, end) = (Ledger::of(ALL), CancelToken::new(), End::of(round));
    let (tx, rx) = flavour.make();
    let receivers = place.crowd(RECEIVERS, |number| {
        let (rx, token) = (rx.clone(), token.clone());
        move || receive_until_the_end(&token, round + number, |round| receive(&rx, round))
    });
    let senders = place.crowd(SENDERS, |sender| {
        let (tx, token, ledger) = (tx.clone(), token.clone(), ledger.clone());
        move || {
            let items = (0..EACH).map(|number| ledger.make(sender * EACH + number));
            let sent = items.map(|item| cancelled(round / 4 + item.number, &token, || send(&tx, item)));
            sent.filter(|sent| *sent == Some(true)).count()
        }
    });
    (0..round % 7).for_each(|_| yield_now());
    let rest = match end {
        End::ByCancel => Some(rx),
        End::BySender => {
            tx.close();
            Some(rx)
        }
        End::ByReceiver => {
            rx.close();
            Some(rx)
        }
        End::Dropped => {
            drop(rx);
            None
        }
    };
    token.cancel();
    let (sent, received): (usize, usize) = (join_all(senders).iter().sum(), join_all(receivers).iter().sum());
    if let Some(rest) = rest {
        assert_eq!(received + rest.try_iter().count(), sent, "{flavour:?}, {end:?}");
    }
    drop(tx);
    ledger.check();
}

#[test]
fn in_channels_whose_waits_are_cancelled_each_item_is_dropped_once_and_received_if_it_was_sent() {
    for flavour in FLAVOURS {
        storm(|place, round| race(place, flavour, round));
    }
}

#[test]
fn a_single_item_is_dropped_once_when_whoever_waits_for_it_is_cancelled() {
    storm(|place, round| {
        let (ledger, token) = (Ledger::of(ALL), CancelToken::new());
        let (senders, receivers): (Vec<OneSender<_>>, Vec<OneReceiver<_>>) = (0..ALL).map(|_| oneshot()).unzip();
        let inner = token.clone();
        let receiver = place.spawn(move || {
            let received = receivers.into_iter().enumerate().map(|(number, mut rx)| match (round + number) % 4 {
                0 => cancelled(number / 4, &inner, || rx.recv().is_ok()) == Some(true),
                1 => cancelled(number / 4, &inner, || rx.recv_timeout(MOMENT).is_ok()) == Some(true),
                // It can still be received after a cancel.
                2 => {
                    let first = cancelled(number / 4, &inner, || rx.recv_timeout(MOMENT * 4).is_ok());
                    first == Some(true) || rx.try_recv().is_ok()
                }
                _ => {
                    drop(rx);
                    false
                }
            });
            received.filter(|received| *received).count()
        });
        let making = ledger.clone();
        let sender = place.spawn(move || {
            let send = |(number, tx): (usize, OneSender<_>)| tx.send(making.make(number)).is_ok();
            senders.into_iter().enumerate().map(send).filter(|sent| *sent).count()
        });
        (0..round % 7).for_each(|_| yield_now());
        token.cancel();
        assert!(receiver.join() <= sender.join());
        ledger.check();
    });
}

#[test]
fn of_what_is_broadcast_to_those_who_are_cancelled_no_copy_stays_and_none_is_dropped_twice() {
    storm(|place, round| {
        let (count, token) = (Arc::new(AtomicUsize::new(0)), CancelToken::new());
        let (tx, rx) = broadcast::<Live>(3);
        let receivers = place.crowd(RECEIVERS, |number| {
            let (mut rx, token) = (rx.clone(), token.clone());
            move || {
                receive_until_the_end(&token, round + number, |_| match rx.recv() {
                    Ok(_) => Got::One,
                    Err(BroadcastRecvError::Closed) => Got::Closed,
                    Err(_) => Got::Nothing,
                })
            }
        });
        let senders = place.crowd(SENDERS, |_| {
            let (tx, count) = (tx.clone(), Arc::clone(&count));
            move || (0..EACH).for_each(|_| drop(tx.send(Live::new(&count))))
        });
        (0..round % 7).for_each(|_| yield_now());
        match End::of(round) {
            End::BySender | End::ByReceiver => drop(tx.close()),
            End::ByCancel | End::Dropped => {}
        }
        drop(rx);
        token.cancel();
        join_all(senders);
        join_all(receivers);
        drop(tx);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn values_that_are_watched_by_those_who_are_cancelled_are_dropped_once() {
    storm(|place, round| {
        let (ledger, token) = (Ledger::of(ALL + 1), CancelToken::new());
        let (tx, rx) = watch(ledger.make(ALL));
        let watchers = place.crowd(RECEIVERS, |number| {
            let (mut rx, token) = (rx.clone(), token.clone());
            move || {
                receive_until_the_end(&token, round + number, |_| match rx.changed() {
                    Ok(()) => rx.with(|item| if item.number <= ALL { Got::One } else { Got::Nothing }),
                    Err(RecvError::Closed) => Got::Closed,
                    Err(_) => Got::Nothing,
                })
            }
        });
        let making = ledger.clone();
        let sender = place.spawn(move || (0..ALL).for_each(|number| drop(tx.send(making.make(number)))));
        (0..round % 7).for_each(|_| yield_now());
        drop(rx);
        token.cancel();
        sender.join();
        join_all(watchers);
        ledger.check();
    });
}

#[test]
fn things_of_a_pool_are_dropped_once_and_come_back_when_those_who_wait_are_cancelled() {
    storm(|place, round| {
        let (count, token) = (Arc::new(AtomicUsize::new(0)), CancelToken::new());
        let made = Arc::clone(&count);
        let pool = pool(move || Live::new(&made), |_| (), 2);
        let users = place.crowd(SENDERS + RECEIVERS, |user| {
            let (pool, token) = (pool.clone(), token.clone());
            move || {
                for turn in round + user..round + user + EACH {
                    let thing = cancelled(turn, &token, || match turn % 4 {
                        0 => pool.get_timeout(MOMENT * 2).ok(),
                        _ => pool.get().ok(),
                    });
                    yield_now();
                    match (turn % 3, thing.flatten()) {
                        (0, Some(thing)) => thing.discard(),
                        (1, Some(thing)) => drop(thing.detach()),
                        (_, thing) => drop(thing),
                    }
                }
            }
        });
        (0..round % 7).for_each(|_| yield_now());
        token.cancel();
        join_all(users);
        assert_eq!((pool.in_use(), count.load(Ordering::SeqCst)), (0, pool.idle()));
        assert_eq!(
            [pool.try_get(), pool.try_get(), pool.try_get()].iter().flatten().count(),
            2,
            "all places are there"
        );
        drop(pool);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    });
}

fn send_work(tx: &OrderedSender<Counted>, item: Counted) -> bool {
    let how = item.number % 4;
    let work = move || {
        (0..how).for_each(|_| yield_now());
        item
    };
    match how {
        0 => tx.try_send(work).is_ok(),
        1 => tx.send_timeout(work, MOMENT * 2).is_ok(),
        _ => tx.send(work).is_ok(),
    }
}

fn receive_result(rx: &OrderedReceiver<Counted>, round: usize) -> Got {
    match round % 4 {
        0 => match rx.try_recv() {
            Ok(_) => Got::One,
            Err(OrderedTryRecvError::Closed) => Got::Closed,
            Err(_) => Got::Nothing,
        },
        1 => match rx.recv_timeout(MOMENT * 2) {
            Ok(_) => Got::One,
            Err(OrderedRecvTimeoutError::Closed) => Got::Closed,
            Err(_) => Got::Nothing,
        },
        _ => match rx.recv() {
            Ok(_) => Got::One,
            Err(OrderedRecvError::Closed) => Got::Closed,
            Err(_) => Got::Nothing,
        },
    }
}

#[test]
fn of_work_and_its_results_each_is_dropped_once_and_received_if_it_was_sent_when_waits_are_cancelled() {
    storm(|place, round| {
        let (ledger, token, end) = (Ledger::of(ALL), CancelToken::new(), End::of(round));
        let (tx, rx) = ordered(1 + round % 3);
        let rx = Arc::new(rx);
        let receivers = place.crowd(RECEIVERS, |number| {
            let (rx, token) = (Arc::clone(&rx), token.clone());
            move || receive_until_the_end(&token, round + number, |round| receive_result(&rx, round))
        });
        let senders = place.crowd(SENDERS, |sender| {
            let (tx, token, ledger) = (tx.clone(), token.clone(), ledger.clone());
            move || {
                let items = (0..EACH).map(|number| ledger.make(sender * EACH + number));
                let sent = items.map(|item| cancelled(round / 4 + item.number, &token, || send_work(&tx, item)));
                sent.filter(|sent| *sent == Some(true)).count()
            }
        });
        (0..round % 7).for_each(|_| yield_now());
        let rest = match end {
            End::ByCancel => Some(rx),
            End::BySender => {
                tx.close();
                Some(rx)
            }
            End::ByReceiver => {
                rx.close();
                Some(rx)
            }
            End::Dropped => {
                drop(rx);
                None
            }
        };
        token.cancel();
        let (sent, received): (usize, usize) = (join_all(senders).iter().sum(), join_all(receivers).iter().sum());
        drop(tx);
        if let Some(rest) = rest {
            assert_eq!(received + rest.iter().count(), sent, "{end:?}");
            assert_eq!(rest.len(), 0);
        }
        // Work whose receiver is gone goes on, and then its result goes.
        until(|| ledger.dropped() >= ALL);
        ledger.check();
    });
}
