//! What is said when a fiber panics, and what may not happen while it is said.
//!
//! std's panic hook tells the thread's name, which is a worker's. This one adds the fiber's, then lets the hook that was
//! there before speak. It is installed once, when the first runtime starts; a hook set later replaces both.
//!
//! Nothing may park inside a panic hook: std counts a panic in progress on this thread, and another fiber's panic would
//! then abort the process. So while the hook runs, the thread is in no fiber, and blocking calls block it.

use super::current;
use super::info::Fiber;
use std::io::{self, Write};
use std::panic;
use std::sync::Once;

/// Installs the hook, once per process.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    if std::thread::panicking() {
        // A runtime that is started by a destructor: std does not let hooks be changed now. The next one installs it.
        return;
    }
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            current::with(|current| {
                let fiber = current.fiber.get();
                current.as_nobody(|| {
                    if let Some(fiber) = fiber {
                        // If nobody reads this any more, that is no second panic, which would end the process.
                        let _ = writeln!(io::stderr(), "sisal: panic in {}", Fiber::of(&fiber));
                    }
                    before(info);
                });
            });
        }));
    });
}
