//! Fairness in the models, which know no time: the lock is always given, or never, as the model says; with shuttle, at random.

use crate::prim::checker::random;
use crate::prim::clock::Moment;
use std::cell::Cell;

thread_local! {
    /// The threads of a model are all run by the thread of its test.
    static IS_DUE: Cell<bool> = const { Cell::new(false) };
}

/// Says whether the first who waits is always due, for the models of the calling test.
#[cfg(test)]
pub(super) fn set_due(due: bool) {
    IS_DUE.set(due);
}

pub(super) struct Fairness;

impl Fairness {
    pub(super) const fn new() -> Fairness {
        Fairness
    }

    pub(super) fn is_due(&mut self, _came: Moment) -> bool {
        IS_DUE.get() || random() % 2 == 1
    }
}
