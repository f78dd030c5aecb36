//! In place of `spans`, without the feature `tracing`: there are no spans.

/// What a fiber was inside of when it left.
#[must_use = "what was left is to be entered again"]
pub(crate) struct Left;

/// Leaves all spans.
#[inline(always)]
pub(crate) fn leave() -> Left {
    Left
}

impl Left {
    /// Enters the spans again.
    #[inline(always)]
    pub(crate) fn enter_again(self) {}
}

/// Where somebody has asked for something to be run elsewhere.
pub(crate) struct Origin;

impl Origin {
    #[inline(always)]
    pub(crate) fn here() -> Origin {
        Origin
    }

    /// Calls `f`, with which something begins here.
    #[inline(always)]
    pub(crate) fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }
}
