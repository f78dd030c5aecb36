//! sisal's fibers that compute.

use sisal::{Runtime, par};

use crate::measure::Stopwatch;
use crate::sample::Sample;
use crate::work::{Burst, Node, Starve, TICK, Tasks, Ticks};

/// The sum of a tree.
pub(super) fn tree(node: &Node) -> u64 {
    let half = |child: &Option<Box<Node>>| child.as_deref().map_or(0, tree);
    let (left, right) = par::join(|| half(&node.left), || half(&node.right));
    node.value + left + right
}

pub(super) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = par::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

pub(super) fn sum(numbers: &[u64]) -> u64 {
    par::iter(numbers).sum()
}

pub(super) fn sort(numbers: &mut [u64]) {
    par::sort_unstable(numbers);
}

/// Tasks of mixed cost, so many times.
pub(super) fn mixed(tasks: &'static Tasks, repeats: usize) {
    for _ in 0..repeats {
        let fibers: Vec<_> = tasks.numbers().map(|number| sisal::spawn(move || tasks.run(number))).collect();
        for fiber in fibers {
            fiber.join().expect("a computing fiber ends well");
        }
        tasks.check();
    }
}

/// A fiber that ticks beside hogs. Nobody says that they are: this is about what the runtime finds out.
pub(super) fn starve(load: Starve) -> Sample {
    let ticks = Ticks::new();
    let ticker = sisal::spawn(|| {
        while let Some(tick) = ticks.next() {
            sisal::sleep(TICK).expect("nobody cancels the ticker");
            tick.woke();
        }
    });
    let watch = Stopwatch::start();
    for _ in 0..load.rounds {
        ticks.next_round();
        let hogs: Vec<_> = (0..load.hogs).map(|_| sisal::spawn(move || load.hog())).collect();
        for hog in hogs {
            hog.join().expect("a hog ends well");
        }
    }
    let spent = watch.stop();
    ticks.end();
    ticker.join().expect("the ticker ends well");
    load.sample(spent, ticks)
}

/// Starts the tasks of a burst.
pub(super) fn burst(runtime: &Runtime, burst: &'static Burst, tasks: usize) {
    drop(runtime.spawn(move || {
        for _ in 0..tasks {
            drop(sisal::spawn(|| burst.run()));
        }
    }));
}
