//! Waiting for several fibers.
#![allow(unsafe_code, reason = "one wait stands in the lists of several fibers")]

use super::error::{JoinError, Lost, RaceError};
use super::handle::JoinHandle;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::cancel::Cancelled;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use crate::sched::fuel::pay_fuel;
use std::panic::Location;

/// Joins all; the results stand in the order of the handles.
///
/// ```
/// sisal::run(|| {
///     let all = sisal::join_all((0..4).map(|i| sisal::spawn(move || i * i)));
///     let squares: Vec<i32> = all.into_iter().map(Result::unwrap).collect();
///     assert_eq!(squares, [0, 1, 4, 9]);
/// });
/// ```
#[track_caller]
pub fn join_all<T>(handles: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<Result<T, JoinError>> {
    let place = Location::caller();
    // All are spawned before the first is waited for.
    let handles: Vec<JoinHandle<T>> = handles.into_iter().collect();
    handles.into_iter().map(|handle| handle.join_at(place)).collect()
}

/// Waits for the first fiber to end, takes its handle out of `handles` and returns where it stood and what came of it.
/// None if there are no handles.
///
/// Called again and again it gives the results as the fibers end; of several that have ended by then, the first in `handles`.
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let sleep = |ms| sisal::spawn(move || sisal::sleep(Duration::from_millis(ms)).map(|()| ms));
///     let mut handles = vec![sleep(3_600_000), sleep(1)];
///     let (index, result) = sisal::join_any(&mut handles).unwrap();
///     assert_eq!((index, result.unwrap()), (1, Ok(1)));
///     assert_eq!(handles.len(), 1);
///     handles[0].cancel();
/// });
/// ```
#[track_caller]
pub fn join_any<T>(handles: &mut Vec<JoinHandle<T>>) -> Option<(usize, Result<T, JoinError>)> {
    join_any_at(handles, Location::caller())
}

fn join_any_at<T>(handles: &mut Vec<JoinHandle<T>>, place: Place) -> Option<(usize, Result<T, JoinError>)> {
    if handles.is_empty() {
        return None;
    }
    Some(match wait_for_any(handles, place) {
        Ok(index) => (index, handles.remove(index).take_outcome()),
        Err(cancelled) => {
            // Whoever asks again and again has to let others have a turn.
            pay_fuel(place);
            (0, Err(JoinError::Interrupted(cancelled)))
        }
    })
}

/// Those of which one is waited for.
struct Any<'a, T>(&'a [JoinHandle<T>]);

impl<T> Watched for Any<'_, T> {
    fn sight(&self) -> Sight {
        let ends = self.0.iter().map(|handle| (Reason::JoinAny, Object::of(&*handle.fiber())));
        Sight { parts: ends.collect(), ..Sight::new("select") }
    }
}

fn wait_for_any<T>(handles: &[JoinHandle<T>], place: Place) -> Result<usize, Cancelled> {
    if let Some(index) = handles.iter().position(JoinHandle::is_finished) {
        pay_fuel(place);
        return Ok(index);
    }
    let wait = Wait::new(park::me());
    let waiters: Vec<Waiter<Who>> = (0..).take(handles.len()).map(|number| Waiter::new(&wait, number)).collect();
    let places = || handles.iter().map(|handle| handle.fiber()).zip(&waiters);
    // SAFETY: the records stay until they were delisted below, except those of fibers that are done, whose lists are gone.
    let done = places().position(|(fiber, waiter)| !unsafe { fiber.end.enlist(waiter) });
    let woken = match done {
        // One was done before all were enlisted: the wait is over before it began, unless another has claimed it already.
        Some(index) if wait.claim_own(Woken::Object(index as u32)) => Woken::Object(index as u32),
        _ => {
            let any = Any(handles);
            let object = Object::of(&any);
            park::park(&wait, &Waiting { reason: Reason::JoinAny, object, place, deadline: None, cancellable: true })
        }
    };
    for (fiber, waiter) in places().take(done.unwrap_or(handles.len())) {
        fiber.end.delist(waiter);
    }
    match woken {
        Woken::Object(index) => Ok(index as usize),
        Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
        Woken::Deadline => unreachable!("INVARIANT: a join has no deadline"),
    }
}

/// Waits for the first fiber to succeed and returns its value. The others go on, without their handles.
///
/// # Errors
/// See [`RaceError`]: if none succeeds, how each of them ended.
///
/// ```
/// sisal::run(|| {
///     let runners = vec![sisal::spawn(|| Err("fell")), sisal::spawn(|| Ok(7)), sisal::spawn(|| Err("tired"))];
///     assert_eq!(sisal::race(runners).unwrap(), 7);
/// });
/// ```
#[track_caller]
pub fn race<T, E>(handles: Vec<JoinHandle<Result<T, E>>>) -> Result<T, RaceError<E>> {
    let place = Location::caller();
    let mut handles = handles;
    let mut lost = Vec::with_capacity(handles.len());
    while let Some((_, result)) = join_any_at(&mut handles, place) {
        match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => lost.push(Lost::Failed(error)),
            Err(JoinError::Interrupted(cancelled)) => return Err(RaceError::Interrupted(cancelled)),
            Err(error) => lost.push(Lost::NoResult(error)),
        }
    }
    Err(RaceError::AllLost(lost))
}
