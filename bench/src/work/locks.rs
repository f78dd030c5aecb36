//! Tasks that increment one number under one lock.

use super::clock::Repeated;

/// How many tasks, and how often each locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locks {
    /// How many fibers.
    pub fibers: usize,
    /// How often each of them locks.
    pub locks: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Locks {
    /// As often in all, by no more than `fibers`: for a contestant whose tasks are dear.
    pub fn by_at_most(self, fibers: usize) -> Self {
        let fibers = self.fibers.min(fibers);
        Self { fibers, locks: self.operations() / fibers, ..self }
    }
}

impl Repeated for Locks {
    fn repeats(&self) -> usize {
        self.locks
    }

    fn operations(&self) -> usize {
        self.fibers * self.locks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_fibers_lock_more_often() {
        let locks = Locks { fibers: 1_000, locks: 100, workers: 2 };
        assert_eq!(locks.by_at_most(8), Locks { fibers: 8, locks: 12_500, workers: 2 });
        assert_eq!(locks.by_at_most(2_000), locks);
    }
}
