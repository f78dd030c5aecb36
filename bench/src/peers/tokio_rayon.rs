//! tokio's tasks beside rayon's: what a program on tokio does with CPU-bound work.

use rayon::ThreadPoolBuilder;

use super::absent;
use super::tokio::echo;
use crate::sample::Outcome;
use crate::work::{PARTS, Work, part, piece_done};

/// Their part in `work`: an echo server beside CPU-bound jobs.
pub(super) fn run(work: Work) -> Outcome {
    let Work::EchoUnderCpu(load) = work else { return absent("it is there for CPU-bound work beside a server") };
    let pool = ThreadPoolBuilder::new().num_threads(load.jobs).build().expect("the pool starts");
    for _ in 0..load.jobs {
        pool.spawn(|| {
            loop {
                fork(PARTS);
                piece_done();
            }
        });
    }
    echo(load.workers)
}

fn fork(parts: usize) {
    if parts == 1 {
        return part(PARTS);
    }
    rayon::join(|| fork(parts / 2), || fork(parts / 2));
}
