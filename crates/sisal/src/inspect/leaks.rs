//! Fibers that have waited for long, for nothing that comes from outside.

use super::snapshot::{FiberInfo, FiberState};
use super::survey::{Depth, survey};
use crate::fiber::flags::Outlook;
use crate::prim::reason::Reason;
use crate::spawn::Handle;
use std::time::Duration;

/// The fibers of the caller's runtime that have waited for longer than `older_than` for something that only other fibers or threads can
/// bring about: a message, a lock, an end. Sleeps, descriptors, calls that block and futures are not among it, nor is what waits inside
/// [`external_wait`](super::external_wait) or [`no_deadlock_check`](super::no_deadlock_check).
///
/// Whether somebody will ever bring it about can't be known; but a fiber that has waited for hours on a channel, while the others come and
/// go in a second, has most likely been forgotten. Those that have waited longest come first.
///
/// ```
/// use std::time::Duration;
///
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded::<u32>(1);
///     let forgotten = sisal::Builder::new().name("forgotten").spawn(move || receiver.recv());
///     sisal::sleep(Duration::from_millis(5)).unwrap();
///     let leaks = sisal::inspect::leaks(Duration::from_millis(1));
///     assert_eq!(leaks[0].name.as_deref(), Some("forgotten"));
///     drop(sender);
/// });
/// ```
pub fn leaks(older_than: Duration) -> Vec<FiberInfo> {
    let Some(handle) = Handle::current() else { return Vec::new() };
    let survey = survey(handle.shared(), Depth::Stacks);
    let age = |fiber: &FiberInfo| fiber.wait.as_ref().map_or(Duration::ZERO, |wait| wait.since);
    let mut leaks: Vec<FiberInfo> = (survey.snapshot.fibers.into_iter().zip(survey.waits))
        .filter(|(fiber, seen)| {
            fiber.state == FiberState::Parked
                && seen.outlook == Outlook::Inside
                && !seen.is_outside
                && seen.reason != Reason::Sleep
                && age(fiber) > older_than
        })
        .map(|(fiber, _)| fiber)
        .collect();
    leaks.sort_by_key(|fiber| std::cmp::Reverse(age(fiber)));
    leaks
}
