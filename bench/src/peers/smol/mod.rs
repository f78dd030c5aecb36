//! smol: stackless tasks on its executor, run by threads as its own global one is.

mod compute;
mod outside;
mod structure;
mod tasks;
mod waiting;

use std::sync::Arc;
use std::thread;

use smol::Executor;
use smol::future::pending;

use super::{NO_FORKS, NO_GZ, NO_HYPER, NO_JOBS, NO_LOOPS, ONLY_SISAL, absent};
use crate::sample::{Absent, Outcome, Sample};
use crate::work::{Work, clocked_async};

/// The executor of this process.
pub(super) static EXECUTOR: Executor<'static> = Executor::new();

/// smol's part in `work`.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(drive(load.workers, tasks::spawn(load))),
        Work::Yields(load) => Ok(drive(load.workers, tasks::yields(load))),
        Work::ParkedMemory(load) => load.memory(tasks::parker(load.workers)),
        Work::ParkedCreate(load) => Ok(load.create(tasks::parker(load.workers))),
        Work::Sleepers(load) => {
            start(load.workers);
            Ok(load.measure(|roster, tasks| EXECUTOR.spawn(tasks::sleepers(roster, tasks)).detach()))
        }
        Work::WakeIdle(load) => {
            start(load.workers);
            Ok(load.measure(|ticket| EXECUTOR.spawn(async move { ticket.ran() }).detach()))
        }
        Work::IdleCpu(load) => Ok(load.measure(tasks::parker(load.workers))),
        Work::PingPong(load) => Ok(drive(load.workers, clocked_async(load, waiting::ping_pong))),
        Work::PingPongCross(_) => absent("a task cannot be held to a worker"),
        Work::Channel(load) => Ok(drive(load.workers, clocked_async(load, move |each| waiting::channel(load, each)))),
        Work::Select(load) => Ok(drive(load.workers, clocked_async(load, move |each| waiting::select(load, each)))),
        Work::SelectOne(_) => absent(ONLY_SISAL),
        Work::Mutex(load) => Ok(drive(load.workers, clocked_async(load, move |locks| waiting::mutex(load, locks)))),
        Work::Skynet(load) => Ok(drive(load.workers, load.measure_async(structure::skynet))),
        Work::Nursery(_) => absent("it has no group of tasks that end together"),
        Work::Echo(load) => outside::echo(load),
        Work::EchoUnderCpu(_) => absent(NO_JOBS),
        Work::Http(_) | Work::HttpHyper(_) => absent(NO_HYPER),
        Work::Gz(_) => absent(NO_GZ),
        Work::Tree(_) | Work::Fib(_) => absent(NO_FORKS),
        Work::Sum(_) | Work::Sort(_) => absent(NO_LOOPS),
        Work::Starve(load) => Ok(drive(load.workers, compute::starve(load))),
        Work::Mixed(load) => {
            let tasks = load.prepare();
            Ok(drive(load.workers, clocked_async(load, move |repeats| compute::mixed(tasks, repeats))))
        }
        Work::IdleBurst(load) => {
            start(load.workers);
            Ok(load.measure(compute::burst))
        }
        Work::Trickle(load) => {
            start(load.workers);
            Ok(load.measure(|gate| EXECUTOR.spawn(async { gate.arrive() }).detach()))
        }
        Work::FileReads(load) => {
            let files = Arc::new(load.prepare().map_err(Absent::from_error)?);
            Ok(drive(load.workers, clocked_async(load, move |repeats| outside::read(Arc::clone(&files), repeats))))
        }
    }
}

/// Starts the workers: `smol::block_on`, as in smol's global executor, so that they drive the timers.
fn start(workers: usize) {
    for _ in 0..workers {
        thread::spawn(|| smol::block_on(EXECUTOR.run(pending::<()>())));
    }
}

/// Runs `work` as a task on a worker.
pub(super) fn drive(workers: usize, work: impl Future<Output = Sample> + Send + 'static) -> Sample {
    start(workers);
    smol::block_on(EXECUTOR.spawn(work))
}
