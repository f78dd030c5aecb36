//! may: stackful coroutines.
#![allow(unsafe_code, reason = "to spawn a coroutine is unsafe; see `go`")]

mod outside;
mod tasks;
mod waiting;

use may::coroutine::{self, JoinHandle};

use super::{NO_FORKS, NO_GZ, NO_HYPER, NO_JOBS, NO_LOOPS, ONLY_SISAL, absent};
use crate::sample::{Outcome, Sample};
use crate::work::{Work, clocked};

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
        Work::Spawn(load) => Ok(drive(load.workers, move || tasks::spawn(load.at_most(SPAWNED)))),
        Work::Yields(load) => Ok(drive(load.workers, move || tasks::yields(load))),
        Work::ParkedMemory(load) => load.at_most(STANDS).memory(tasks::parker(load.workers)),
        Work::ParkedCreate(load) => Ok(load.at_most(STANDS).create(tasks::parker(load.workers))),
        Work::Sleepers(load) if load.tasks > STANDS_BARELY => {
            absent("two mappings to a stack: it fails at some 32,000 coroutines")
        }
        Work::Sleepers(load) => {
            configure(load.workers);
            Ok(load.measure(|roster, tasks| drop(go(move || tasks::sleepers(roster, tasks)))))
        }
        Work::WakeIdle(load) => {
            configure(load.workers);
            Ok(load.measure(|ticket| drop(go(move || ticket.ran()))))
        }
        Work::IdleCpu(load) => Ok(load.measure(tasks::parker(load.workers))),
        Work::PingPong(load) => Ok(drive(load.workers, move || clocked(load, waiting::ping_pong))),
        Work::PingPongCross(_) => absent("a coroutine goes on where it was woken from"),
        Work::Channel(load) => Ok(drive(load.workers, move || clocked(load, |each| waiting::channel(load, each)))),
        Work::Select(load) => Ok(drive(load.workers, move || clocked(load, waiting::select))),
        Work::SelectOne(_) => absent(ONLY_SISAL),
        Work::Mutex(load) => Ok(drive(load.workers, move || clocked(load, |locks| waiting::mutex(load, locks)))),
        Work::Skynet(_) => absent("more nodes wait than the 32,000 coroutines it can hold"),
        Work::Nursery(load) => Ok(drive(load.workers, move || tasks::nursery(load.at_most(SPAWNED)))),
        Work::Echo(load) => outside::echo(load),
        Work::EchoUnderCpu(_) => absent(NO_JOBS),
        Work::Http(load) => outside::http(load),
        Work::HttpHyper(_) => absent(NO_HYPER),
        Work::Gz(_) => absent(NO_GZ),
        Work::Tree(_) | Work::Fib(_) => absent(NO_FORKS),
        Work::Sum(_) | Work::Sort(_) => absent(NO_LOOPS),
        Work::Starve(_) | Work::Mixed(_) | Work::IdleBurst(_) => absent(NO_JOBS),
        Work::Trickle(load) => {
            configure(load.workers);
            Ok(load.measure(|gate| drop(go(|| gate.arrive()))))
        }
        Work::FileReads(_) => absent("to read a file holds a worker"),
    }
}

/// Sets the workers, before the first coroutine starts them.
fn configure(workers: usize) {
    may::config().set_workers(workers).set_worker_pin(false);
}

/// Spawns a coroutine.
fn go<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: asked for is that the coroutine keep no hold of a thread-local across a switch, and that
    // it not overflow its stack of 32 KiB. The closures given to it use no thread-locals around
    // their waits, and neither recurse nor have large frames.
    unsafe { coroutine::spawn(work) }
}

/// Spawns that many empty coroutines in a scope, which ends with them.
fn group(children: usize) {
    coroutine::scope(|scope| {
        for _ in 0..children {
            // SAFETY: as in `go`.
            drop(unsafe { scope.spawn(|| ()) });
        }
    });
}

/// Runs `work` as a coroutine.
fn drive(workers: usize, work: impl FnOnce() -> Sample + Send + 'static) -> Sample {
    configure(workers);
    go(work).join().expect("the driver ends well")
}
