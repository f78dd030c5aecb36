//! One thing after the other, on one thread: what forks and loops are worth. A reference, not a peer.

use std::hint::black_box;

use super::absent;
use crate::sample::Outcome;
use crate::work::{Node, Work};

/// The part in `work` of whoever does one thing at a time.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Tree(load) => Ok(load.measure(tree)),
        Work::Fib(load) => Ok(load.measure(|n| fib(black_box(n)))),
        Work::Sum(load) => Ok(load.measure(|numbers| numbers.iter().sum())),
        Work::Sort(load) => Ok(load.measure(<[u64]>::sort_unstable)),
        _ => absent("it is there beside forks and loops"),
    }
}

/// The sum of a tree.
fn tree(node: &Node) -> u64 {
    let half = |child: &Option<Box<Node>>| child.as_deref().map_or(0, tree);
    node.value + half(&node.left) + half(&node.right)
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    fib(n - 1) + fib(n - 2)
}
