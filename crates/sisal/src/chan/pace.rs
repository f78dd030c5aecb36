//! Whether it is worth it for a sender to wait for much room instead of a little.
//!
//! A sender that is woken on another thread for every single place costs more than the send. If the receiver is quick, it had better sleep
//! until half the room is free, and then fill it in one go. But a receiver that takes one item and turns to something else
//! would keep it waiting for nothing, so a sender waits like that only for [`PATIENCE`], and looks for itself then. If that is in vain, the
//! next senders wait for the first place again, as many as there were the last time, and as many again, up to
//! [`MOST`]; then it is tried once more.
//!
//! On the receiver's own thread the sender does not run before the receiver has to wait, so there is nothing to gain.
//!
//! What is kept here is a guess. Those who write it at the same time may lose each other's.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a sender waits for half the room.
pub(super) const PATIENCE: Duration = Duration::from_micros(50);
/// Fewer places are not worth it.
pub(super) const FEWEST: usize = 4;

/// How many wait for the first place before another waits for half of them, at first and at most.
const FIRST: u32 = 16;
const MOST: u32 = 4096;

/// See the [module](self).
pub(super) struct Pace {
    /// How many senders are yet to be woken on another thread for the first place.
    hasty: AtomicU32,
    /// How many will be, the next time.
    next: AtomicU32,
}

impl Pace {
    pub(super) const fn new() -> Pace {
        Pace { hasty: AtomicU32::new(FIRST), next: AtomicU32::new(FIRST) }
    }

    /// One is about to wait: whether it should be for half the room.
    pub(super) fn is_quick(&self) -> bool {
        self.hasty.load(Ordering::Relaxed) == 0
    }

    /// One is woken on another thread.
    pub(super) fn count(&self) {
        let hasty = self.hasty.load(Ordering::Relaxed);
        if hasty > 0 {
            self.hasty.store(hasty - 1, Ordering::Relaxed);
        }
    }

    /// One has waited like that: whether it was worth it.
    pub(super) fn learn(&self, was_quick: bool) {
        if was_quick {
            self.next.store(FIRST, Ordering::Relaxed);
        } else {
            let next = self.next.load(Ordering::Relaxed);
            self.hasty.store(next, Ordering::Relaxed);
            self.next.store((next * 2).min(MOST), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    fn hasty(pace: &Pace) -> u32 {
        (0..).take_while(|_| !pace.is_quick()).inspect(|_| pace.count()).count() as u32
    }

    #[test]
    fn it_is_tried_less_and_less_often_while_it_is_in_vain() {
        let pace = Pace::new();
        assert_eq!(hasty(&pace), FIRST);
        for expected in [FIRST, FIRST * 2, FIRST * 4] {
            pace.learn(false);
            assert_eq!(hasty(&pace), expected);
        }
        (0..20).for_each(|_| pace.learn(false));
        assert_eq!(hasty(&pace), MOST);
    }

    #[test]
    fn it_goes_on_while_it_is_worth_it() {
        let pace = Pace::new();
        hasty(&pace);
        pace.learn(false);
        hasty(&pace);
        pace.learn(true);
        assert_eq!(hasty(&pace), 0);
        pace.learn(false);
        assert_eq!(hasty(&pace), FIRST);
    }
}
