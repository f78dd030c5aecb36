//! tokio: stackless tasks.

use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Parked, Roster, Work, Yields};

/// What parked tasks wait for. Nobody notifies it.
static NEVER: Notify = Notify::const_new();

/// tokio's part in `work`: all of it.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(drive(load.workers, spawn(load))),
        Work::Yields(load) => Ok(drive(load.workers, yields(load))),
        Work::ParkedMemory(load) => load.memory(park_on(runtime(load.workers))),
        Work::ParkedCreate(load) => Ok(load.create(park_on(runtime(load.workers)))),
        Work::Sleepers(load) => {
            let runtime = runtime_with_time(load.workers);
            Ok(load.measure(|roster, tasks| drop(runtime.spawn(sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            let handle = runtime(load.workers).handle();
            Ok(load.measure(|ticket| drop(handle.spawn(async move { ticket.ran() }))))
        }
        Work::IdleCpu(load) => Ok(load.measure(park_on(runtime(load.workers)))),
    }
}

/// With one worker its current-thread flavour, which takes turns in 110 ns where the other takes 190;
/// the calling thread is the worker then.
fn builder(workers: usize) -> Builder {
    match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    }
}

/// Without the timer, which every idle moment would consult, where nobody sleeps.
fn runtime(workers: usize) -> &'static Runtime {
    start(builder(workers).worker_threads(workers))
}

fn runtime_with_time(workers: usize) -> &'static Runtime {
    start(builder(workers).worker_threads(workers).enable_time())
}

fn start(builder: &mut Builder) -> &'static Runtime {
    Box::leak(Box::new(builder.build().expect("the runtime starts")))
}

/// Runs `work` as a task on a worker: under `block_on` alone it would be driven from outside.
fn drive(workers: usize, work: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let runtime = runtime(workers);
    runtime.block_on(runtime.spawn(work)).expect("the driver ends well")
}

async fn spawn(load: Batches) -> Sample {
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

async fn yields(load: Yields) -> Sample {
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
fn park_on(runtime: &'static Runtime) -> impl Fn(&'static Gate, usize) {
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

async fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        drop(tokio::spawn(async move {
            let slept = Instant::now();
            tokio::time::sleep(Roster::nap(number)).await;
            roster.woke(number, slept);
        }));
    }
}
