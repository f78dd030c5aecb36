//! Forks without a cut-off: one at every node of a tree, one at every call of a recursion.
//!
//! The contestant brings the sum of a [`Node`], or `fib`, with a fork of its own at every step. All of it is
//! called from inside its runtime.

use super::clock::{Repeated, clocked};
use crate::measure::Stopwatch;
use crate::sample::Sample;

/// What a fib that goes before the clocked one is smaller by: it takes a tenth of the time.
const WARM_UP_LESS: u64 = 5;

/// A balanced binary tree that is summed again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The levels below the root.
    pub depth: usize,
    /// How often it is summed.
    pub repeats: usize,
    /// Worker threads.
    pub workers: usize,
}

/// A node of the tree; each is a fork, the leaves too, whose halves have nothing to do.
#[derive(Debug)]
pub struct Node {
    /// What is summed.
    pub value: u64,
    /// The first half.
    pub left: Option<Box<Node>>,
    /// The second.
    pub right: Option<Box<Node>>,
}

impl Node {
    /// The root of a tree of so many nodes, each with the value 1.
    ///
    /// They lie in memory level by level, which is as good for whoever begins with the left half, like most, as
    /// for whoever begins with the right one, like chili: if each node lay behind its children, a tree that no
    /// cache holds would take the former twice as long as the latter.
    fn tree(nodes: usize) -> Box<Self> {
        let leaf = || Box::new(Self { value: 1, left: None, right: None });
        let mut level_by_level: Vec<Box<Self>> = Vec::with_capacity(nodes);
        level_by_level.extend((0..nodes).map(|_| leaf()));
        for number in (1..nodes).rev() {
            let node = level_by_level.pop();
            let parent = &mut level_by_level[(number - 1) / 2];
            let side = if number % 2 == 1 { &mut parent.left } else { &mut parent.right };
            *side = node;
        }
        level_by_level.pop().expect("a tree has a root")
    }
}

impl Tree {
    /// Nanoseconds of wall and of CPU per fork.
    pub fn measure(self, mut sum: impl FnMut(&Node) -> u64) -> Sample {
        let root = Node::tree(self.nodes());
        let sum = std::cell::RefCell::new(&mut sum);
        clocked(self, |repeats| {
            for _ in 0..repeats {
                assert_eq!((sum.borrow_mut())(&root), self.nodes() as u64, "the sum of the tree");
            }
        })
    }

    /// The nodes, which are also the forks of one sum.
    fn nodes(self) -> usize {
        (2 << self.depth) - 1
    }
}

impl Repeated for Tree {
    fn repeats(&self) -> usize {
        self.repeats
    }

    fn operations(&self) -> usize {
        self.nodes() * self.repeats
    }
}

/// A Fibonacci number by its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fib {
    /// Which one.
    pub n: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Fib {
    /// Milliseconds of wall and of CPU; a smaller one goes before.
    pub fn measure(self, mut fib: impl FnMut(u64) -> u64) -> Sample {
        let n = self.n as u64;
        let few = n.saturating_sub(WARM_UP_LESS);
        assert_eq!(fib(few), in_a_loop(few), "fib({few})");
        let watch = Stopwatch::start();
        let number = fib(n);
        let spent = watch.stop();
        assert_eq!(number, in_a_loop(n), "fib({n})");
        spent.millis_each(1)
    }
}

/// The number to compare with.
fn in_a_loop(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(node: &Node) -> u64 {
        node.value + node.left.as_deref().map_or(0, sum) + node.right.as_deref().map_or(0, sum)
    }

    #[test]
    fn a_tree_of_depth_10_has_2047_forks() {
        let tree = Tree { depth: 10, repeats: 20, workers: 1 };
        assert_eq!((tree.nodes(), tree.operations()), (2_047, 40_940));
        tree.measure(sum);
    }

    #[test]
    #[should_panic(expected = "the sum of the tree")]
    fn a_wrong_sum_is_noticed() {
        Tree { depth: 3, repeats: 10, workers: 1 }.measure(|node| sum(node) + 1);
    }

    #[test]
    fn a_fib_is_compared_with_that_of_a_loop() {
        assert_eq!((in_a_loop(0), in_a_loop(1), in_a_loop(10)), (0, 1, 55));
        Fib { n: 6, workers: 1 }.measure(in_a_loop);
    }
}
