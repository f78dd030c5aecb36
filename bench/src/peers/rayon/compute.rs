//! rayon's forks, loops and sorts.

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::work::{Burst, Node, Tasks};

/// The sum of a tree.
pub(super) fn tree(node: &Node) -> u64 {
    let half = |child: &Option<Box<Node>>| child.as_deref().map_or(0, tree);
    let (left, right) = rayon::join(|| half(&node.left), || half(&node.right));
    node.value + left + right
}

pub(super) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

pub(super) fn sum(numbers: &[u64]) -> u64 {
    numbers.par_iter().sum()
}

pub(super) fn sort(numbers: &mut [u64]) {
    numbers.par_sort_unstable();
}

/// Tasks of mixed cost, so many times.
pub(super) fn mixed(tasks: &Tasks, repeats: usize) {
    for _ in 0..repeats {
        rayon::scope(|scope| {
            for number in tasks.numbers() {
                scope.spawn(move |_| tasks.run(number));
            }
        });
        tasks.check();
    }
}

/// Starts the tasks of a burst.
pub(super) fn burst(pool: &ThreadPool, burst: &'static Burst, tasks: usize) {
    pool.spawn(move || {
        for _ in 0..tasks {
            rayon::spawn(|| burst.run());
        }
    });
}
