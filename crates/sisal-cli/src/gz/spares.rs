//! Things that are expensive to make, kept for the next who needs one.

use std::sync::{Mutex, PoisonError};

/// Keeps things that were used. Never more than were in use at once.
#[derive(Debug)]
pub(super) struct Spares<T> {
    kept: Mutex<Vec<T>>,
}

impl<T> Default for Spares<T> {
    fn default() -> Spares<T> {
        Spares { kept: Mutex::new(Vec::new()) }
    }
}

impl<T> Spares<T> {
    /// One that was used before, or else a new one.
    pub(super) fn take(&self, make: impl FnOnce() -> T) -> T {
        // The lock is free again before anything is made.
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(make)
    }

    pub(super) fn give_back(&self, thing: T) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(thing);
    }
}
