//! chili: forks on the stack, shared when a heartbeat asks for it.

use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use super::absent;
use crate::sample::Outcome;
use crate::work::{Node, Work};

/// chili's part in `work`: forks.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::Tree(load) => {
            let mut scope = pool(load.workers).scope();
            Ok(load.measure(|root| tree(&mut scope, root)))
        }
        Work::Fib(load) => {
            let mut scope = pool(load.workers).scope();
            Ok(load.measure(|n| fib(&mut scope, n)))
        }
        _ => absent("it has forks and nothing else"),
    }
}

/// The thread that forks is one of its workers.
fn pool(workers: usize) -> &'static ThreadPool {
    let config = Config { thread_count: NonZero::new(workers), ..Config::default() };
    Box::leak(Box::new(ThreadPool::with_config(config)))
}

/// The sum of a tree.
fn tree(scope: &mut Scope<'_>, node: &Node) -> u64 {
    let half = |scope: &mut Scope<'_>, child: &Option<Box<Node>>| child.as_deref().map_or(0, |node| tree(scope, node));
    let (left, right) = scope.join(|scope| half(scope, &node.left), |scope| half(scope, &node.right));
    node.value + left + right
}

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|scope| fib(scope, n - 1), |scope| fib(scope, n - 2));
    a + b
}
