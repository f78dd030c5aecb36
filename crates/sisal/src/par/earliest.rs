//! What a loop looks for, and whether it is worth going on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What was found at the earliest position so far.
pub(super) struct Earliest<T> {
    /// Where that is. (Relaxed: whoever sees it late looks at some items more.)
    position: AtomicUsize,
    found: Mutex<Option<(usize, T)>>,
}

impl<T> Earliest<T> {
    pub(super) fn new() -> Earliest<T> {
        Earliest { position: AtomicUsize::new(usize::MAX), found: Mutex::new(None) }
    }

    /// Whether something was found, wherever.
    pub(super) fn is_found(&self) -> bool {
        self.position.load(Ordering::Relaxed) != usize::MAX
    }

    /// Whether something was found before this position.
    pub(super) fn is_before(&self, position: usize) -> bool {
        self.position.load(Ordering::Relaxed) < position
    }

    /// Something was found.
    pub(super) fn offer(&self, position: usize, item: T) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = match &*found {
            Some((earlier, _)) if *earlier < position => Some((position, item)),
            _ => {
                self.position.store(position, Ordering::Relaxed);
                found.replace((position, item))
            }
        };
        drop(found);
        drop(surplus);
    }

    pub(super) fn into_inner(self) -> Option<T> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, item)| item)
    }
}
