//! smol's tasks that compute.

use smol::Timer;

use super::EXECUTOR;
use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Burst, Starve, TICK, Tasks, Ticks};

/// Tasks of mixed cost, so many times.
pub(super) async fn mixed(tasks: &'static Tasks, repeats: usize) {
    for _ in 0..repeats {
        let task = |number| EXECUTOR.spawn(async move { tasks.run(number) });
        let handles: Vec<_> = tasks.numbers().map(task).collect();
        for handle in handles {
            handle.await;
        }
        tasks.check();
    }
}

/// A task that ticks beside hogs.
pub(super) async fn starve(load: Starve) -> Sample {
    let ticks = Ticks::new();
    let ticker = EXECUTOR.spawn(async {
        while let Some(tick) = ticks.next() {
            Timer::after(TICK).await;
            tick.woke();
        }
    });
    let watch = Stopwatch::start();
    for _ in 0..load.rounds {
        ticks.next_round();
        let hogs: Vec<_> = (0..load.hogs).map(|_| EXECUTOR.spawn(async move { load.hog() })).collect();
        for hog in hogs {
            hog.await;
        }
    }
    let spent = watch.stop();
    ticks.end();
    ticker.await;
    load.sample(spent, ticks)
}

/// Starts the tasks of a burst.
pub(super) fn burst(burst: &'static Burst, tasks: usize) {
    let driver = async move {
        for _ in 0..tasks {
            EXECUTOR.spawn(async { burst.run() }).detach();
        }
    };
    EXECUTOR.spawn(driver).detach();
}
