//! Waits that nothing from outside ends, and asking whether something would.

use crate::park::scope;
use crate::prim::cancel::Cancelled;

/// Calls `f`, shielded from everything that ends waits from outside: enclosing [`timeout`](crate::timeout)s and nurseries, requests,
/// the end of the runtime, an unwinding. What is to end the waits inside has to be inside, too. It holds for the children of nurseries inside and for the
/// halves of forks, as deep as they go; not for fibers that are [spawned](crate::spawn()) for themselves.
///
/// For what must be done even when everything is to end, and will be done soon: the runtime waits for it.
///
/// ```
/// use std::time::{Duration, Instant};
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded(0);
///     sisal::spawn(move || receiver.recv());
///     sisal::deadline(Instant::now(), || {
///         assert!(sisal::sleep(Duration::from_secs(3600)).is_err());
///         // The last words are still said.
///         sisal::shield(|| sender.send("good bye")).unwrap();
///     });
/// });
/// ```
pub fn shield<T>(f: impl FnOnce() -> T) -> T {
    scope::shielded(f)
}

/// Whether a wait that can be cancelled would be, here and now. For code that computes for long without waiting.
///
/// # Errors
/// [`Cancelled`], with the cause, if it would.
///
/// ```
/// use std::time::{Duration, Instant};
/// assert!(sisal::check_cancelled().is_ok());
/// let rounds = sisal::timeout(Duration::from_millis(2), || {
///     (0u64..).take_while(|_| sisal::check_cancelled().is_ok()).count()
/// });
/// assert!(rounds > 0);
/// ```
pub fn check_cancelled() -> Result<(), Cancelled> {
    scope::check()
}
