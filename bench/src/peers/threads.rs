//! OS threads: what there is without any runtime. A reference, not a peer.

use std::sync::{Arc, Mutex};
use std::thread;

use super::absent;
use crate::measure::Stopwatch;
use crate::sample::{Outcome, Sample};
use crate::work::{Batches, Gate, Submissions, Ticket, Work};

/// Spawned in all, in place of a million: each takes some 10 us.
const SPAWNED: usize = 20_000;
/// Parked at a time; containers often allow no more than a few thousand.
const PARKED: usize = 2_000;

/// The threads' part in `work`.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Spawn(load) => Ok(spawn(load.at_most(SPAWNED))),
        Work::ParkedMemory(load) => load.at_most(PARKED).memory(park),
        Work::ParkedCreate(load) => Ok(load.at_most(PARKED).create(park)),
        Work::WakeIdle(load) => Ok(wake(load)),
        Work::IdleCpu(load) => Ok(load.measure(park)),
        Work::Yields(_) => absent("the kernel puts them on any number of CPUs, not on workers"),
        Work::Sleepers(_) => absent("a thread to a sleeper is more than most systems allow"),
    }
}

fn spawn(load: Batches) -> Sample {
    let mut handles = Vec::with_capacity(load.batch);
    let mut batches = |count: usize| {
        for _ in 0..count {
            handles.extend((0..load.batch).map(|_| thread::spawn(|| ())));
            for handle in handles.drain(..) {
                handle.join().expect("an empty thread ends well");
            }
        }
    };
    batches(1);
    let watch = Stopwatch::start();
    batches(load.count());
    watch.stop().per_operation(load.tasks)
}

fn park(gate: &'static Gate, tasks: usize) {
    for _ in 0..tasks {
        thread::spawn(|| {
            gate.arrive();
            loop {
                thread::park();
            }
        });
    }
}

/// One thread parked, woken for each ticket.
fn wake(load: Submissions) -> Sample {
    let slot: Arc<Mutex<Option<Ticket>>> = Arc::default();
    let parked = thread::spawn({
        let slot = Arc::clone(&slot);
        move || {
            loop {
                let ticket = slot.lock().expect("nobody panics with the lock").take();
                match ticket {
                    Some(ticket) => ticket.ran(),
                    None => thread::park(),
                }
            }
        }
    });
    load.measure(|ticket| {
        *slot.lock().expect("nobody panics with the lock") = Some(ticket);
        parked.thread().unpark();
    })
}
