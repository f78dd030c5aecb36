//! A beat.

use super::sleep_to;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use std::panic::Location;
use std::time::{Duration, Instant};

/// A beat: every [`tick`](Self::tick) returns at the next multiple of the period. Made by [`interval`].
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let mut beat: sisal::Interval = sisal::interval(Duration::from_millis(2));
///     let (one, two) = (beat.tick().unwrap(), beat.tick().unwrap());
///     assert!(two - one >= beat.period());
/// });
/// ```
#[derive(Debug)]
pub struct Interval {
    start: Instant,
    period: Duration,
    /// How many periods after the start the last tick was.
    beats: u128,
}

/// A beat of the given period, from now on.
///
/// # Panics
/// If the period is zero.
///
/// ```
/// use std::time::{Duration, Instant};
/// sisal::run(|| {
///     let start = Instant::now();
///     let mut beat = sisal::interval(Duration::from_millis(2));
///     for _ in 0..3 {
///         beat.tick().unwrap();
///     }
///     assert!(start.elapsed() >= Duration::from_millis(6));
/// });
/// ```
pub fn interval(period: Duration) -> Interval {
    assert!(!period.is_zero(), "sisal: an interval needs a period greater than zero");
    Interval { start: Instant::now(), period, beats: 0 }
}

impl Interval {
    /// Waits for the next beat and returns when it was. Beats that passed meanwhile are skipped; later ones don't shift.
    ///
    /// # Errors
    /// [`Cancelled`] if something from outside ends the wait; the beat is not lost by that.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let mut beat = sisal::interval(Duration::from_millis(2));
    ///     let first = beat.tick().unwrap();
    ///     assert!(beat.tick().unwrap() >= first + Duration::from_millis(2));
    /// });
    /// ```
    #[track_caller]
    pub fn tick(&mut self) -> Result<Instant, Cancelled> {
        let place = Location::caller();
        let past = self.start.elapsed().as_nanos() / self.period.as_nanos();
        let next = past.max(self.beats) + 1;
        let nanos = u64::try_from(next * self.period.as_nanos()).unwrap_or(u64::MAX);
        let at = self.start.checked_add(Duration::from_nanos(nanos));
        sleep_to(at.map_or(Moment::NEVER, Moment::of), place)?;
        self.beats = next;
        Ok(at.unwrap_or(self.start))
    }

    /// The time from one beat to the next.
    ///
    /// ```
    /// use std::time::Duration;
    /// assert_eq!(sisal::interval(Duration::from_millis(2)).period(), Duration::from_millis(2));
    /// ```
    pub fn period(&self) -> Duration {
        self.period
    }
}
