//! Children that nobody waits for. The kernel keeps an entry for each until it is collected.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

static ORPHANS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Takes a child over that nobody waits for any more.
pub(super) fn adopt(child: Child) {
    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    collect();
}

/// Collects those that have ended.
pub(super) fn collect() {
    // Whoever has the lock does it for all.
    if let Ok(mut orphans) = ORPHANS.try_lock() {
        orphans.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}
