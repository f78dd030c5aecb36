//! Every value that is sent is dropped exactly once, whatever races.

use crate::common::flavours::{Counted, FLAVOURS, Flavour, Ledger};
use crate::common::places::{everywhere, join_all};
use sisal::chan::{Receiver, RecvTimeoutError, Sender, bounded, broadcast, oneshot, unbounded};
use sisal::select;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn what_is_received_is_the_receivers() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ledger = Ledger::of(50);
            let (tx, rx) = flavour.make();
            let making = ledger.clone();
            let sender = place.spawn(move || (0..50).for_each(|number| tx.send(making.make(number)).unwrap()));
            for number in 0..50 {
                let item = rx.recv().unwrap();
                assert_eq!(ledger.dropped(), number, "only those before it");
                drop(item);
            }
            sender.join();
            ledger.check();
        }
    });
}

#[test]
fn what_nobody_receives_goes_with_the_channel() {
    for flavour in [Flavour::Bounded(100), Flavour::Bounded(64), Flavour::Unbounded] {
        for received in [0, 1, 31, 32, 33, 64] {
            let ledger = Ledger::of(64);
            let (tx, rx) = flavour.make();
            (0..64).for_each(|number| tx.send(ledger.make(number)).unwrap());
            (0..received).for_each(|_| drop(rx.recv().unwrap()));
            drop(tx);
            assert_eq!(ledger.dropped(), received);
            drop(rx);
            ledger.check();
        }
    }
}

#[test]
fn what_is_given_back_is_not_kept() {
    everywhere(|_| {
        let ledger = Ledger::of(8);
        let (tx, rx) = bounded(1);
        tx.send(ledger.make(0)).unwrap();
        drop(tx.try_send(ledger.make(1)));
        drop(tx.send_timeout(ledger.make(2), Duration::from_micros(100)));
        tx.close();
        drop(tx.send(ledger.make(3)));
        drop(tx.try_send(ledger.make(4)));
        drop(tx.send_timeout(ledger.make(5), Duration::ZERO));
        assert_eq!(ledger.dropped(), 5);
        let (rendezvous, _keep) = bounded(0);
        drop(rendezvous.try_send(ledger.make(6)));
        drop(rendezvous.send_timeout(ledger.make(7), Duration::from_micros(100)));
        drop(rx);
        ledger.check();
    });
}

/// How the senders of a storm send.
fn send(tx: &Sender<Counted>, item: Counted) -> bool {
    match item.number % 4 {
        0 => tx.try_send(item).is_ok(),
        1 => tx.send_timeout(item, Duration::from_micros(50)).is_ok(),
        2 => {
            let (other, _keep) = bounded::<u8>(0);
            select! {
                send(tx, item) -> sent => sent.is_ok(),
                send(other, 1) -> _ => unreachable!("nobody receives"),
            }
        }
        _ => tx.send(item).is_ok(),
    }
}

/// How the receivers of a storm receive. None when the channel is closed.
fn receive(rx: &Receiver<Counted>, round: usize) -> Option<usize> {
    let item = match round % 3 {
        0 => rx.recv().ok()?,
        1 => loop {
            match rx.recv_timeout(Duration::from_micros(20)) {
                Ok(item) => break item,
                Err(RecvTimeoutError::TimedOut) => {}
                Err(_) => return None,
            }
        },
        _ => select! { recv(rx) -> item => item.ok()? },
    };
    Some(item.number)
}

#[test]
fn in_every_mixture_of_calls_each_item_is_dropped_once_and_received_if_it_was_sent() {
    const SENDERS: usize = 3;
    const EACH: usize = 80;
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ledger = Ledger::of(SENDERS * EACH);
            let (tx, rx) = flavour.make();
            let receivers = place.crowd(3, |_| {
                let rx = rx.clone();
                move || (0..).map_while(|round| receive(&rx, round)).count()
            });
            let senders = place.crowd(SENDERS, |sender| {
                let (tx, ledger) = (tx.clone(), ledger.clone());
                move || (0..EACH).filter(|number| send(&tx, ledger.make(sender * EACH + number))).count()
            });
            let sent: usize = join_all(senders).into_iter().sum();
            drop(tx);
            assert_eq!(join_all(receivers).into_iter().sum::<usize>(), sent, "{flavour:?}");
            ledger.check();
        }
    });
}

