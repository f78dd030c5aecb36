//! tokio's tasks by themselves.

use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, Gate, Parked, Roster, Yields};

/// What parked tasks wait for. Nobody notifies it.
static NEVER: Notify = Notify::const_new();

pub(super) async fn spawn(load: Batches) -> Sample {
    let mut handles = Vec::with_capacity(load.batch);
    let mut watch = Stopwatch::start();
    for batch in 0..load.warm_up() + load.count() {
        if batch == load.warm_up() {
            watch = Stopwatch::start();
        }
        handles.extend((0..load.batch).map(|_| tokio::spawn(async {})));
        for handle in handles.drain(..) {
            handle.await.expect("an empty task ends well");
        }
    }
    watch.stop().per_operation(load.tasks)
}

pub(super) async fn yields(load: Yields) -> Sample {
    turns(load.fibers, load.warm_up()).await;
    let watch = Stopwatch::start();
    turns(load.fibers, load.yields).await;
    watch.stop().per_operation(load.total())
}

async fn turns(tasks: usize, yields: usize) {
    let task = |_| {
        tokio::spawn(async move {
            for _ in 0..yields {
                yield_now().await;
            }
        })
    };
    let tasks: Vec<_> = (0..tasks).map(task).collect();
    for task in tasks {
        task.await.expect("a yielding task ends well");
    }
}

/// Starts tasks on `runtime` that park.
pub(super) fn park_on(runtime: &'static Runtime) -> impl Fn(&'static Gate, usize) {
    |gate, tasks| {
        for share in Parked::shares(tasks) {
            drop(runtime.spawn(async move {
                for _ in 0..share {
                    drop(tokio::spawn(async {
                        gate.arrive();
                        NEVER.notified().await;
                    }));
                }
            }));
        }
    }
}

pub(super) async fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(tokio::spawn(async move {
            let slept = Instant::now();
            tokio::time::sleep(Roster::nap(number)).await;
            roster.woke(number, slept);
        }));
    }
}
