//! Threads by themselves.

use std::sync::{Arc, Mutex};
use std::thread;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, Gate, Submissions, Ticket};

pub(super) fn spawn(load: Batches) -> Sample {
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

/// Threads in scopes that end with them.
pub(super) fn nursery(load: Batches) -> Sample {
    let groups = |count: usize| {
        for _ in 0..count {
            thread::scope(|scope| {
                for _ in 0..load.batch {
                    scope.spawn(|| ());
                }
            });
        }
    };
    groups(1);
    let watch = Stopwatch::start();
    groups(load.count());
    watch.stop().per_operation(load.tasks)
}

pub(super) fn park(gate: &'static Gate, tasks: usize) {
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
pub(super) fn wake(load: Submissions) -> Sample {
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