#[test]
fn a_receiver_that_leaves_in_the_middle_leaves_nothing_behind() {
    const SENDERS: usize = 3;
    const EACH: usize = 40;
    everywhere(|place| {
        for flavour in FLAVOURS {
            for leave_after in [0, 1, 7] {
                let ledger = Ledger::of(SENDERS * EACH);
                let (tx, rx) = flavour.make();
                let senders = place.crowd(SENDERS, |sender| {
                    let (tx, ledger) = (tx.clone(), ledger.clone());
                    move || (0..EACH).for_each(|number| drop(tx.send(ledger.make(sender * EACH + number))))
                });
                (0..leave_after).for_each(|_| drop(rx.recv().unwrap()));
                drop(rx);
                join_all(senders);
                ledger.check();
                drop(tx);
            }
        }
    });
}

#[test]
fn a_close_in_the_middle_leaves_nothing_behind() {
    const SENDERS: usize = 3;
    const EACH: usize = 40;
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ledger = Ledger::of(SENDERS * EACH);
            let (tx, rx) = flavour.make();
            let senders = place.crowd(SENDERS, |sender| {
                let (tx, ledger) = (tx.clone(), ledger.clone());
                move || (0..EACH).filter(|number| tx.send(ledger.make(sender * EACH + number)).is_ok()).count()
            });
            let mut received = (0..5).map_while(|_| rx.recv().ok()).count();
            rx.close();
            received += rx.iter().count();
            assert_eq!(join_all(senders).into_iter().sum::<usize>(), received);
            ledger.check();
        }
    });
}

#[test]
fn an_arm_that_is_not_taken_drops_its_value() {
    everywhere(|_| {
        let ledger = Ledger::of(20);
        let ((full, _keep), (open, taken)) = (bounded(0), unbounded());
        for number in 0..10 {
            select! {
                send(full, ledger.make(2 * number)) -> _ => unreachable!("nobody receives"),
                send(open, ledger.make(2 * number + 1)) -> sent => sent.unwrap(),
            }
            assert_eq!(ledger.dropped(), number + 1);
        }
        assert!(taken.iter().take(10).all(|item: Counted| item.number % 2 == 1));
        ledger.check();
    });
}

#[test]
fn a_select_that_is_taken_by_its_default_drops_its_values() {
    everywhere(|_| {
        let ledger = Ledger::of(4);
        let (full, _keep) = bounded(0);
        select! {
            send(full, ledger.make(0)) -> _ => unreachable!(),
            send(full, ledger.make(1)) -> _ => unreachable!(),
            default => {}
        }
        assert_eq!(ledger.dropped(), 2);
        select! {
            send(full, ledger.make(2)) -> _ => unreachable!(),
            default(Duration::from_micros(100)) => {}
        }
        full.close();
        select! {
            send(full, ledger.make(3)) -> sent => assert!(sent.is_err_and(|error| error.into_inner().number == 3)),
        }
        ledger.check();
    });
}

#[test]
fn channels_that_are_in_a_channel_go_with_it() {
    everywhere(|_| {
        let ledger = Ledger::of(10);
        let (outer, outers) = unbounded();
        for number in 0..10 {
            let (tx, rx) = unbounded();
            tx.send(ledger.make(number)).unwrap();
            outer.send((tx, rx)).unwrap();
        }
        drop(outer);
        assert_eq!(ledger.dropped(), 0);
        drop(outers);
        ledger.check();
    });
}

