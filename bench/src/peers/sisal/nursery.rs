//! sisal's nurseries.

use std::convert::Infallible;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::Batches;

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
