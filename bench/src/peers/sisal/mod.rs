//! sisal: fibers.

mod compute;
mod outside;
mod structure;
mod tasks;
mod waiting;

use std::sync::Arc;

use sisal::{Runtime, RuntimeBuilder};

use super::absent;
use crate::sample::{Absent, Outcome, Sample};
use crate::work::{Work, clocked};

/// sisal's part in `work`: all of it.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(in_main_fiber(load.workers, || tasks::spawn(load))),
        Work::Yields(load) => Ok(in_main_fiber(load.workers, || tasks::yields(load))),
        Work::ParkedMemory(load) => load.memory(tasks::park_on(background(load.workers))),
        Work::ParkedCreate(load) => Ok(load.create(tasks::park_on(background(load.workers)))),
        Work::Sleepers(load) => {
            let runtime = background(load.workers);
            Ok(load.measure(|roster, tasks| drop(runtime.spawn(move || tasks::sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            let handle = background(load.workers).handle();
            Ok(load.measure(|ticket| drop(handle.spawn(move || ticket.ran()))))
        }
        Work::IdleCpu(load) => Ok(load.measure(tasks::park_on(background(load.workers)))),
        Work::PingPong(load) => Ok(in_main_fiber(load.workers, || clocked(load, waiting::ping_pong))),
        Work::PingPongCross(load) => Ok(in_main_fiber(load.workers, || clocked(load, waiting::ping_pong_cross))),
        Work::Channel(load) => Ok(in_main_fiber(load.workers, || clocked(load, |each| waiting::channel(load, each)))),
        Work::Select(load) => Ok(in_main_fiber(load.workers, || clocked(load, |each| waiting::select(load, each)))),
        Work::SelectOne(load) => {
            Ok(in_main_fiber(load.workers, || clocked(load, |each| waiting::channel_by_select(load, each))))
        }
        Work::Mutex(load) => Ok(in_main_fiber(load.workers, || clocked(load, |locks| waiting::mutex(load, locks)))),
        Work::Skynet(load) => Ok(in_main_fiber(load.workers, || load.measure(structure::skynet))),
        Work::Nursery(load) => Ok(in_main_fiber(load.workers, || structure::nursery(load))),
        Work::Echo(load) | Work::EchoUnderCpu(load) => outside::echo(load),
        Work::Gz(load) => super::gz::sisal(load),
        Work::Http(load) => outside::http(load),
        Work::HttpHyper(load) => outside::http_hyper(load),
        Work::Tree(load) => Ok(in_main_fiber(load.workers, || load.measure(compute::tree))),
        Work::Fib(load) => Ok(in_main_fiber(load.workers, || load.measure(compute::fib))),
        Work::Sum(load) => Ok(in_main_fiber(load.workers, || load.measure(compute::sum))),
        Work::Sort(load) => Ok(in_main_fiber(load.workers, || load.measure(compute::sort))),
        Work::Starve(load) => {
            let builder = builder(load.workers).max_workers(load.max_workers);
            Ok(builder.run(|| compute::starve(load)).expect("the runtime starts"))
        }
        Work::Mixed(load) => {
            let tasks = load.prepare();
            Ok(in_main_fiber(load.workers, || clocked(load, |repeats| compute::mixed(tasks, repeats))))
        }
        Work::IdleBurst(load) => {
            let runtime = background(load.workers);
            Ok(load.measure(|burst, tasks| compute::burst(runtime, burst, tasks)))
        }
        Work::Trickle(load) => {
            let handle = background(load.workers).handle();
            Ok(load.measure(|gate| drop(handle.spawn(|| gate.arrive()))))
        }
        Work::FileReads(load) => {
            let files = Arc::new(load.prepare().map_err(Absent::from_error)?);
            Ok(in_main_fiber(load.workers, || clocked(load, |repeats| outside::read(&files, repeats))))
        }
    }
}

/// The part of sisal's plain recv, which its select of one arm is set against.
pub(super) fn run_plain(work: Work) -> Outcome {
    match work {
        Work::SelectOne(load) => run(Work::Channel(load)),
        _ => absent("it is there for select-1 alone"),
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
