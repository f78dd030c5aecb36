//! Fibers that have waited for long, for nothing that comes from outside.

use super::graph;
use super::snapshot::{FiberInfo, FiberState};
use super::survey::{Depth, Seen, Survey, survey};
use crate::fiber::flags::Outlook;
use crate::prim::reason::Reason;
use crate::spawn::Handle;
use std::time::Duration;

/// The fibers of the caller's runtime that have waited for longer than `older_than` for something that only other fibers or threads can
/// bring about, and that nobody is known to have in hand: a message, a lock of one that has ended or is itself in the list, the end of one
/// that is. Waits with a deadline, sleeps, descriptors, calls that block and futures are not among it, nor is what waits inside
/// [`external_wait`](super::external_wait) or [`no_deadlock_check`](super::no_deadlock_check).
///
/// Who has the other end of a channel, or is to set an event, can't be known; but a fiber that has waited for hours on a channel, while the
/// others come and go in a second, has most likely been forgotten. Those that have waited longest come first.
///
/// ```
/// use std::time::Duration;
///
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded::<u32>(1);
///     let forgotten = sisal::Builder::new().name("forgotten").spawn(move || receiver.recv());
///     let leaks = loop {
///         let leaks = sisal::inspect::leaks(Duration::from_millis(1));
///         if !leaks.is_empty() {
///             break leaks;
///         }
///         sisal::sleep(Duration::from_millis(1)).unwrap();
///     };
///     assert_eq!(leaks[0].name.as_deref(), Some("forgotten"));
///     drop(sender);
/// });
/// ```
pub fn leaks(older_than: Duration) -> Vec<FiberInfo> {
    let Some(handle) = Handle::current() else { return Vec::new() };
    let survey = survey(handle.shared(), Depth::Stacks);
    let age = |fiber: &FiberInfo| fiber.wait.as_ref().map_or(Duration::ZERO, |wait| wait.since);
    let is_leaked = leaked(&survey, |fiber| age(fiber) > older_than);
    let mut leaks: Vec<FiberInfo> = (survey.snapshot.fibers.into_iter().zip(is_leaked))
        .filter_map(|(fiber, leaked)| leaked.then_some(fiber))
        .collect();
    leaks.sort_by_key(|fiber| std::cmp::Reverse(age(fiber)));
    leaks
}

/// For each fiber of the survey whether it is leaked, if those are that `is_old` says have waited for long.
fn leaked(survey: &Survey, is_old: impl Fn(&FiberInfo) -> bool) -> Vec<bool> {
    let (snapshot, waits) = (&survey.snapshot, &survey.waits);
    let edges = graph::edges(snapshot, waits);
    let may_be = |(fiber, seen): (&FiberInfo, &Seen)| {
        let object = seen.awaited.first().and_then(|&(_, number)| snapshot.object(number));
        fiber.state == FiberState::Parked
            && seen.outlook == Outlook::Inside
            && !seen.is_outside
            && !seen.is_limited
            && seen.reason != Reason::Sleep
            && object.is_none_or(|object| object.outsider.is_none())
            && is_old(fiber)
    };
    let mut leaked: Vec<bool> = snapshot.fibers.iter().zip(waits).map(may_be).collect();
    // Who waits for one that is not leaked is not either, and so on.
    let mut others: Vec<Others> = edges.iter().map(|edges| Others::among(edges, &leaked)).collect();
    let mut waiting_for: Vec<Vec<usize>> = vec![Vec::new(); leaked.len()];
    edges.iter().enumerate().for_each(|(place, edges)| edges.iter().for_each(|&to| waiting_for[to].push(place)));
    let mut unseen: Vec<usize> = (0..leaked.len()).filter(|&place| leaked[place]).collect();
    while let Some(place) = unseen.pop() {
        if leaked[place] && others[place].have_it_in_hand(waits[place].reason) {
            leaked[place] = false;
            for &waiter in &waiting_for[place] {
                others[waiter].leaked -= 1;
                unseen.push(waiter);
            }
        }
    }
    leaked
}

/// Those that a fiber waits for, as far as they are to be found.
struct Others {
    all: usize,
    leaked: usize,
}

impl Others {
    fn among(edges: &[usize], leaked: &[bool]) -> Others {
        Others { all: edges.len(), leaked: edges.iter().filter(|&&other| leaked[other]).count() }
    }

    /// Whether what is waited for, for this reason, is up to one that is not leaked.
    fn have_it_in_hand(&self, reason: Reason) -> bool {
        match reason {
            // The first of several ends the wait. Who they are is not looked at.
            Reason::JoinAny | Reason::Job | Reason::SpawnLimit => true,
            // One that is not to be found runs, or has not started.
            Reason::Join | Reason::Nursery => self.leaked == 0,
            // A lock without an owner to be found was left behind by one that has ended.
            _ => self.all > 0 && self.leaked == 0,
        }
    }
}
