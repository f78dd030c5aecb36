//! Waiting for what should become so.

use std::thread;
use std::time::{Duration, Instant};

/// How long it may take. What hangs is to be told from a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Looks until there is something, and fails with what was seen instead.
#[track_caller]
pub(crate) fn until<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(start.elapsed() < LIMIT, "{seen}"),
        }
        thread::yield_now();
    }
}
