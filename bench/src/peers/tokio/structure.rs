//! tokio's tasks that wait for their children.

use std::array;

use tokio::task::{JoinHandle, JoinSet};

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, CHILDREN};

/// The sum of a tree of tasks.
pub(super) async fn skynet(leaves: u64) -> u64 {
    node(0, leaves).await.expect("a node ends well")
}

/// Starts a node with the leaves from `first`.
fn node(first: u64, leaves: u64) -> JoinHandle<u64> {
    tokio::spawn(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / CHILDREN as u64;
        let children: [_; CHILDREN] = array::from_fn(|child| node(first + child as u64 * share, share));
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("a node ends well");
        }
        sum
    })
}

/// Empty tasks in sets that are joined.
pub(super) async fn nursery(load: Batches) -> Sample {
    groups(load.warm_up(), load.batch).await;
    let watch = Stopwatch::start();
    groups(load.count(), load.batch).await;
    watch.stop().per_operation(load.tasks)
}

async fn groups(count: usize, children: usize) {
    for _ in 0..count {
        let mut group = JoinSet::new();
        for _ in 0..children {
            group.spawn(async {});
        }
        while let Some(child) = group.join_next().await {
            child.expect("an empty task ends well");
        }
    }
}
