//! Bounding everything that is called inside by a time.

use crate::park::scope::{Entry, within};
use crate::prim::clock::Moment;
use std::time::{Duration, Instant};

/// Calls `f`; from `duration` on its waits, as deep inside as they may be, return [`Cancelled`](crate::Cancelled) with
/// [`Cause::Deadline`](crate::Cause::Deadline). What `f` returns is returned, whether that happened or not.
///
/// Waits that can't be cancelled (locks, the end of a nursery) go on; so does code that does not wait, which may ask
/// [`check_cancelled`](crate::check_cancelled). Of nested timeouts the first to pass counts. Works in plain threads, too.
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
///     let received = sisal::timeout(Duration::from_millis(5), || receiver.recv());
///     assert!(matches!(received, Err(sisal::chan::RecvError::Cancelled(why)) if why.cause == sisal::Cause::Deadline));
/// });
/// ```
pub fn timeout<T>(duration: Duration, f: impl FnOnce() -> T) -> T {
    within(Entry::Below(None), Moment::now().after(duration), |_| f())
}

/// As [`timeout`], until `instant`.
///
/// ```
/// use std::time::{Duration, Instant};
/// sisal::run(|| {
///     let slept = sisal::deadline(Instant::now(), || sisal::sleep(Duration::from_secs(3600)));
///     assert_eq!(slept.unwrap_err().cause, sisal::Cause::Deadline);
/// });
/// ```
pub fn deadline<T>(instant: Instant, f: impl FnOnce() -> T) -> T {
    within(Entry::Below(None), Moment::of(instant), |_| f())
}
