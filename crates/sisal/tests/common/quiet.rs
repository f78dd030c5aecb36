//! Panics on purpose say nothing: a storm of them would drown what matters, and with backtraces take minutes.

use std::panic;
use std::sync::Once;

/// What the message of a panic on purpose begins with.
const ON_PURPOSE: &str = "on purpose";

/// From now on panics on purpose are not printed with message and backtrace. The watchdog calls it before the test makes its
/// first runtime, which puts its own hook before the one that is there.
pub(super) fn panics_on_purpose() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_on_purpose = info.payload_as_str().is_some_and(|message| message.starts_with(ON_PURPOSE));
            if !is_on_purpose {
                before(info);
            }
        }));
    });
}
