//! A count-down that a thread outside the runtime waits for.
//!
//! Tasks arrive with one atomic increment each; the last one notes the time and wakes the waiter. The
//! waiter is an OS thread, never a task, so that waiting costs the contestant nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

/// Opens when `target` tasks have arrived.
#[derive(Debug)]
pub struct Gate {
    target: usize,
    arrived: AtomicUsize,
    opened: OnceLock<Instant>,
    waiter: Thread,
}

impl Gate {
    /// A gate the calling thread will wait for. It lives as long as the process, so that a task needs
    /// no reference count to hold it.
    pub fn new(target: usize) -> &'static Self {
        Box::leak(Box::new(Self {
            target,
            arrived: AtomicUsize::new(0),
            opened: OnceLock::new(),
            waiter: thread::current(),
        }))
    }

    /// Counts the caller in.
    pub fn arrive(&self) {
        // ORDERING: Release pairs with the last arriver's Acquire: what every task wrote before it
        // arrived is there when the waiter goes on.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.target {
            self.opened.get_or_init(Instant::now);
            self.waiter.unpark();
        }
    }

    /// Blocks the thread that made the gate until the last task has arrived, and tells when that was.
    pub fn wait(&self) -> Instant {
        loop {
            if let Some(opened) = self.opened.get() {
                return *opened;
            }
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_opens_with_the_last_arrival() {
        let gate = Gate::new(3);
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| gate.arrive())).collect();
        assert!(gate.wait() <= Instant::now());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
