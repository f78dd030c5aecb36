//! may's coroutines by themselves.

use std::time::Instant;

use may::coroutine;

use super::{configure, go, group};
use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, Gate, Parked, Roster, Yields};

pub(super) fn spawn(load: Batches) -> Sample {
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

/// Coroutines in scopes that end with them.
pub(super) fn nursery(load: Batches) -> Sample {
    let groups = |count: usize| (0..count).for_each(|_| group(load.batch));
    groups(load.warm_up());
    let watch = Stopwatch::start();
    groups(load.count());
    watch.stop().per_operation(load.tasks)
}

pub(super) fn yields(load: Yields) -> Sample {
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
pub(super) fn parker(workers: usize) -> impl Fn(&'static Gate, usize) {
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

pub(super) fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(go(move || {
            let slept = Instant::now();
            coroutine::sleep(Roster::nap(number));
            roster.woke(number, slept);
        }));
    }
}
