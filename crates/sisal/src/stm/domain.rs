//! What all transactions of the process share.

use super::clock::Clock;
use super::gate::Gate;

static CLOCK: Clock = Clock::new();
static GATE: Gate = Gate::new();

#[inline]
pub(super) fn clock() -> &'static Clock {
    &CLOCK
}

#[inline]
pub(super) fn gate() -> &'static Gate {
    &GATE
}
