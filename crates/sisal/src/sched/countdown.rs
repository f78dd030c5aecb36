//! How many forks to go until a worker looks around.
//!
//! Forks come every few nanoseconds. A number that each of them reads and writes back would be a chain: the next can't count before the last
//! has, and through memory that takes as long as all else that a fork does (`tree-20-1w`: 4.4 ns a fork, and 3.5 like this). So there are several
//! numbers, and the address of a fork's frame says which is its own: forks inside of one another have different ones. The first that comes
//! to its end ends all.
//!
//! # Calm
//! A look finds what nobody tells a worker of: that a time has come, that a socket can be read, that others are hungry. Where nothing of
//! that kind is to be expected it is *calm*: forks do not count, they only see that it is (a tree of depth 10 on one worker: 0.3 ns less
//! a fork). So whoever makes something to be expected has to end that.
//!
//! - *The worker*, having looked, says that it is calm, fences, and takes that back if there is anything that others may have published.
//! - *Others* publish, fence, and [rouse](Countdown::rouse) the worker if it is calm. Of two fences one is the first: either the worker sees what
//!   was published, or others see that it is calm.
//! - *Who is hungry* concerns all workers, and need not look at each of them: a flag for all says that some are perhaps calm. It is set before the
//!   fence above, and whoever takes it away sees all who set it, and rouses them.
//! - What the worker does itself needs no fence: it rouses itself.

use crate::prim::atomic::{AtomicU32, Ordering, fence};

/// How many numbers there are, and how far apart the frames are that have different ones: the frame of a small function that forks.
const NUMBERS: usize = 8;
const APART: usize = 128;

/// See the [module](self). Counted by one thread; any may end it.
pub(super) struct Countdown {
    /// Zero while it is calm.
    counts: AtomicU32,
    numbers: [AtomicU32; NUMBERS],
}

impl Countdown {
    /// One that has ended.
    pub(super) fn new() -> Countdown {
        Countdown { counts: AtomicU32::new(1), numbers: std::array::from_fn(|_| AtomicU32::new(0)) }
    }

    /// Counts a fork whose frame is at `frame`; true if that ends the countdown. If somebody else's end is lost here, the next fork of
    /// another number finds it, or the next end comes soon.
    #[must_use]
    #[inline]
    pub(super) fn count_down(&self, frame: usize) -> bool {
        if self.is_calm() {
            return false;
        }
        let number = &self.numbers[frame / APART % NUMBERS];
        let left = number.load(Ordering::Relaxed);
        if left == 0 {
            return true;
        }
        number.store(left - 1, Ordering::Relaxed);
        false
    }

    /// Begins anew: it ends after at least `forks` of them, and at most [`NUMBERS`] times as many.
    pub(super) fn begin(&self, forks: u32) {
        self.numbers.iter().for_each(|number| number.store(forks, Ordering::Relaxed));
    }

    /// Ends it, from any thread: the next fork finds it so.
    pub(super) fn end(&self) {
        // Looked at first: a store takes the line away from the one who counts.
        self.numbers
            .iter()
            .filter(|number| number.load(Ordering::Relaxed) != 0)
            .for_each(|number| number.store(0, Ordering::Relaxed));
        if self.is_calm() {
            self.counts.store(1, Ordering::Relaxed);
        }
    }

    /// Whether forks do not count.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.counts.load(Ordering::Relaxed) == 0
    }

    /// Ends it if it is calm. By its own thread, or after a fence.
    #[inline]
    pub(super) fn rouse(&self) {
        if self.is_calm() {
            self.end();
        }
    }
}

/// Whether forks of some workers perhaps do not count. One for all of them.
pub(super) struct Calm(AtomicU32);

impl Calm {
    pub(super) fn new() -> Calm {
        Calm(AtomicU32::new(0))
    }

