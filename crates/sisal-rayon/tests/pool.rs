//! rayon's pool stays asleep. Alone in its process, whose threads it counts.

#[path = "../../sisal/tests/common/mod.rs"]
mod common;

use common::{in_main_fiber, linux, with_workers};
use rayon::prelude::*;
use sisal::sync::Mutex;
use sisal_rayon::OnFibers;

#[test]
fn the_pool_of_rayon_never_starts() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            // All workers are there once each has run something.
            sisal::par::broadcast(|_| ());
            let before = linux::threads_named("");
            let lock = Mutex::new(0);
            (0..10_000u32).into_par_iter().on_fibers().for_each(|number| *lock.lock() += u64::from(number));
            assert_eq!(lock.into_inner(), 49_995_000);
            let sorted: Vec<u32> =
                (0..10_000u32).into_par_iter().chunks(10).on_fibers().flat_map_iter(|chunk| chunk).collect();
            assert!(sorted.into_iter().eq(0..10_000));
            // Those of the round before may have been listed for a moment longer.
            assert!(linux::threads_named("") <= before, "threads were started");
        });
    });
}
