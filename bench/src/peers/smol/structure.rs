//! smol's tasks that wait for their children.

use std::array;

use smol::Task;

use super::EXECUTOR;
use crate::work::CHILDREN;

/// The sum of a tree of tasks.
pub(super) async fn skynet(leaves: u64) -> u64 {
    node(0, leaves).await
}

/// Starts a node with the leaves from `first`.
fn node(first: u64, leaves: u64) -> Task<u64> {
    EXECUTOR.spawn(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / CHILDREN as u64;
        let children: [_; CHILDREN] = array::from_fn(|child| node(first + child as u64 * share, share));
        let mut sum = 0;
        for child in children {
            sum += child.await;
        }
        sum
    })
}
