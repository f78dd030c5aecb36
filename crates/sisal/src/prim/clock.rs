//! Time as one word: nanoseconds since the process first asked.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A moment, in nanoseconds since the first use of the clock in this process.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// So far away that it never comes (584 years).
    pub(crate) const NEVER: Moment = Moment(u64::MAX);

    /// Reads the clock: 29 ns on the machines this was built on, so once per batch where it can be.
    pub(crate) fn now() -> Moment {
        Moment::of(Instant::now())
    }

    pub(crate) fn of(instant: Instant) -> Moment {
        let since = instant.saturating_duration_since(base());
        Moment(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn after(self, d: Duration) -> Moment {
        Moment(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long from `earlier` to `self`; nothing if that is in the past.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}
