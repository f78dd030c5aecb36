//! Much to compute, of which the result is known: forks at every call, trees, and millions of numbers to add and to sort.

use sisal::par::{self, join};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads compute at once.
pub(crate) const THREADS: usize = 8;

/// A Fibonacci number, without a cut-off.
pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn leaves(depth: u32, counted: &AtomicUsize) {
    if depth == 0 {
        counted.fetch_add(1, Ordering::Relaxed);
        return;
    }
    join(|| leaves(depth - 1, counted), || leaves(depth - 1, counted));
}

/// Debug builds and those that are sanitized fork ten times as slowly.
const IS_SLOW: bool = cfg!(any(debug_assertions, sisal_asan));

const DEEPEST: u32 = if IS_SLOW { 12 } else { 20 };

/// Forks at every call.
pub(crate) fn fibonacci() {
    let (n, number) = if IS_SLOW { (20, 6_765) } else { (25, 75_025) };
    assert_eq!(fib(n), number);
}

/// Counts the leaves of trees of several depths.
pub(crate) fn trees() {
    for depth in [0, 1, 10, 15, 20].into_iter().filter(|depth| *depth <= DEEPEST) {
        let counted = AtomicUsize::new(0);
        leaves(depth, &counted);
        assert_eq!(counted.into_inner(), 1 << depth);
    }
}

/// Ten million, where that does not take too long.
const TEN_MILLION: u32 = if IS_SLOW { 200_000 } else { 10_000_000 };

/// Numbers in no order, of which none comes twice, and what is to come of them.
pub(crate) struct Numbers {
    all: Vec<u32>,
    sorted: Vec<u32>,
    sum: u64,
}

impl Numbers {
    pub(crate) fn new() -> Numbers {
        let all: Vec<u32> = (0..TEN_MILLION).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        let sum = all.iter().map(|number| u64::from(*number)).sum();
        Numbers { all, sorted, sum }
    }

    pub(crate) fn add(&self) {
        assert_eq!(par::iter(&self.all).map(|number| u64::from(*number)).sum::<u64>(), self.sum);
    }

    pub(crate) fn sort(&self) {
        self.sort_by(par::sort);
    }

    pub(crate) fn sort_unstable(&self) {
        self.sort_by(par::sort_unstable);
    }

    fn sort_by(&self, sort: fn(&mut [u32])) {
        let mut numbers = self.all.clone();
        sort(&mut numbers);
        assert!(numbers == self.sorted);
    }
}

/// Calls it on so many threads at once.
pub(crate) fn on_threads(work: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
}
