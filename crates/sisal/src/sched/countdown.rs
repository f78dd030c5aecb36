//! How many forks to go until a worker looks around.
//!
//! Forks come every few nanoseconds. A number that each of them reads and writes back would be a chain: the next can't count before the last
//! has, and through memory that takes as long as all else that a fork does (`tree-20-1w`: 4.4 ns a fork, and 3.5 like this). So there are several
//! numbers, and the address of a fork's frame says which is its own: forks inside of one another have different ones. The first that comes
//! to its end ends all.

use crate::prim::atomic::{AtomicU32, Ordering};

/// How many numbers there are, and how far apart the frames are that have different ones: the frame of a small function that forks.
const NUMBERS: usize = 8;
const APART: usize = 128;

/// See the [module](self). Counted by one thread; any may end it.
pub(super) struct Countdown([AtomicU32; NUMBERS]);

impl Countdown {
    /// One that has ended.
    pub(super) fn new() -> Countdown {
        Countdown([const { AtomicU32::new(0) }; NUMBERS])
    }

    /// Counts a fork whose frame is at `frame`; true if that ends the countdown. If somebody else's end is lost here, the next fork of
    /// another number finds it, or the next end comes soon.
    #[must_use]
    #[inline]
    pub(super) fn count_down(&self, frame: usize) -> bool {
        let number = &self.0[frame / APART % NUMBERS];
        let left = number.load(Ordering::Relaxed);
        if left == 0 {
            return true;
        }
        number.store(left - 1, Ordering::Relaxed);
        false
    }

    /// Begins anew: it ends after at least `forks` of them, and at most [`NUMBERS`] times as many.
    pub(super) fn begin(&self, forks: u32) {
        self.0.iter().for_each(|number| number.store(forks, Ordering::Relaxed));
    }

    /// Ends it, from any thread: the next fork finds it so.
    pub(super) fn end(&self) {
        // Looked at first: a store takes the line away from the one who counts.
        self.0
            .iter()
            .filter(|number| number.load(Ordering::Relaxed) != 0)
            .for_each(|number| number.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
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
}
