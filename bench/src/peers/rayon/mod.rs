//! rayon: closures that run to their end on a worker's stack.

mod compute;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{NO_GZ, ONLY_SISAL, absent};
use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, CHILDREN, Gate, Work, clocked};

/// rayon's part in `work`: whatever never blocks.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) | Work::Nursery(load) => Ok(pool(load.workers).install(|| spawn(load))),
        Work::WakeIdle(load) => {
            let pool = pool(load.workers);
            Ok(load.measure(|ticket| pool.spawn(move || ticket.ran())))
        }
        Work::IdleCpu(load) => {
            let pool = pool(load.workers);
            Ok(load.measure(|gate, tasks| arrive(pool, gate, tasks)))
        }
        Work::Yields(_) => absent("a task that yields stays on the stack below what it lets run"),
        Work::ParkedMemory(_) | Work::ParkedCreate(_) => absent("a task that parks holds a worker"),
        Work::Sleepers(_) => absent("a task that sleeps holds a worker"),
        Work::Skynet(load) => Ok(pool(load.workers).install(|| load.measure(|leaves| node(0, leaves)))),
        Work::PingPong(_) | Work::PingPongCross(_) | Work::Channel(_) | Work::Select(_) => {
            absent("a task that waits for a message holds a worker")
        }
        Work::Echo(_) | Work::EchoUnderCpu(_) | Work::Http(_) | Work::HttpHyper(_) => {
            absent("a task that waits for a socket holds a worker")
        }
        Work::FileReads(_) => absent("a task that reads a file holds a worker"),
        Work::Gz(_) => absent(NO_GZ),
        Work::Tree(load) => Ok(pool(load.workers).install(|| load.measure(compute::tree))),
        Work::Fib(load) => Ok(pool(load.workers).install(|| load.measure(compute::fib))),
        Work::Sum(load) => Ok(pool(load.workers).install(|| load.measure(compute::sum))),
        Work::Sort(load) => Ok(pool(load.workers).install(|| load.measure(compute::sort))),
        Work::Mixed(load) => {
            let tasks = load.prepare();
            Ok(pool(load.workers).install(|| clocked(load, |repeats| compute::mixed(tasks, repeats))))
        }
        Work::IdleBurst(load) => {
            let pool = pool(load.workers);
            Ok(load.measure(|burst, tasks| compute::burst(pool, burst, tasks)))
        }
        Work::Trickle(load) => {
            let pool = pool(load.workers);
            Ok(load.measure(|gate| pool.spawn(|| gate.arrive())))
        }
        Work::Starve(_) => absent("a task that sleeps holds a worker"),
        Work::SelectOne(_) => absent(ONLY_SISAL),
        Work::Mutex(_) => absent("a task that waits for a lock holds a worker"),
    }
}

fn pool(workers: usize) -> &'static ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    Box::leak(Box::new(pool.expect("the pool starts")))
}

fn spawn(load: Batches) -> Sample {
    let batches = |count: usize| {
        for _ in 0..count {
            rayon::scope(|scope| {
                for _ in 0..load.batch {
                    scope.spawn(|_| ());
                }
            });
        }
    };
    batches(load.warm_up());
    let watch = Stopwatch::start();
    batches(load.count());
    watch.stop().per_operation(load.tasks)
}

/// The sum of a tree of tasks, the leaves counted from `first`.
fn node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let share = leaves / CHILDREN as u64;
    let mut sums = [0; CHILDREN];
    rayon::scope(|scope| {
        for (child, sum) in (0..).zip(&mut sums) {
            scope.spawn(move |_| *sum = node(first + child * share, share));
        }
    });
    sums.iter().sum()
}

/// As many tasks as the others have parked, but they end.
fn arrive(pool: &ThreadPool, gate: &'static Gate, tasks: usize) {
    for _ in 0..tasks {
        pool.spawn(|| gate.arrive());
    }
}
