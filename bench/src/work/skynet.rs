//! A tree of tasks: every node spawns ten, awaits them and hands up the sum of what they returned.
//!
//! The contestant brings `run(leaves)`: the sum of the leaves' numbers, 0 to `leaves - 1`. The root is a
//! task like the others. A tree a tenth as large goes before, unclocked.

use super::channels::sum_below;
use crate::measure::{Spent, Stopwatch};
use crate::sample::Sample;

/// Children of a node.
pub const CHILDREN: usize = 10;
/// Milliseconds in a second.
const MILLIS: f64 = 1e3;

/// How large the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skynet {
    /// Tasks without children, a power of ten.
    pub leaves: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Skynet {
    /// Milliseconds until the root has its sum.
    pub fn measure(self, run: impl Fn(u64) -> u64) -> Sample {
        self.check(run(self.warm_up()), self.warm_up());
        let watch = Stopwatch::start();
        let sum = run(self.leaves as u64);
        self.sample(watch.stop(), sum)
    }

    /// The same of a `run` that is awaited.
    pub async fn measure_async<F: Future<Output = u64>>(self, run: impl Fn(u64) -> F) -> Sample {
        self.check(run(self.warm_up()).await, self.warm_up());
        let watch = Stopwatch::start();
        let sum = run(self.leaves as u64).await;
        self.sample(watch.stop(), sum)
    }

    /// Leaves of the tree that goes before.
    fn warm_up(self) -> u64 {
        (self.leaves / CHILDREN) as u64
    }

    fn check(self, sum: u64, leaves: u64) {
        assert_eq!(sum, sum_below(leaves as usize), "the sum of {leaves} leaves");
    }

    fn sample(self, spent: Spent, sum: u64) -> Sample {
        self.check(sum, self.leaves as u64);
        Sample::new(spent.wall.as_secs_f64() * MILLIS, spent.cpu.as_secs_f64() * MILLIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_a_tenth_as_large_goes_before() {
        let skynet = Skynet { leaves: 1_000, workers: 1 };
        let asked = std::cell::RefCell::new(Vec::new());
        skynet.measure(|leaves| {
            asked.borrow_mut().push(leaves);
            (0..leaves).sum()
        });
        assert_eq!(*asked.borrow(), [100, 1_000]);
    }
}
