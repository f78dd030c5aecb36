//! Of arms that are ready none is preferred, and none starves.

use crate::common::places::everywhere;
use crate::common::{fixed, in_background, in_main_fiber, rounds, until, watched, with_workers};
use sisal::chan::{Receiver, Sender, bounded, never, tick, unbounded};
use sisal::sync::Event;
use sisal::{Select, select, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How often arms that are always ready are chosen between.
const ROUNDS: usize = 10_000;

/// Each of so many arms has about its share of the rounds.
#[track_caller]
fn check(wins: &[usize]) {
    let share = wins.iter().sum::<usize>() / wins.len();
    assert!(wins.iter().all(|wins| (share * 4 / 5..=share * 6 / 5).contains(wins)), "{wins:?}");
}

#[test]
fn of_two_receives_that_are_always_ready_each_wins_about_half() {
    everywhere(|_| {
        let ((tx1, rx1), (tx2, rx2)) = (unbounded(), bounded(ROUNDS));
        (0..ROUNDS).for_each(|_| {
            tx1.send(()).unwrap();
            tx2.send(()).unwrap();
        });
        let mut wins = [0; 2];
        for _ in 0..ROUNDS {
            select! {
                recv(rx1) -> received => received.map(|()| wins[0] += 1).unwrap(),
                recv(rx2) -> received => received.map(|()| wins[1] += 1).unwrap(),
            }
        }
        check(&wins);
    });
}

#[test]
fn of_two_sends_that_are_always_ready_each_wins_about_half() {
    everywhere(|_| {
        let ((tx1, rx1), (tx2, rx2)) = (unbounded(), bounded(ROUNDS));
        for _ in 0..ROUNDS {
            select! {
                send(tx1, ()) -> sent => sent.unwrap(),
                send(tx2, ()) -> sent => sent.unwrap(),
            }
        }
        check(&[rx1.len(), rx2.len()]);
    });
}

#[test]
fn of_two_closed_channels_each_wins_about_half() {
    everywhere(|_| {
        let (rx1, rx2): (Receiver<u8>, Receiver<u8>) = (unbounded().1, bounded(0).1);
        let mut wins = [0; 2];
        for _ in 0..ROUNDS {
            select! {
                recv(rx1) -> _ => wins[0] += 1,
                recv(rx2) -> _ => wins[1] += 1,
            }
        }
        check(&wins);
    });
}

#[test]
fn of_the_ready_arms_each_wins_its_share_wherever_it_stands() {
    everywhere(|_| {
        // Two of three neighbours are ready: who only begins at random and goes on in order favours one of them.
        let ready: Vec<_> = (0..2).map(|_| unbounded()).collect();
        for (tx, _) in &ready {
            (0..ROUNDS).for_each(|_| tx.send(()).unwrap());
        }
        let (off, mut wins) = (never::<()>(), [0; 2]);
        for _ in 0..ROUNDS {
            select! {
                recv(off) -> _ => unreachable!(),
                recv(ready[0].1) -> _ => wins[0] += 1,
                recv(off) -> _ => unreachable!(),
                recv(off) -> _ => unreachable!(),
                recv(ready[1].1) -> _ => wins[1] += 1,
            }
        }
        check(&wins);
    });
}

#[test]
fn of_arms_known_at_run_time_each_wins_its_share() {
    everywhere(|_| {
        let channels: Vec<(Sender<()>, Receiver<()>)> = (0..4).map(|_| unbounded()).collect();
        for (tx, _) in &channels {
            (0..ROUNDS).for_each(|_| tx.send(()).unwrap());
        }
        let mut select = Select::new();
        for (number, (_, rx)) in channels.iter().enumerate() {
            select.recv(rx, move |received| received.map(|()| number).unwrap());
        }
        let mut wins = [0; 4];
        (0..ROUNDS).for_each(|_| wins[select.wait()] += 1);
        check(&wins);
        wins = [0; 4];
        (0..ROUNDS).for_each(|_| wins[select.try_wait().unwrap()] += 1);
        check(&wins);
    });
}

#[test]
fn a_timer_arm_and_a_busy_arm_both_make_progress() {
    everywhere(|_| {
        let (tx, busy) = bounded(1);
        let ticks = tick(Duration::from_micros(200));
        tx.send(1).unwrap();
        let (mut ticked, mut received) = (0, 0);
        while ticked < 10 || received < 1_000 {
            select! {
                recv(busy) -> item => {
                    tx.send(item.unwrap()).unwrap();
                    received += 1;
                }
                recv(ticks) -> when => {
                    when.unwrap();
                    ticked += 1;
                }
            }
        }
    });
}

#[test]
fn a_select_of_busy_arms_lets_the_other_fibers_of_its_worker_run() {
    with_workers(|workers| {
        let runtime = watched(fixed(workers).build().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        // Both on one worker: the first never has to wait.
        let busy = runtime.handle().spawn_on(0, move || {
            let (tx, rx) = unbounded();
            let mut rounds = 0u64;
            tx.send(1).unwrap();
            while !told.load(Ordering::Relaxed) {
                select! {
                    recv(rx) -> item => tx.send(item.unwrap()).unwrap(),
                    recv(never::<u8>()) -> _ => unreachable!(),
                }
                rounds += 1;
            }
            rounds
        });
        let other = runtime.handle().spawn_on(0, move || stop.store(true, Ordering::Relaxed));
        other.join().unwrap();
        busy.join().unwrap();
        crate::common::shut_down(runtime);
    });
}

#[test]
fn selects_that_wait_are_all_served_by_a_sender_that_never_ends() {
    let each = rounds(2_000);
    in_background(2, || {
        let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
        let done: Arc<[AtomicUsize; 4]> = Arc::default();
        let takers: Vec<_> = (0..4)
            .map(|taker| {
                let (rx1, rx2, done) = (rx1.clone(), rx2.clone(), Arc::clone(&done));
                sisal::spawn(move || {
                    loop {
                        select! {
                            recv(rx1) -> item => if item.is_err() { return },
                            recv(rx2) -> item => if item.is_err() { return },
                        }
                        done[taker].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let senders = [tx1, tx2].map(|tx| sisal::spawn(move || while tx.send(()).is_ok() {}));
        until(|| done.iter().all(|done| done.load(Ordering::Relaxed) >= each));
        assert!(rx1.close() && rx2.close());
        takers.into_iter().chain(senders).for_each(|fiber| fiber.join().unwrap());
    });
}

/// One that waits for several goes behind those that are ready: so it finds what they have for it, and need not wait for each.
#[test]
fn a_select_that_is_woken_lets_those_who_are_ready_go_first() {
    const SENDERS: usize = 5;
    let counter = || Arc::new(AtomicUsize::new(0));
    in_main_fiber(1, || {
        let pairs: Vec<(Sender<usize>, Receiver<usize>)> = (0..SENDERS).map(|_| bounded(0)).collect();
        let (gate, waiting, begun) = (Arc::new(Event::new()), counter(), counter());
        let (senders, receivers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let selecting = spawn({
            let (waiting, begun) = (Arc::clone(&waiting), Arc::clone(&begun));
            move || {
                let mut select = Select::new();
                receivers.iter().for_each(|receiver| _ = select.recv(receiver, |item| item.unwrap()));
                waiting.fetch_add(1, Ordering::Relaxed);
                select.wait();
                begun.load(Ordering::Relaxed)
            }
        });
        let sending = senders.into_iter().map(|sender| {
            let (gate, waiting, begun) = (Arc::clone(&gate), Arc::clone(&waiting), Arc::clone(&begun));
            spawn(move || {
                waiting.fetch_add(1, Ordering::Relaxed);
                gate.wait().unwrap();
                begun.fetch_add(1, Ordering::Relaxed);
                // The first is received, the others wait until nobody is left to receive.
                let _ = sender.send(1);
            })
        });
        let sending: Vec<_> = sending.collect();
        // With one worker, who has said that it is about to wait does wait when another runs.
        while waiting.load(Ordering::Relaxed) < SENDERS + 1 {
            yield_now();
        }
        gate.set();
        assert_eq!(selecting.join().unwrap(), SENDERS);
        sending.into_iter().for_each(|sender| sender.join().unwrap());
    });
}
