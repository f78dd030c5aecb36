//! Waiting for a time, bounding waits by one, and giving way.

mod interval;
mod timeout;

pub use self::{
    interval::{Interval, interval},
    timeout::{deadline, timeout},
};

use crate::fiber::waiter::{Wait, Woken};
use crate::park::{self, Waiting, scope};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::fork;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::sched::worker;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Waits for `duration`: parks the fiber, or blocks the thread outside of fibers.
///
/// It never returns early but for an error. It may return up to 1/32 of the time later, at most half a millisecond, so that
/// the wake-ups of many sleepers can be shared, and later still if the fiber's worker is busy. A sleep of nothing lets other
/// fibers have a turn.
///
/// # Errors
/// [`Cancelled`] if something from outside ends the wait, also one for nothing: see [`Cause`](crate::Cause).
///
/// ```
/// use std::time::{Duration, Instant};
/// sisal::run(|| {
///     let start = Instant::now();
///     sisal::sleep(Duration::from_millis(5)).unwrap();
///     assert!(start.elapsed() >= Duration::from_millis(5));
/// });
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Result<(), Cancelled> {
    let place = Location::caller();
    if duration.is_zero() {
        return sleep_for_nothing(place);
    }
    sleep_to(Moment::now().after(duration), place)
}

/// Waits until `instant`. One that is past is a sleep of nothing. See [`sleep`].
///
/// # Errors
/// As for [`sleep`].
///
/// ```
/// use std::time::{Duration, Instant};
/// sisal::run(|| {
///     let then = Instant::now() + Duration::from_millis(5);
///     sisal::sleep_until(then).unwrap();
///     assert!(Instant::now() >= then);
/// });
/// ```
#[track_caller]
pub fn sleep_until(instant: Instant) -> Result<(), Cancelled> {
    let place = Location::caller();
    let now = Instant::now();
    if instant <= now {
        return sleep_for_nothing(place);
    }
    sleep_to(Moment::of(instant), place)
}

/// Gives way, and tells what is to end that it is: one who is always late would not hear of it otherwise.
fn sleep_for_nothing(place: Place) -> Result<(), Cancelled> {
    yield_at(place);
    scope::check()
}

fn sleep_to(deadline: Moment, place: Place) -> Result<(), Cancelled> {
    let wait = Wait::new(park::me());
    let waiting =
        Waiting { reason: Reason::Sleep, object: Object::NONE, place, deadline: Some(deadline), cancellable: true };
    match park::park_or_leave(&wait, &waiting, || ()) {
        Woken::Deadline => Ok(()),
        Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
        Woken::Object(_) => unreachable!("INVARIANT: a sleep waits for no object"),
    }
}

/// Lets other fibers of this worker have a turn; outside of fibers, other threads.
///
/// ```
/// sisal::run(|| {
///     let other = sisal::spawn_local(|| 7);
///     while !other.is_finished() {
///         sisal::yield_now();
///     }
///     assert_eq!(other.join().unwrap(), 7);
/// });
/// ```
#[track_caller]
#[inline]
pub fn yield_now() {
    yield_at(Location::caller());
}

fn yield_at(place: Place) {
    worker::with_fiber(|running| match running {
        Some((worker, me)) => worker.yield_now(me, place),
        None => {
            fork::refuse_in_child();
            std::thread::yield_now();
        }
    });
}
