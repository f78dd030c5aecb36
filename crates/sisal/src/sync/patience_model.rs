//! Patience in the models, which know no time: it is over at once, or never, as the model says.

use std::cell::Cell;

thread_local! {
    /// The threads of a model are all run by the thread of its test.
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
}

/// Says whether the patience of everybody in the models of this test is over at once.
pub(super) fn set_over(over: bool) {
    IS_OVER.set(over);
}

#[derive(Copy, Clone)]
pub(super) struct Patience;

impl Patience {
    pub(super) fn begin() -> Patience {
        Patience
    }

    pub(super) fn is_over(self) -> bool {
        IS_OVER.get()
    }
}
