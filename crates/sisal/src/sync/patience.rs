//! How long one who waits for a mutex lets others overtake it.

use crate::prim::clock::Moment;
use std::time::Duration;

/// Short against anything a person notices, long against the time for which locks are held.
const LIMIT: Duration = Duration::from_millis(1);

/// The time since a wait began.
#[derive(Copy, Clone)]
pub(super) struct Patience(Moment);

impl Patience {
    /// A wait begins now.
    pub(super) fn begin() -> Patience {
        Patience(Moment::now())
    }

    /// Whether it has lasted too long.
    pub(super) fn is_over(self) -> bool {
        Moment::now().since(self.0) > LIMIT
    }
}
