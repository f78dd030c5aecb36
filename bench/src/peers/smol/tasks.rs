//! smol's tasks by themselves.

use std::time::Instant;

use smol::Timer;
use smol::channel::{self, Receiver};
use smol::future::yield_now;

use super::{EXECUTOR, start};
use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, Gate, Parked, Roster, Yields};

pub(super) async fn spawn(load: Batches) -> Sample {
    let mut handles = Vec::with_capacity(load.batch);
    let mut watch = Stopwatch::start();
    for batch in 0..load.warm_up() + load.count() {
        if batch == load.warm_up() {
            watch = Stopwatch::start();
        }
        handles.extend((0..load.batch).map(|_| EXECUTOR.spawn(async {})));
        for handle in handles.drain(..) {
            handle.await;
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
        EXECUTOR.spawn(async move {
            for _ in 0..yields {
                yield_now().await;
            }
        })
    };
    let tasks: Vec<_> = (0..tasks).map(task).collect();
    for task in tasks {
        task.await;
    }
}

/// Starts the workers; then starts tasks that park on a channel nobody sends to.
pub(super) fn parker(workers: usize) -> impl Fn(&'static Gate, usize) {
    start(workers);
    let (sender, receiver) = channel::bounded::<()>(1);
    std::mem::forget(sender);
    let never: &'static Receiver<()> = Box::leak(Box::new(receiver));
    move |gate, tasks| {
        for share in Parked::shares(tasks) {
            let spawner = async move {
                for _ in 0..share {
                    let task = async {
                        gate.arrive();
                        never.recv().await
                    };
                    EXECUTOR.spawn(task).detach();
                }
            };
            EXECUTOR.spawn(spawner).detach();
        }
    }
}

pub(super) async fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        let task = async move {
            let slept = Instant::now();
            Timer::after(Roster::nap(number)).await;
            roster.woke(number, slept);
        };
        EXECUTOR.spawn(task).detach();
    }
}
