//! Work a driver inside the runtime does and clocks itself: spawn and join, and yielding.

/// Empty tasks, spawned and joined a batch at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// All tasks together.
    pub tasks: usize,
    /// Tasks alive at a time.
    pub batch: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Batches {
    /// How many batches are clocked.
    pub fn count(&self) -> usize {
        self.tasks / self.batch
    }

    /// How many batches go before them unclocked.
    pub fn warm_up(&self) -> usize {
        (self.count() / 10).max(1)
    }

    /// The same batches, as many as make up `tasks`, at least one: for a contestant that needs
    /// thousands of times as long for each.
    pub fn at_most(self, tasks: usize) -> Self {
        Self { tasks: self.tasks.min(tasks).max(self.batch), ..self }
    }
}

/// Fibers that do nothing but let others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yields {
    /// How many fibers.
    pub fibers: usize,
    /// How often each of them yields.
    pub yields: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Yields {
    /// All yields together.
    pub fn total(&self) -> usize {
        self.fibers * self.yields
    }

    /// How often each fiber of the unclocked round before yields.
    pub fn warm_up(&self) -> usize {
        self.yields / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cut_down_stay_whole() {
        let batches = Batches { tasks: 1_000_000, batch: 10_000, workers: 2 };
        assert_eq!(batches.count(), 100);
        assert_eq!(batches.at_most(20_000).count(), 2);
        assert_eq!(batches.at_most(1).count(), 1);
        assert_eq!(batches.at_most(1).warm_up(), 1);
    }
}
