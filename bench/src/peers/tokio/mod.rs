//! tokio: stackless tasks.

mod compute;
mod outside;
mod structure;
mod tasks;
mod waiting;

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

pub(super) use outside::echo;

use super::{NO_FORKS, NO_GZ, NO_LOOPS, ONLY_SISAL, absent};
use crate::sample::{Absent, Outcome, Sample};
use crate::work::{Work, clocked_async};

/// tokio's part in `work`.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(drive(load.workers, tasks::spawn(load))),
        Work::Yields(load) => Ok(drive(load.workers, tasks::yields(load))),
        Work::ParkedMemory(load) => load.memory(tasks::park_on(runtime(load.workers))),
        Work::ParkedCreate(load) => Ok(load.create(tasks::park_on(runtime(load.workers)))),
        Work::Sleepers(load) => {
            let runtime = runtime_with_time(load.workers);
            Ok(load.measure(|roster, tasks| drop(runtime.spawn(tasks::sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            let handle = runtime(load.workers).handle();
            Ok(load.measure(|ticket| drop(handle.spawn(async move { ticket.ran() }))))
        }
        Work::IdleCpu(load) => Ok(load.measure(tasks::park_on(runtime(load.workers)))),
        Work::PingPong(load) => Ok(drive(load.workers, clocked_async(load, waiting::ping_pong))),
        Work::PingPongCross(_) => absent("a task cannot be held to a worker"),
        Work::Channel(load) if load.receivers > 1 => absent("its channel has one receiver"),
        Work::Channel(load) => Ok(drive(load.workers, clocked_async(load, move |each| waiting::channel(load, each)))),
        Work::Select(load) => Ok(drive(load.workers, clocked_async(load, move |each| waiting::select(load, each)))),
        Work::SelectOne(_) => absent(ONLY_SISAL),
        Work::Mutex(load) => Ok(drive(load.workers, clocked_async(load, move |locks| waiting::mutex(load, locks)))),
        Work::Skynet(load) => Ok(drive(load.workers, load.measure_async(structure::skynet))),
        Work::Nursery(load) => Ok(drive(load.workers, structure::nursery(load))),
        Work::Echo(load) => echo(load.workers),
        Work::EchoUnderCpu(_) => absent("it leaves such work to others: see tokio+rayon"),
        Work::Http(load) | Work::HttpHyper(load) => outside::http(load.workers),
        Work::Gz(_) => absent(NO_GZ),
        Work::Tree(_) | Work::Fib(_) => absent(NO_FORKS),
        Work::Sum(_) | Work::Sort(_) => absent(NO_LOOPS),
        Work::Starve(load) => {
            let runtime = runtime_with_time(load.workers);
            Ok(runtime.block_on(runtime.spawn(compute::starve(load))).expect("the driver ends well"))
        }
        Work::Mixed(load) => {
            let tasks = load.prepare();
            Ok(drive(load.workers, clocked_async(load, move |repeats| compute::mixed(tasks, repeats))))
        }
        Work::IdleBurst(load) => {
            let runtime = runtime(load.workers);
            Ok(load.measure(|burst, tasks| compute::burst(runtime, burst, tasks)))
        }
        Work::Trickle(load) => {
            let handle = runtime(load.workers).handle();
            Ok(load.measure(|gate| drop(handle.spawn(async { gate.arrive() }))))
        }
        Work::FileReads(load) => {
            let files = Arc::new(load.prepare().map_err(Absent::from_error)?);
            Ok(drive(load.workers, clocked_async(load, move |repeats| outside::read(Arc::clone(&files), repeats))))
        }
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
pub(super) fn drive(workers: usize, work: impl Future<Output = Sample> + Send + 'static) -> Sample {
    let runtime = runtime(workers);
    runtime.block_on(runtime.spawn(work)).expect("the driver ends well")
}
