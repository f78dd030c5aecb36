//! Bounded channels that one thread alone has used for a long time, and then others use as well.

use crate::common::rounds;
use crate::common::watchdog::Watchdog;
use sisal::chan::{Receiver, Sender, bounded};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Enough that the channel has become its thread's own.
const LONG: usize = 100;

/// A channel that the calling thread has used for long.
fn well_known(capacity: usize) -> (Sender<usize>, Receiver<usize>) {
    let (tx, rx) = bounded(capacity);
    for number in 0..LONG {
        tx.send(number).unwrap();
        assert_eq!(rx.recv(), Ok(number));
    }
    (tx, rx)
}

fn watched<F: Fn()>(body: F) {
    let _watchdog = Watchdog::over(&body, "");
    body();
}

#[test]
fn nothing_is_lost_when_others_come_to_send_and_to_receive() {
    const EACH: usize = 200;
    watched(|| {
        for _ in 0..rounds(400) {
            let (tx, rx) = well_known(8);
            let received: usize = thread::scope(|scope| {
                let sender = tx.clone();
                scope.spawn(move || (1..=EACH).for_each(|number| sender.send(number).unwrap()));
                let receiver = rx.clone();
                let other = scope.spawn(move || receiver.iter().sum::<usize>());
                // Its first user goes on as if nothing had happened.
                let mut received = 0;
                for number in 1..=EACH {
                    while tx.try_send(number).is_err() {
                        received += rx.try_recv().unwrap_or(0);
                    }
                    received += rx.try_recv().unwrap_or(0);
                }
                drop(tx);
                received + rx.iter().sum::<usize>() + other.join().unwrap()
            });
            assert_eq!(received, EACH * (EACH + 1));
        }
    });
}

/// One sends and then looks whether the other sleeps; the other says that it sleeps and then looks for a message. Event loops of others are woken like that.
fn at_least_one_sees_the_other(look: fn(&Receiver<usize>) -> bool) {
    watched(|| {
        let arrived = AtomicUsize::new(0);
        // Both go on at the same moment, as nearly as can be.
        let meet = |round: usize| {
            arrived.fetch_add(1, Ordering::SeqCst);
            for look in 0.. {
                if arrived.load(Ordering::SeqCst) >= 2 * (round + 1) {
                    break;
                }
                // The other may be waiting for this processor.
                if look < 20_000 { std::hint::spin_loop() } else { thread::yield_now() }
            }
        };
        let meetings: Vec<_> = (0..rounds(20_000)).map(|_| (well_known(4), AtomicBool::new(false))).collect();
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let meetings = meetings.iter().enumerate();
                let found = meetings.map(|(round, ((_, rx), sleeps))| {
                    meet(round);
                    // ORDERING: SeqCst on both sides: what the test is about.
                    sleeps.store(true, Ordering::SeqCst);
                    look(rx)
                });
                found.collect::<Vec<bool>>()
            });
            let meetings = meetings.iter().enumerate();
            let found_asleep = meetings.map(|(round, ((tx, _), sleeps))| {
                meet(round);
                tx.send(1).unwrap();
                sleeps.load(Ordering::SeqCst)
            });
            let found_asleep: Vec<bool> = found_asleep.collect();
            let lost = found_asleep.iter().zip(other.join().unwrap()).filter(|&(&asleep, found)| !asleep && !found);
            assert_eq!(lost.count(), 0, "a message lies there, and nobody wakes its receiver");
        });
    });
}

/// One after the other: each needs both processors.
#[test]
fn a_message_is_found_by_one_who_has_said_that_it_sleeps_or_its_sender_finds_it_asleep() {
    at_least_one_sees_the_other(|rx| rx.try_recv().is_ok());
    at_least_one_sees_the_other(|rx| !rx.is_empty());
}
