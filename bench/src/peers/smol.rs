//! smol: stackless tasks on its executor, run by threads as its own global one is.

use std::thread;
use std::time::Instant;

use smol::channel::{self, Receiver};
use smol::future::{pending, yield_now};
use smol::{Executor, Timer};

use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Parked, Roster, Work, Yields};

/// The executor of this process.
static EXECUTOR: Executor<'static> = Executor::new();

/// smol's part in `work`: all of it.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(drive(load.workers, spawn(load))),
        Work::Yields(load) => Ok(drive(load.workers, yields(load))),
        Work::ParkedMemory(load) => load.memory(parker(load.workers)),
        Work::ParkedCreate(load) => Ok(load.create(parker(load.workers))),
        Work::Sleepers(load) => {
            start(load.workers);
            Ok(load.measure(|roster, tasks| EXECUTOR.spawn(sleepers(roster, tasks)).detach()))
        }
        Work::WakeIdle(load) => {
            start(load.workers);
            Ok(load.measure(|ticket| EXECUTOR.spawn(async move { ticket.ran() }).detach()))
        }
        Work::IdleCpu(load) => Ok(load.measure(parker(load.workers))),
    }
}

/// Starts the workers: `smol::block_on`, as in smol's global executor, so that they drive the timers.
fn start(workers: usize) {
    for _ in 0..workers {
        thread::spawn(|| smol::block_on(EXECUTOR.run(pending::<()>())));
    }
}

/// Runs `work` as a task on a worker.
fn drive(workers: usize, work: impl Future<Output = Sample> + Send + 'static) -> Sample {
    start(workers);
    smol::block_on(EXECUTOR.spawn(work))
}

async fn spawn(load: Batches) -> Sample {
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

async fn yields(load: Yields) -> Sample {
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
fn parker(workers: usize) -> impl Fn(&'static Gate, usize) {
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

async fn sleepers(roster: &'static Roster, tasks: usize) {
    for number in 0..tasks {
        let task = async move {
            let slept = Instant::now();
            Timer::after(Roster::nap(number)).await;
            roster.woke(number, slept);
        };
        EXECUTOR.spawn(task).detach();
    }
}
