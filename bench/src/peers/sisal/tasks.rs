//! sisal's fibers by themselves.

use std::time::Instant;

use sisal::Runtime;

use crate::measure::Stopwatch;
use crate::peers::FOR_GOOD;
use crate::sample::Sample;
use crate::work::{Batches, Gate, Parked, Roster, Yields};

pub(super) fn spawn(load: Batches) -> Sample {
    let mut handles = Vec::with_capacity(load.batch);
    let mut batches = |count: usize| {
        for _ in 0..count {
            handles.extend((0..load.batch).map(|_| sisal::spawn(|| ())));
            for handle in handles.drain(..) {
                handle.join().expect("an empty fiber ends well");
            }
        }
    };
    batches(load.warm_up());
    let watch = Stopwatch::start();
    batches(load.count());
    watch.stop().per_operation(load.tasks)
}

pub(super) fn yields(load: Yields) -> Sample {
    let turns = |yields: usize| {
        let fiber = |_| {
            sisal::spawn(move || {
                for _ in 0..yields {
                    sisal::yield_now();
                }
            })
        };
        let fibers: Vec<_> = (0..load.fibers).map(fiber).collect();
        for fiber in fibers {
            fiber.join().expect("a yielding fiber ends well");
        }
    };
    turns(load.warm_up());
    let watch = Stopwatch::start();
    turns(load.yields);
    watch.stop().per_operation(load.total())
}

/// Starts fibers on `runtime` that park.
pub(super) fn park_on(runtime: &'static Runtime) -> impl Fn(&'static Gate, usize) {
    |gate, tasks| {
        for share in Parked::shares(tasks) {
            drop(runtime.spawn(move || {
                for _ in 0..share {
                    drop(sisal::spawn(|| park(gate)));
                }
            }));
        }
    }
}

fn park(gate: &Gate) {
    gate.arrive();
    // Nobody stops the runtime: the process ends first.
    let _ = sisal::sleep(FOR_GOOD);
}

pub(super) fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(sisal::spawn(move || {
            let slept = Instant::now();
            sisal::sleep(Roster::nap(number)).expect("nobody cancels a sleeper");
            roster.woke(number, slept);
        }));
    }
}
