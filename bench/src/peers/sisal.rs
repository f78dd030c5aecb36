//! sisal: fibers.

use std::time::Instant;

use sisal::{Runtime, RuntimeBuilder};

use super::FOR_GOOD;
use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Parked, Roster, Work, Yields};

/// sisal's part in `work`: all of it.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(in_main_fiber(load.workers, || spawn(load))),
        Work::Yields(load) => Ok(in_main_fiber(load.workers, || yields(load))),
        Work::ParkedMemory(load) => load.memory(park_on(background(load.workers))),
        Work::ParkedCreate(load) => Ok(load.create(park_on(background(load.workers)))),
        Work::Sleepers(load) => {
            let runtime = background(load.workers);
            Ok(load.measure(|roster, tasks| drop(runtime.spawn(move || sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            let handle = background(load.workers).handle();
            Ok(load.measure(|ticket| drop(handle.spawn(move || ticket.ran()))))
        }
        Work::IdleCpu(load) => Ok(load.measure(park_on(background(load.workers)))),
    }
}

/// That many workers, and no more whatever happens: the peers cannot add any either.
fn builder(workers: usize) -> RuntimeBuilder {
    Runtime::builder().workers(workers).max_workers(workers)
}

/// Runs `work` as the main fiber, with the calling thread as a worker.
fn in_main_fiber(workers: usize, work: impl FnOnce() -> Sample) -> Sample {
    builder(workers).run(work).expect("the runtime starts")
}

/// A runtime that leaves the calling thread free.
fn background(workers: usize) -> &'static Runtime {
    Box::leak(Box::new(builder(workers).build().expect("the runtime starts")))
}

fn spawn(load: Batches) -> Sample {
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

fn yields(load: Yields) -> Sample {
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
fn park_on(runtime: &'static Runtime) -> impl Fn(&'static Gate, usize) {
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

fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(sisal::spawn(move || {
            let slept = Instant::now();
            sisal::sleep(Roster::nap(number)).expect("nobody cancels a sleeper");
            roster.woke(number, slept);
        }));
    }
}
