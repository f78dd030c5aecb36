//! How a plain thread sleeps until it is unparked.
//!
//! One word of two bits. UNPARKED: the unpark has come. Every wait of a thread gets exactly one, so the thread waits for that one
//! and takes it back. POKED: somebody wants the thread to look whether its wait is to end; that may come at any time, also when
//! the wait is over, so it is only ever a hint. The parker is counted: whoever unparks or pokes may still be in the kernel when
//! the thread goes on.

use super::atomic::{AtomicU32, Ordering};
use super::futex;
use std::time::Duration;

const UNPARKED: u32 = 1;
const POKED: u32 = 2;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ThreadParker {
    word: AtomicU32,
}

/// Why a thread woke up.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Awake {
    Unparked,
    Poked,
    TimeUp,
}

impl ThreadParker {
    pub(crate) fn new() -> ThreadParker {
        ThreadParker { word: AtomicU32::new(0) }
    }

    /// Sleeps until the unpark, a poke, or until `remaining` says that there is no time left.
    pub(crate) fn park(&self, mut remaining: impl FnMut() -> Option<Duration>) -> Awake {
        loop {
            // ORDERING: Acquire pairs with the Release in `unpark` and `poke`.
            let word = self.word.fetch_and(!POKED, Ordering::Acquire);
            if word & UNPARKED != 0 {
                // Nobody else takes it back, and no second unpark comes before the next wait.
                self.word.fetch_and(!UNPARKED, Ordering::Relaxed);
                return Awake::Unparked;
            }
            if word & POKED != 0 {
                return Awake::Poked;
            }
            let left = remaining();
            if left.is_some_and(|left| left.is_zero()) {
                return Awake::TimeUp;
            }
            futex::wait(&self.word, 0, left);
        }
    }

    pub(crate) fn unpark(&self) {
        self.raise(UNPARKED);
    }

    /// Lets the thread look whether its wait is to end.
    pub(crate) fn poke(&self) {
        self.raise(POKED);
    }

    fn raise(&self, bit: u32) {
        // ORDERING: Release pairs with the Acquire in `park`.
        self.word.fetch_or(bit, Ordering::Release);
        futex::wake_one(&self.word);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;

    /// Two waits in a row, each with its unpark, and a poke at any time: no unpark is lost, and what the unparker wrote is seen.
    #[test]
    fn loom_parker_loses_no_unpark() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((ThreadParker::new(), AtomicU32::new(0)));
            let poker = {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.0.poke())
            };
            for round in 1..=2 {
                let other = {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.1.store(round, Ordering::Relaxed);
                        shared.0.unpark();
                    })
                };
                while shared.0.park(|| None) != Awake::Unparked {}
                assert_eq!(shared.1.load(Ordering::Relaxed), round);
                other.join().unwrap();
            }
            poker.join().unwrap();
        });
    }
}
