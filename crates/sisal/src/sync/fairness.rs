//! When a mutex is given to the first who waits, instead of letting others overtake it.
//!
//! To give it away costs the time until that one runs, and meanwhile nobody has it. Given to a thousand fibers in turn, each of which
//! comes back at once, it would be waited for longer than the limit by everybody and for ever. So it is not given twice
//! within the limit; in between those who wait are woken to try, and those who run come first.

use crate::prim::clock::Moment;
use std::time::Duration;

/// Short against anything a person notices, long against the time for which locks are held and against a wake-up.
const LIMIT: Duration = Duration::from_millis(1);

/// See the [module](self).
pub(super) struct Fairness {
    /// When it was last given to somebody.
    given: Moment,
}

impl Fairness {
    pub(super) const fn new() -> Fairness {
        Fairness { given: Moment(0) }
    }

    /// Whether it is to be given now to one who has waited since `came`; if so, it is.
    pub(super) fn is_due(&mut self, came: Moment) -> bool {
        let now = Moment::now();
        let due = now.since(came.max(self.given)) > LIMIT;
        if due {
            self.given = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_waited_past_the_limit_is_due_and_one_per_limit() {
        let long_ago = Moment::now();
        std::thread::sleep(LIMIT * 2);
        let mut fairness = Fairness::new();
        assert!(!fairness.is_due(Moment::now()));
        assert!(fairness.is_due(long_ago));
        let given = fairness.given;
        assert!(!fairness.is_due(long_ago) || Moment::now().since(given) > LIMIT);
    }
}
