//! Tasks that park for good: what they weigh, and how long it takes to have them.
//!
//! The contestant brings `start(gate, tasks)`: two spawners inside the runtime that spawn `tasks`
//! tasks between them and keep no handle; each task arrives at the gate, then parks until the process
//! ends. `start` is called with a few tasks first, which stay parked like the others.

use std::thread;

use super::{Gate, SETTLE, WARM_UP_TASKS};
use crate::measure::{Memory, Stopwatch};
use crate::sample::{Absent, Outcome, Sample};

/// How many tasks park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The tasks.
    pub tasks: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Parked {
    /// For a contestant that cannot stand more than `tasks`.
    pub fn at_most(self, tasks: usize) -> Self {
        Self { tasks: self.tasks.min(tasks), ..self }
    }

    /// The shares of the two spawners.
    pub fn shares(tasks: usize) -> [usize; 2] {
        [tasks / 2, tasks - tasks / 2]
    }

    /// Growth of resident memory and of page tables per task.
    pub fn memory(self, start: impl Fn(&'static Gate, usize)) -> Outcome {
        warm_up(&start);
        let gate = Gate::new(self.tasks);
        let before = Memory::now().map_err(Absent::new)?;
        let watch = Stopwatch::start();
        start(gate, self.tasks);
        gate.wait();
        let spent = watch.stop();
        thread::sleep(SETTLE);
        let grown = Memory::now().map_err(Absent::new)?.since(before);
        let tasks = self.tasks as f64;
        Ok(Sample::new(grown.resident / tasks, spent.cpu_nanos() / tasks)
            .with("page_tables", grown.page_tables / tasks)
            .with("tasks", tasks))
    }

    /// Time per task until the last has come to its park.
    pub fn create(self, start: impl Fn(&'static Gate, usize)) -> Sample {
        warm_up(&start);
        let gate = Gate::new(self.tasks);
        let watch = Stopwatch::start();
        start(gate, self.tasks);
        let spent = watch.stop_at(gate.wait());
        spent.per_operation(self.tasks).with("tasks", self.tasks as f64)
    }
}

/// Has every worker running, and the first tasks parked.
fn warm_up(start: &impl Fn(&'static Gate, usize)) {
    let gate = Gate::new(WARM_UP_TASKS);
    start(gate, WARM_UP_TASKS);
    gate.wait();
    thread::sleep(SETTLE);
}
