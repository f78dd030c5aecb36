//! rayon: closures that run to their end on a worker's stack.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::absent;
use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Work};

/// rayon's part in `work`: whatever never blocks.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(pool(load.workers).install(|| spawn(load))),
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

/// As many tasks as the others have parked, but they end.
fn arrive(pool: &ThreadPool, gate: &'static Gate, tasks: usize) {
    for _ in 0..tasks {
        pool.spawn(|| gate.arrive());
    }
}
