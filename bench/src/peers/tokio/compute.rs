//! tokio's tasks that compute.

use tokio::runtime::Runtime;

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Burst, Starve, TICK, Tasks, Ticks};

/// Tasks of mixed cost, so many times.
pub(super) async fn mixed(tasks: &'static Tasks, repeats: usize) {
    for _ in 0..repeats {
        let task = |number| tokio::spawn(async move { tasks.run(number) });
        let handles: Vec<_> = tasks.numbers().map(task).collect();
        for handle in handles {
            handle.await.expect("a computing task ends well");
        }
        tasks.check();
    }
}

/// A task that ticks beside hogs.
pub(super) async fn starve(load: Starve) -> Sample {
    let ticks = Ticks::new();
    let ticker = tokio::spawn(async {
        while let Some(tick) = ticks.next() {
            tokio::time::sleep(TICK).await;
            tick.woke();
        }
    });
    let watch = Stopwatch::start();
    for _ in 0..load.rounds {
        ticks.next_round();
        let hogs: Vec<_> = (0..load.hogs).map(|_| tokio::spawn(async move { load.hog() })).collect();
        for hog in hogs {
            hog.await.expect("a hog ends well");
        }
    }
    let spent = watch.stop();
    ticks.end();
    ticker.await.expect("the ticker ends well");
    load.sample(spent, ticks)
}

/// Starts the tasks of a burst.
pub(super) fn burst(runtime: &Runtime, burst: &'static Burst, tasks: usize) {
    drop(runtime.spawn(async move {
        for _ in 0..tasks {
            drop(tokio::spawn(async { burst.run() }));
        }
    }));
}
