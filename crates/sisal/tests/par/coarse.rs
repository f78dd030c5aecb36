//! Long forks after many small ones: those who have nothing to do get their share at once, since there may be no fork after them.

use crate::common::watchdog::guarded;
use crate::common::{background, shut_down};
use sisal::par::{self, join};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often each is tried, and how often it has to be as it should: the system may let anybody wait, and so may the monitor.
const ROUNDS: usize = 20;
const ENOUGH: usize = ROUNDS / 2;

fn tree(depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let (left, right) = join(|| tree(depth - 1), || tree(depth - 1));
    left + right
}

/// Small forks, until those places are known to have no others.
fn fork_much() {
    for _ in 0..20 {
        assert_eq!(tree(10), 1 << 10);
    }
    for _ in 0..1_000 {
        join(|| (), || ());
    }
}

/// Where several are to be at once.
struct Meeting {
    missing: AtomicUsize,
    has_failed: AtomicBool,
}

impl Meeting {
    fn of(count: usize) -> Meeting {
        Meeting { missing: AtomicUsize::new(count), has_failed: AtomicBool::new(false) }
    }

    /// Holds the CPU until all are here, or it is plain that they will not come; and for long enough to be worth a theft.
    fn meet(&self) {
        self.missing.fetch_sub(1, Ordering::Relaxed);
        let begun = Instant::now();
        let elapses = |millis| begun.elapsed() >= Duration::from_millis(millis);
        while self.missing.load(Ordering::Relaxed) > 0 && !self.has_failed() {
            self.has_failed.fetch_or(elapses(1_000), Ordering::Relaxed);
        }
        while !elapses(1) {
            std::hint::spin_loop();
        }
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// How often all of as many as there are workers meet, in forks made by `hold`.
fn meetings(workers: usize, hold: fn(&Meeting, usize)) -> usize {
    let runtime = background(workers);
    let met = runtime.run(|| {
        let round = |_: &usize| {
            fork_much();
            let all = Meeting::of(workers);
            hold(&all, workers);
            !all.has_failed()
        };
        (0..ROUNDS).filter(round).count()
    });
    shut_down(runtime);
    met
}

#[test]
fn a_fork_of_another_place_goes_to_another_worker_at_once() {
    guarded(|| {
        let met = meetings(2, |both, _| _ = join(|| both.meet(), || both.meet()));
        assert!(met >= ENOUGH, "{met} of {ROUNDS}");
    });
}

#[test]
fn as_many_forks_as_there_are_workers_run_at_once() {
    guarded(|| {
        for workers in [2, 4] {
            let met = meetings(workers, |all, count| par::iter(0..count).for_each(|_| all.meet()));
            assert!(met >= ENOUGH, "{met} of {ROUNDS} with {workers} workers");
        }
    });
}
