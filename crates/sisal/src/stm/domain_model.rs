//! What all transactions of one run of a model share: the models' atomics can't outlive it.

use super::clock::Clock;
use super::gate::Gate;
use crate::prim::checker;

checker::lazy_static! {
    static ref CLOCK: Clock = Clock::new();
    static ref GATE: Gate = Gate::new();
}

pub(super) fn clock() -> &'static Clock {
    &CLOCK
}

pub(super) fn gate() -> &'static Gate {
    &GATE
}
