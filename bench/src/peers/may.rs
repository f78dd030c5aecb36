//! may: stackful coroutines.
#![allow(unsafe_code, reason = "may::coroutine::spawn is unsafe; see `go`")]

use std::time::Instant;

use may::coroutine::{self, JoinHandle};

use super::absent;
use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Parked, Roster, Work, Yields};

/// How many coroutines it can hold at a time with room to spare: each maps its stack and a guard page,
/// and Linux allows a process 65,530 mappings unless told otherwise.
const STANDS: usize = 20_000;
/// How many it can hold at the very most.
const STANDS_BARELY: usize = 32_000;
/// Spawned in all, in place of a million: past its pool of 1,000 stacks each takes some 12 us.
const SPAWNED: usize = 200_000;

/// may's part in `work`.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(drive(load.workers, move || spawn(load.at_most(SPAWNED)))),
        Work::Yields(load) => Ok(drive(load.workers, move || yields(load))),
        Work::ParkedMemory(load) => load.at_most(STANDS).memory(parker(load.workers)),
        Work::ParkedCreate(load) => Ok(load.at_most(STANDS).create(parker(load.workers))),
        Work::Sleepers(load) if load.tasks > STANDS_BARELY => {
            absent("two mappings to a stack: it fails at some 32,000 coroutines")
        }
        Work::Sleepers(load) => {
            configure(load.workers);
            Ok(load.measure(|roster, tasks| drop(go(move || sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            configure(load.workers);
            Ok(load.measure(|ticket| drop(go(move || ticket.ran()))))
        }
        Work::IdleCpu(load) => Ok(load.measure(parker(load.workers))),
    }
}

/// Sets the workers, before the first coroutine starts them.
fn configure(workers: usize) {
    may::config().set_workers(workers).set_worker_pin(false);
}

/// Spawns a coroutine.
fn go<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: asked for is that the coroutine keep no hold of a thread-local across a switch, and that
    // it not overflow its stack of 32 KiB. The closures of this file use no thread-locals around their
    // yields, parks and sleeps, and neither recurse nor have large frames.
    unsafe { coroutine::spawn(work) }
}

/// Runs `work` as a coroutine.
fn drive(workers: usize, work: impl FnOnce() -> Sample + Send + 'static) -> Sample {
    configure(workers);
    go(work).join().expect("the driver ends well")
}

fn spawn(load: Batches) -> Sample {
    let mut handles = Vec::with_capacity(load.batch);
    let mut batches = |count: usize| {
        for _ in 0..count {
            handles.extend((0..load.batch).map(|_| go(|| ())));
            for handle in handles.drain(..) {
                handle.join().expect("an empty coroutine ends well");
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
        let coroutine = |_| {
            go(move || {
                for _ in 0..yields {
                    coroutine::yield_now();
                }
            })
        };
        let coroutines: Vec<_> = (0..load.fibers).map(coroutine).collect();
        for coroutine in coroutines {
            coroutine.join().expect("a yielding coroutine ends well");
        }
    };
    turns(load.warm_up());
    let watch = Stopwatch::start();
    turns(load.yields);
    watch.stop().per_operation(load.total())
}

/// Sets the workers; then starts coroutines that park.
fn parker(workers: usize) -> impl Fn(&'static Gate, usize) {
    configure(workers);
    |gate, tasks| {
        for share in Parked::shares(tasks) {
            drop(go(move || {
                for _ in 0..share {
                    drop(go(|| {
                        gate.arrive();
                        coroutine::park();
                    }));
                }
            }));
        }
    }
}

fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(go(move || {
            let slept = Instant::now();
            coroutine::sleep(Roster::nap(number));
            roster.woke(number, slept);
        }));
    }
}