    /// The worker of `countdown` has looked around, and expects nothing: no fork of it counts until it is roused, unless it `is_told` something.
    pub(super) fn begin(&self, countdown: &Countdown, is_told: impl FnOnce() -> bool) {
        countdown.counts.store(0, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire in `rouse_all`: whoever takes this away sees that it is calm here, and, since this is an exchange,
        // wherever it was set before.
        self.0.swap(1, Ordering::Release);
        // ORDERING: pairs with the fences of those who rouse it: see the module.
        fence(Ordering::SeqCst);
        if is_told() {
            countdown.counts.store(1, Ordering::Relaxed);
        }
    }

    /// Something was published that concerns all workers, whose `countdowns` these are, and a full fence came after.
    pub(super) fn rouse_all<'a>(&self, countdowns: impl Iterator<Item = &'a Countdown>) {
        // ORDERING: Acquire pairs with the Release in `begin`.
        if self.0.load(Ordering::Relaxed) != 0 && self.0.swap(0, Ordering::Acquire) != 0 {
            countdowns.for_each(Countdown::rouse);
        }
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn it_ends_after_so_many_forks_wherever_their_frames_are() {
        for step in [0, 8, APART, 3 * APART, NUMBERS * APART] {
            let countdown = Countdown::new();
            assert!(countdown.count_down(0), "it has not begun");
            countdown.begin(10);
            let counted = (0..).take_while(|fork| !countdown.count_down(fork * step)).count();
            assert!((10..=10 * NUMBERS).contains(&counted), "{counted} forks, {step} apart");
        }
    }

    #[test]
    fn whoever_ends_it_is_heard_by_the_next_fork() {
        let countdown = Countdown::new();
        countdown.begin(10);
        assert!(!countdown.count_down(0));
        countdown.end();
        assert!((0..NUMBERS).all(|number| countdown.count_down(number * APART)));
    }

    #[test]
    fn nothing_counts_while_it_is_calm_until_somebody_ends_it() {
        let calm = Calm::new();
        let rouse_all = |countdown: &Countdown| calm.rouse_all([countdown].into_iter());
        let ends: [&dyn Fn(&Countdown); 3] = [&Countdown::end, &Countdown::rouse, &rouse_all];
        for end in ends {
            let countdown = Countdown::new();
            countdown.begin(10);
            calm.begin(&countdown, || false);
            assert!((0..1_000).all(|fork| !countdown.count_down(fork * APART)));
            end(&countdown);
            assert!(countdown.count_down(0));
        }
    }

    #[test]
    fn it_goes_on_where_it_was_if_the_worker_was_told_something() {
        let countdown = Countdown::new();
        countdown.begin(10);
        assert!(!countdown.count_down(0));
        Calm::new().begin(&countdown, || true);
        assert_eq!((0..).take_while(|_| !countdown.count_down(0)).count(), 9);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use std::collections::HashSet;
    use std::sync::Mutex;

    struct Forkers {
        calm: Calm,
        countdowns: [Countdown; 2],
        hungry: AtomicUsize,
    }

    impl Forkers {
        fn be_calm(&self, worker: usize) {
            self.countdowns[worker].begin(3);
            self.calm.begin(&self.countdowns[worker], || self.hungry.load(Ordering::Relaxed) != 0);
        }

        fn is_hungry(&self) {
            self.hungry.fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            self.calm.rouse_all(self.countdowns.iter());
        }
    }

    /// Two workers become calm while a third becomes hungry, and a fourth is for a moment only: in the end none is calm beside one who is
    /// hungry. Reached: each of the two was roused, and each saw for itself.
    #[test]
    fn loom_nobody_is_calm_beside_one_who_is_hungry() {
        let seen: &'static Mutex<HashSet<[bool; 2]>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let counter = || AtomicUsize::new(0);
            let (calm, countdowns) = (Calm::new(), [Countdown::new(), Countdown::new()]);
            let forkers = Arc::new(Forkers { calm, countdowns, hungry: counter() });
            let also = Arc::clone(&forkers);
            let another = loom::thread::spawn(move || also.be_calm(1));
            let also = Arc::clone(&forkers);
            let for_a_moment = loom::thread::spawn(move || {
                also.is_hungry();
                also.hungry.fetch_sub(1, Ordering::Relaxed);
                also.is_hungry();
            });
            forkers.be_calm(0);
            another.join().unwrap();
            for_a_moment.join().unwrap();
            let ends = [0, 1].map(|worker| {
                let countdown = &forkers.countdowns[worker];
                assert!(!countdown.is_calm(), "worker {worker} will never look again");
                countdown.numbers[0].load(Ordering::Relaxed) == 0
            });
            seen.lock().unwrap().insert(ends);
        });
        let seen = seen.lock().unwrap();
        assert!(
            (0..2).all(|worker| [false, true].iter().all(|how| seen.iter().any(|ends| ends[worker] == *how))),
            "{seen:?}"
        );
    }
}
