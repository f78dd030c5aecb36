//! OS threads: what there is without any runtime. A reference, not a peer.

mod compute;
mod gz;
mod outside;
mod tasks;
mod waiting;

use super::{NO_FORKS, NO_LOOPS, ONLY_SISAL, absent};
use crate::sample::{Absent, Outcome};
use crate::work::{Work, clocked};

/// Spawned in all, in place of a million: each takes some 10 us.
const SPAWNED: usize = 20_000;
/// Parked at a time; containers often allow no more than a few thousand.
const PARKED: usize = 2_000;
/// Round trips, in place of several hundred thousand: each takes two wakes by the kernel, 10 to 60 us.
const TRIPS: usize = 20_000;
/// At one lock, in place of a thousand fibers.
const LOCKING: usize = 8;
/// Why they have no part where the number of workers is what counts.
pub(super) const NOT_ON_WORKERS: &str = "the kernel puts them on any number of CPUs, not on workers";

/// The threads' part in `work`.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(tasks::spawn(load.at_most(SPAWNED))),
        Work::ParkedMemory(load) => load.at_most(PARKED).memory(tasks::park),
        Work::ParkedCreate(load) => Ok(load.at_most(PARKED).create(tasks::park)),
        Work::WakeIdle(load) => Ok(tasks::wake(load)),
        Work::IdleCpu(load) => Ok(load.measure(tasks::park)),
        Work::Yields(_) | Work::PingPong(_) => absent(NOT_ON_WORKERS),
        Work::Sleepers(_) => absent("a thread to a sleeper is more than most systems allow"),
        Work::PingPongCross(load) => Ok(clocked(load.at_most(TRIPS), waiting::ping_pong)),
        Work::Channel(load) if load.receivers > 1 => absent("the standard channel has one receiver"),
        Work::Channel(load) => Ok(clocked(load, |each| waiting::channel(load, each))),
        Work::Select(_) => absent("the standard library has no select: see threads+crossbeam"),
        Work::SelectOne(_) => absent(ONLY_SISAL),
        Work::Mutex(load) => {
            let load = load.by_at_most(LOCKING);
            Ok(clocked(load, |locks| waiting::mutex(load, locks)))
        }
        Work::Skynet(_) => absent("a thread to a waiting node is more than most systems allow"),
        Work::Nursery(load) => Ok(tasks::nursery(load.at_most(SPAWNED))),
        Work::Echo(_) | Work::EchoUnderCpu(_) | Work::Http(_) | Work::HttpHyper(_) => absent(NOT_ON_WORKERS),
        Work::Gz(load) if load.expands => load.in_process(gz::expand),
        Work::Gz(load) => load.in_process(|input, output| gz::compress(load, input, output)),
        Work::Tree(_) | Work::Fib(_) => absent(NO_FORKS),
        Work::Sum(load) => Ok(load.measure(|numbers| compute::sum(load, numbers))),
        Work::Sort(_) => absent(NO_LOOPS),
        Work::Starve(load) => Ok(compute::starve(load)),
        Work::Mixed(load) => {
            let tasks = load.prepare();
            Ok(clocked(load, |repeats| compute::mixed(load, tasks, repeats)))
        }
        Work::IdleBurst(_) | Work::Trickle(_) => absent("a thread ends with its task"),
        Work::FileReads(load) => {
            let files = load.prepare().map_err(Absent::from_error)?;
            Ok(clocked(load, |repeats| outside::read(load, &files, repeats)))
        }
    }
}
