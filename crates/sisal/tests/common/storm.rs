//! Calls that are made at the same moment, as far as that can be had, and calls that are made when another has parked for certain.

use super::until;
use sisal::inspect::FiberState;
use sisal::{Handle, spawn_on, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often a racer gives way to those that are not there yet. Where there are more workers than processors it would wait
/// for the operating system, and then chance serves as well.
const PATIENCE: usize = 200;

/// What takes part in a race.
pub(crate) type Racer = Box<dyn FnOnce() + Send>;

/// Lets racers start together, each on another worker where there are enough, and waits for their ends. From round to round
/// they are shifted against each other by some nanoseconds, so that all orders occur.
#[track_caller]
pub(crate) fn race(workers: usize, round: usize, racers: impl IntoIterator<Item = Racer>) {
    let racers: Vec<_> = racers.into_iter().collect();
    let (count, arrived) = (racers.len(), Arc::new(AtomicUsize::new(0)));
    let fibers: Vec<_> = racers
        .into_iter()
        .enumerate()
        .map(|(index, racer)| {
            let arrived = Arc::clone(&arrived);
            spawn_on((round + index) % workers, move || {
                arrived.fetch_add(1, Ordering::AcqRel);
                let is_missing = |_: &usize| arrived.load(Ordering::Acquire) < count;
                (0..PATIENCE).take_while(is_missing).for_each(|_| yield_now());
                let delay = round.wrapping_mul(2_654_435_761).wrapping_add(index.wrapping_mul(40_503)) >> 7;
                (0..delay % 64).for_each(|_| std::hint::spin_loop());
                racer();
            })
        })
        .collect();
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
}

/// Makes a racer of a closure.
pub(crate) fn racer(f: impl FnOnce() + Send + 'static) -> Racer {
    Box::new(f)
}

/// Lets one park, and another run when it has, on another worker if there is one; waits for the ends of both.
#[track_caller]
pub(crate) fn once_parked(workers: usize, round: usize, waits: Racer, wakes: Racer) {
    let handle = Handle::current().expect("there are fibers");
    let waiter = spawn_on(round % workers, waits);
    let id = waiter.id();
    let waker = spawn_on((round + 1) % workers, move || {
        let is_parked = || handle.dump_without_traces().fiber(id).map(|fiber| fiber.state) == Some(FiberState::Parked);
        until(is_parked);
        wakes();
    });
    waiter.join().unwrap();
    waker.join().unwrap();
}
