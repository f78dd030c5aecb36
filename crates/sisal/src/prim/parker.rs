//! How a plain thread sleeps until it is unparked.
//!
//! One word: 0, or 1 when the unpark has come. Every wait of a thread gets exactly one unpark, so the thread waits for that
//! one and then resets the word. The parker is counted: an unparker may still be in the kernel when the thread goes on.

use super::atomic::{AtomicU32, Ordering};
use super::futex;
use std::time::Duration;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ThreadParker {
    unparked: AtomicU32,
}

impl ThreadParker {
    pub(crate) fn new() -> ThreadParker {
        ThreadParker { unparked: AtomicU32::new(0) }
    }

    /// Sleeps until the unpark or until `remaining` says that there is no time left; true if unparked.
    pub(crate) fn park(&self, mut remaining: impl FnMut() -> Option<Duration>) -> bool {
        loop {
            // ORDERING: Acquire pairs with the Release in `unpark`.
            if self.unparked.swap(0, Ordering::Acquire) == 1 {
                return true;
            }
            let left = remaining();
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            futex::wait(&self.unparked, 0, left);
        }
    }

    pub(crate) fn unpark(&self) {
        // ORDERING: Release pairs with the Acquire in `park`.
        self.unparked.swap(1, Ordering::Release);
        futex::wake_one(&self.unparked);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;

    /// Two waits in a row, each with its unpark: none is lost, and what the unparker wrote is seen.
    #[test]
    fn loom_parker_loses_no_unpark() {
        loom::model(|| {
            let shared = Arc::new((ThreadParker::new(), AtomicU32::new(0)));
            for round in 1..=2 {
                let other = {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.1.store(round, Ordering::Relaxed);
                        shared.0.unpark();
                    })
                };
                assert!(shared.0.park(|| None));
                assert_eq!(shared.1.load(Ordering::Relaxed), round);
                other.join().unwrap();
            }
        });
    }
}