#[test]
fn a_chain_of_channels_in_channels_goes_with_its_first() {
    struct Link(#[allow(dead_code, reason = "it is only dropped")] Option<Receiver<Link>>);
    crate::common::watchdog::guarded(|| {
        // Dropping one drops the next inside; a few hundred are no burden for any stack.
        let mut rx = None;
        for _ in 0..200 {
            let (tx, next) = unbounded();
            tx.send(Link(rx.take())).unwrap();
            rx = Some(next);
        }
        drop(rx);
    });
}

#[test]
fn an_item_that_panics_when_it_is_dropped_is_not_dropped_again() {
    struct Touchy(Arc<[AtomicUsize]>, usize);
    impl Drop for Touchy {
        fn drop(&mut self) {
            self.0[self.1].fetch_add(1, Ordering::SeqCst);
            assert!(self.1 != 1, "on purpose");
        }
    }
    crate::common::watchdog::guarded(|| {
        for flavour in [Flavour::Bounded(4), Flavour::Unbounded] {
            let drops: Arc<[AtomicUsize]> = (0..4).map(|_| AtomicUsize::new(0)).collect();
            let (tx, rx) = flavour.make();
            (0..4).for_each(|number| tx.send(Touchy(Arc::clone(&drops), number)).unwrap());
            let dropped = catch_unwind(AssertUnwindSafe(move || drop(rx)));
            assert!(dropped.is_err(), "{flavour:?}");
            let _ = catch_unwind(AssertUnwindSafe(move || drop(tx)));
            assert!(drops.iter().all(|drops| drops.load(Ordering::SeqCst) <= 1), "{flavour:?}: {drops:?}");
        }
    });
}

/// Counts those of its kind that live.
#[derive(Debug)]
pub(crate) struct Live(Arc<AtomicUsize>);

impl Live {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Live {
        count.fetch_add(1, Ordering::SeqCst);
        Live(Arc::clone(count))
    }
}

impl Clone for Live {
    fn clone(&self) -> Live {
        Live::new(&self.0)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        assert_ne!(self.0.fetch_sub(1, Ordering::SeqCst), 0);
    }
}

#[test]
fn of_what_is_broadcast_no_copy_stays_and_none_is_dropped_twice() {
    everywhere(|place| {
        let count = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = broadcast(4);
        let receivers = place.crowd(3, |number| {
            let mut rx = rx.clone();
            move || {
                for _ in 0..number * 20 {
                    match rx.recv() {
                        Ok(item) => drop::<Live>(item),
                        Err(sisal::chan::BroadcastRecvError::Lagged(_)) => {}
                        Err(_) => return,
                    }
                }
            }
        });
        (0..100).for_each(|_| drop(tx.send(Live::new(&count))));
        drop(tx);
        join_all(receivers);
        drop(rx);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_single_item_is_dropped_once_however_its_channel_ends() {
    everywhere(|_| {
        let ledger = Ledger::of(5);
        let (tx, rx) = oneshot();
        tx.send(ledger.make(0)).unwrap();
        drop(rx);
        let (tx, rx) = oneshot();
        tx.send(ledger.make(1)).unwrap();
        drop(rx.recv());
        let (tx, mut rx) = oneshot();
        tx.send(ledger.make(2)).unwrap();
        drop(rx.try_recv());
        drop(rx);
        let (tx, rx) = oneshot();
        drop(rx);
        drop(tx.send(ledger.make(3)));
        let (tx, mut rx) = oneshot();
        drop(rx.recv_timeout(Duration::from_micros(50)));
        tx.send(ledger.make(4)).unwrap();
        drop(rx);
        ledger.check();
    });
}

#[test]
fn messages_that_panic_when_they_are_dropped_keep_no_others() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Spiteful<'a>(&'a AtomicUsize, bool);
    impl Drop for Spiteful<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if self.1 {
                std::panic::resume_unwind(Box::new(()));
            }
        }
    }
    for first in [0, 1, 3] {
        let dropped = AtomicUsize::new(0);
        let (sender, receiver) = sisal::chan::bounded(4);
        (0..4).for_each(|number| drop(sender.send(Spiteful(&dropped, number == first))));
        let gone = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
        assert!(gone.is_err());
        assert_eq!(dropped.load(Ordering::Relaxed), 4, "the first that panicked was number {first}");
    }
}
