//! Opening a nursery: its body, its end, and what comes of it.
#![allow(unsafe_code, reason = "the nursery's node and runtime are reached by pointer")]

use super::inside::Nursery;
use super::policy::{Errors, Payload, Policy};
use crate::park::scope::{Entry, within};
use crate::prim::clock::Moment;
use crate::prim::drop_quietly::drop_quietly;
use crate::prim::reason::Place;
use crate::sched::worker;
use crate::signal;
use crate::spawn::Handle;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// How a nursery is to be.
pub(super) struct Plan {
    pub(super) runtime: Option<Handle>,
    pub(super) expiry: Moment,
    pub(super) policy: Policy,
    pub(super) ends_on_signals: bool,
    pub(super) name: Option<Box<str>>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { runtime: None, expiry: Moment::NEVER, policy: Policy::EndWithFirst, ends_on_signals: false, name: None }
    }
}

/// Opens a nursery: calls `f` with it, and returns when `f` and all children spawned into it have ended. So they may borrow from the
/// caller.
///
/// The first error that `f` or a child returns cancels the others: their waits return [`Cancelled`](crate::Cancelled) with
/// [`Cause::Failure`](crate::Cause::Failure), and those that have not started never run. When all have ended, it is returned. A
/// panic does the same, and goes on here; if both the body and a child panic, it is the body's. If nothing fails, what `f` returned
/// is returned.
///
/// Children inherit what ends waits here: an enclosing [`timeout`](crate::timeout), nursery or token. The wait for their end is not
/// cancelled by anything; they are. (Fibers that they [`spawn`](crate::spawn()) for themselves are not waited for, and inherit nothing.
/// Fiber-locals of a child are dropped when its fiber ends, which may be a moment later than the nursery.)
///
/// For more, see [`Nursery::options`].
///
/// # Errors
/// The first error of `f` or a child. (A child that only ever fails has to say of what type its values would be: `Err::<(), _>(error)`.)
///
/// # Panics
/// If `f` or a child does, whatever errors there were. So does a value that nobody joined whose `Drop` panics.
///
/// ```
/// use std::time::Duration;
///
/// sisal::run(|| {
///     let words = ["plain", "blocking", "code"];
///     let lengths = sisal::sync::Mutex::new(Vec::new());
///     let result: Result<&str, std::num::ParseIntError> = sisal::nursery(|n| {
///         for word in &words {
///             n.spawn(|| lengths.lock().push(word.len()));
///         }
///         Ok("done")
///     });
///     assert_eq!(result, Ok("done"));
///     assert_eq!(lengths.into_inner().iter().sum::<usize>(), 17);
///
///     let result = sisal::nursery(|n| {
///         n.spawn(|| drop(sisal::sleep(Duration::from_secs(3600))));
///         n.spawn(|| "no number".parse::<u32>().map(drop));
///         Ok(())
///     });
///     assert!(result.is_err());
/// });
/// ```
#[track_caller]
pub fn nursery<'env, T, E: 'env, F>(f: F) -> Result<T, E>
where
    F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, E>) -> Result<T, E>,
{
    open(Plan::default(), Location::caller(), f).map_err(|errors| errors.first)
}

/// As [`nursery`](crate::nursery()), for the parts of a computation: all of them run unless one panics, whatever is cancelled around it.
pub(crate) fn whole_nursery_at<'env, T, F>(place: Place, f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, Infallible>) -> T,
{
    let Ok(value) = open(Plan { policy: Policy::RunAll, ..Plan::default() }, place, |nursery| Ok(f(nursery)))
        .map_err(|errors| errors.first);
    value
}

impl Handle {
    /// Opens a nursery whose children are fibers of this runtime. The body runs on the caller, which then waits: a thread blocks, a
    /// fiber parks. See [`nursery`](crate::nursery()), and for more [`NurseryOptions::runtime`](crate::NurseryOptions::runtime).
    ///
    /// # Errors
    /// The first error of `f` or a child.
    ///
    /// # Panics
    /// If `f` or a child does.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let mut numbers = [1, 2, 3];
    /// let done = runtime.handle().nursery(|n| {
    ///     for number in &mut numbers {
    ///         n.spawn(move || *number += 1);
    ///     }
    ///     Ok::<_, ()>("all incremented")
    /// });
    /// assert_eq!(done, Ok("all incremented"));
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn nursery<'env, T, E: 'env, F>(&self, f: F) -> Result<T, E>
    where
        F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, E>) -> Result<T, E>,
    {
        Nursery::options().runtime(self).run(f)
    }
}

/// Opens a nursery.
pub(super) fn open<'env, T, E: 'env, F>(plan: Plan, place: Place, f: F) -> Result<T, Errors<E>>
where
    F: for<'scope> FnOnce(&'scope Nursery<'scope, 'env, E>) -> Result<T, E>,
{
    let Plan { runtime, expiry, policy, ends_on_signals, name } = plan;
    let runtime = match &runtime {
        Some(handle) => Some(NonNull::from(handle.shared())),
        None => worker::with_current(|worker| worker.map(|worker| NonNull::from(worker.shared()))),
    };
    let signals = ends_on_signals.then(signal::cancelling);
    let entry = Entry::Below(signals.as_ref().map(signal::Listening::node));
    let is_opener_of_it = worker::with_fiber(|running| {
        let own = running.map(|(worker, _)| Arc::as_ptr(worker.shared()));
        // SAFETY: as below.
        own.is_some_and(|own| runtime.is_some_and(|runtime| ptr::eq(Arc::as_ptr(unsafe { runtime.as_ref() }), own)))
    });
    let (body, mut findings) = within(entry, expiry, |node| {
        // Of others nobody would know that the runtime has not ended.
        let are_parts = is_opener_of_it && (policy == Policy::RunAll || node.is_shielded());
        // SAFETY: the node is that of the scope we are in. The runtime is that of a handle in this frame, or of the worker of this thread,
        // which outlives all that runs on it. `end` is called below, whatever happens.
        let nursery = unsafe { Nursery::new(node, runtime, policy, name, are_parts) };
        let body = catch_unwind(AssertUnwindSafe(|| f(&nursery).map_err(|error| nursery.failed(error)).ok()));
        if body.is_err() {
            nursery.body_panicked();
        }
        (body, nursery.end(place))
    });
    drop(signals);
    let value = conclude(body, findings.take_panic());
    match (value, findings.into_errors()) {
        (_, Some(errors)) => Err(errors),
        (Some(value), None) => Ok(value),
        (None, None) => unreachable!("INVARIANT: a body that returned no value has left an error"),
    }
}

/// Goes on with the body's panic, or else a child's.
fn conclude<T>(body: Result<Option<T>, Payload>, child: Option<Payload>) -> Option<T> {
    match (body, child) {
        (Ok(value), None) => value,
        (Ok(value), Some(payload)) => {
            drop(value);
            resume_unwind(payload)
        }
        (Err(payload), child) => {
            child.into_iter().for_each(drop_quietly);
            resume_unwind(payload)
        }
    }
}
