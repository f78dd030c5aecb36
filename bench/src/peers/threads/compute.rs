//! Threads that compute: as many as there are workers, or one to a task where that is what the work is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Mixed, Starve, Sum, TICK, Tasks, Ticks};

/// A share for each.
pub(super) fn sum(load: Sum, numbers: &[u64]) -> u64 {
    let share = numbers.len().div_ceil(load.workers);
    thread::scope(|scope| {
        let sums: Vec<_> = numbers.chunks(share).map(|chunk| scope.spawn(move || chunk.iter().sum::<u64>())).collect();
        sums.into_iter().map(|thread| thread.join().expect("a summing thread ends well")).sum()
    })
}

/// Each has the next task that is left, so many times.
pub(super) fn mixed(load: Mixed, tasks: &Tasks, repeats: usize) {
    for _ in 0..repeats {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..load.workers {
                scope.spawn(|| {
                    let next = || Some(next.fetch_add(1, Ordering::Relaxed));
                    std::iter::from_fn(next)
                        .take_while(|number| tasks.numbers().contains(number))
                        .for_each(|number| tasks.run(number));
                });
            }
        });
        tasks.check();
    }
}

/// A thread that ticks, and one for each hog.
pub(super) fn starve(load: Starve) -> Sample {
    let ticks = Ticks::new();
    let ticker = thread::spawn(|| {
        while let Some(tick) = ticks.next() {
            thread::sleep(TICK);
            tick.woke();
        }
    });
    let watch = Stopwatch::start();
    for _ in 0..load.rounds {
        ticks.next_round();
        let hogs: Vec<_> = (0..load.hogs).map(|_| thread::spawn(move || load.hog())).collect();
        for hog in hogs {
            hog.join().expect("a hog ends well");
        }
    }
    let spent = watch.stop();
    ticks.end();
    ticker.join().expect("the ticker ends well");
    load.sample(spent, ticks)
}
