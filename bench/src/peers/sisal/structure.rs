//! sisal's fibers that wait for their children.

use std::array;
use std::convert::Infallible;

use sisal::JoinHandle;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Batches, CHILDREN};

/// The sum of a tree of fibers.
pub(super) fn skynet(leaves: u64) -> u64 {
    node(0, leaves).join().expect("a node ends well")
}

/// Starts a node with the leaves from `first`.
fn node(first: u64, leaves: u64) -> JoinHandle<u64> {
    sisal::spawn(move || {
        if leaves == 1 {
            return first;
        }
        let share = leaves / CHILDREN as u64;
        let children: [_; CHILDREN] = array::from_fn(|child| node(first + child as u64 * share, share));
        children.into_iter().map(|child| child.join().expect("a node ends well")).sum()
    })
}

/// Empty fibers in nurseries that end with them.
pub(super) fn nursery(load: Batches) -> Sample {
    groups(load.warm_up(), load.batch);
    let watch = Stopwatch::start();
    groups(load.count(), load.batch);
    watch.stop().per_operation(load.tasks)
}

fn groups(count: usize, children: usize) {
    for _ in 0..count {
        let ended: Result<(), Infallible> = sisal::nursery(|nursery| {
            for _ in 0..children {
                nursery.spawn(|| ());
            }
            Ok(())
        });
        ended.expect("an empty fiber does not fail");
    }
}
