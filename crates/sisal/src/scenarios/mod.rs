//! Whole scenarios of the waiting layer on shuttle's threads, under random schedules: what is too large for loom. The code that waits is
//! the real one, on plain threads; what the models stand in for, they do here as well (see `prim/checker`).
//!
//! Every scenario runs under the same schedules each time. A lost wake is a deadlock, which shuttle tells of at once; a failure comes with
//! its schedule, as a string for `shuttle::replay`. A scenario returns what came of a run, and fails if the runs together did not
//! reach what it is about.

mod cancel;
mod chan;
mod select;
mod stm;
mod sync;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, MaxSteps, Runner};
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

const SEED: u64 = 0x5EED;

/// How many schedules a scenario has of each kind.
const RUNS: usize = 8_000;

/// One more than the preemptions in a schedule of the second kind.
const DEPTH: usize = 4;

/// Far more than any scenario takes, unless some of its threads go on for ever.
const MOST_STEPS: usize = 100_000;

/// Runs a scenario under schedules in which any thread may come next at any step, and under such in which a thread goes on until it has
/// to wait, but for a few preemptions. Returns all outcomes.
fn outcomes<T: Eq + Hash + Send + 'static>(scenario: impl Fn() -> T + Send + Sync + 'static) -> HashSet<T> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let scenario = Arc::new({
        let seen = Arc::clone(&seen);
        move || {
            let outcome = scenario();
            seen.lock().unwrap().insert(outcome);
        }
    });
    run(RandomScheduler::new_from_seed(SEED, RUNS), Arc::clone(&scenario));
    run(PctScheduler::new_from_seed(SEED, DEPTH, RUNS), scenario);
    std::mem::take(&mut seen.lock().unwrap())
}

fn run(scheduler: impl Scheduler + 'static, scenario: Arc<impl Fn() + Send + Sync + 'static>) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    // That orderings are not looked at is known.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(move || scenario());
}

/// Waits for the end of all threads; what they returned, in their order.
fn join_all<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    // All are started first, if they are started by being asked for.
    let threads: Vec<_> = threads.into_iter().collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// Starts a thread for each number below `count`.
fn spawn_each<T: Send + 'static>(
    count: usize,
    thread: impl Fn(usize) -> T + Clone + Send + 'static,
) -> Vec<JoinHandle<T>> {
    let start = |number| {
        let thread = thread.clone();
        thread::spawn(move || thread(number))
    };
    (0..count).map(start).collect()
}
