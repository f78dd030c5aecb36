//! Children that sleep until their nursery is cancelled.

use crate::common::waits::cause;
use crate::common::{LONG, until};
use sisal::{Cause, Nursery, sleep, yield_now};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The result of a nursery in which nothing fails.
pub(crate) type Sure<T> = Result<T, Infallible>;

pub(crate) const SHORT: Duration = Duration::from_millis(2);

/// Children that have started, and count the ends of their waits that had the cause they should.
pub(crate) struct Sleepers {
    expected: Cause,
    started: AtomicUsize,
    ended: AtomicUsize,
}

impl Sleepers {
    pub(crate) const COUNT: usize = 4;

    pub(crate) fn expecting(expected: Cause) -> Sleepers {
        Sleepers { expected, started: AtomicUsize::new(0), ended: AtomicUsize::new(0) }
    }

    pub(crate) fn spawn_into<'scope>(&'scope self, n: &'scope Nursery<'scope, '_, Infallible>) {
        for _ in 0..Sleepers::COUNT {
            n.spawn(|| self.sleep());
        }
        self.until_all_started();
    }

    pub(crate) fn until_all_started(&self) {
        until(|| self.started.load(Ordering::Relaxed) == Sleepers::COUNT);
    }

    /// Waits until all have been told, without a wait that could be cancelled.
    pub(crate) fn until_all_ended(&self) {
        until(|| self.ended.load(Ordering::Relaxed) == Sleepers::COUNT);
    }

    pub(crate) fn sleep(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        assert_eq!(cause(sleep(LONG)), Some(self.expected));
        assert_eq!(cause(sleep(LONG)), Some(self.expected), "and again");
        yield_now();
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that all have been told, and have ended.
    pub(crate) fn were_told(&self) {
        assert_eq!(self.all_started_were_told(), Sleepers::COUNT);
    }

    /// Checks it of those that were started, and says how many that were.
    pub(crate) fn all_started_were_told(&self) -> usize {
        let (started, ended) = (self.started.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
        assert_eq!(started, ended);
        started
    }
}

/// Tries with more and more time, until it was long enough for what is to start in it.
pub(crate) fn with_enough_time(attempt: impl Fn(Duration) -> bool) {
    let mut time = SHORT;
    while !attempt(time) {
        time *= 2;
    }
}
