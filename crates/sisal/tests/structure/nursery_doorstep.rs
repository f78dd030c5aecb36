//! The end of a nursery that comes just when a child waits for the first time, at a channel that this end closes.
//!
//! From its first wait on a child is told of the end, which takes the lock of the nursery. The end closes channels with that lock held, which takes theirs. Were
//! the first wait to ask for the one with the other held, both would wait for ever: nothing here ends by the clock, so the watchdog would bark.

use crate::common::{in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, Sender, bounded};
use sisal::{Nursery, nursery, spawn_on};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What the end has to close before it comes to the channel that it is about, so that both are at it for a while.
const BEFORE: usize = 24;

/// How often those who are ready look whether it goes off, before they go on all the same: there may be more workers than processors.
const PATIENCE: usize = 4_000;

/// How long talks last that show workers that it is worth it to stay with a fiber that waits.
const TALK: usize = 40;

/// How the nursery comes to its end.
#[derive(Copy, Clone, Debug)]
enum End {
    Error,
    Request,
    Token,
}

/// What the children wait for.
#[derive(Copy, Clone, Debug)]
enum Awaited {
    /// A message.
    Received,
    /// Somebody who takes a message.
    Sent,
    /// The nursery's own token.
    Done,
}

/// The moment at which all go on.
#[derive(Default)]
struct Shot {
    ready: AtomicUsize,
    fired: AtomicBool,
}

impl Shot {
    /// Is ready, and goes on with it, or so much later.
    fn await_and_delay(&self, delay: usize) {
        self.ready.fetch_add(1, Ordering::AcqRel);
        let is_missing = |_: &usize| !self.fired.load(Ordering::Acquire);
        (0..PATIENCE).take_while(is_missing).for_each(|_| spin_loop());
        (0..delay).for_each(|_| spin_loop());
    }

    fn fire_when_ready(&self, count: usize) {
        until(|| self.ready.load(Ordering::Acquire) >= count);
        self.fired.store(true, Ordering::Release);
    }
}

/// Has two workers answer each other, so that their fibers look for a moment whether they are met before they wait.
fn talk(one: usize, other: usize) {
    let ((ask, asked), (answer, answered)) = (bounded::<usize>(0), bounded::<usize>(0));
    let echo = spawn_on(one, move || asked.iter().for_each(|number| answer.send(number).unwrap()));
    let caller = spawn_on(other, move || {
        for number in 0..TALK {
            ask.send(number).unwrap();
            assert_eq!(answered.recv(), Ok(number));
        }
    });
    caller.join().unwrap();
    echo.join().unwrap();
}

/// The children's first wait, which never comes to anything.
fn wait<E>(n: &Nursery<'_, '_, E>, awaited: Awaited, tx: &Sender<u64>, rx: &Receiver<u64>) {
    match awaited {
        Awaited::Received => assert!(rx.recv().is_err()),
        Awaited::Sent => assert!(tx.send(1).is_err()),
        Awaited::Done => assert!(n.token().done().recv().is_err()),
    }
}

/// One nursery, with a child on each of some workers, that all wait for the first time just when it ends.
fn meet_the_end(workers: usize, round: usize, end: End, awaited: Awaited) {
    let others = [1 + round, 2 + round].map(|number| 1 + number % (workers - 1).max(1)).map(|worker| worker % workers);
    talk(0, others[0]);
    let (tx, rx) = bounded::<u64>(0);
    let channels: Vec<_> = (0..BEFORE).map(|_| bounded::<u64>(0)).collect();
    let (shot, ended) = (Shot::default(), AtomicUsize::new(0));
    let result = nursery(|n| {
        // It is there before they wait for it.
        n.token().done();
        channels.iter().for_each(|(before, _)| n.close_on(before));
        n.close_on(&tx);
        for (number, worker) in others.into_iter().enumerate() {
            let delay = round.wrapping_mul(2_654_435_761 + 40_503 * number) >> 7;
            let (shot, ended, tx, rx) = (&shot, &ended, &tx, &rx);
            n.builder().on(worker).spawn(move || {
                shot.await_and_delay(delay % 128);
                wait(n, awaited, tx, rx);
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        match end {
            End::Error => {
                let (shot, count) = (&shot, others.len());
                n.builder().on(0).spawn(move || {
                    shot.fire_when_ready(count);
                    Err::<(), _>("on purpose")
                });
            }
            End::Request => {
                shot.fire_when_ready(others.len());
                n.cancel();
            }
            End::Token => {
                let token = n.token();
                shot.fire_when_ready(others.len());
                token.cancel();
            }
        }
        Ok(())
    });
    assert_eq!(result.is_err(), matches!(end, End::Error));
    assert_eq!(ended.into_inner(), others.len(), "all of them were told");
    assert!(tx.is_closed());
}

fn storm(end: End) {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(3_000) {
                let awaited = [Awaited::Received, Awaited::Sent, Awaited::Done][round % 3];
                meet_the_end(workers, round, end, awaited);
            }
        });
    });
}

#[test]
fn a_child_that_waits_for_the_first_time_is_told_of_an_error_that_comes_just_then() {
    storm(End::Error);
}

#[test]
fn a_child_that_waits_for_the_first_time_is_told_of_a_cancellation_that_comes_just_then() {
    storm(End::Request);
}

#[test]
fn a_child_that_waits_for_the_first_time_is_told_of_its_token_that_is_cancelled_just_then() {
    storm(End::Token);
}
