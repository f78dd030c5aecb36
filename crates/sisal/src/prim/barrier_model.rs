//! The pair of barriers as the models see it: a full fence on both sides, which is what it amounts to.

use super::atomic::{Ordering, fence};

/// Models of what is built on top need no biased locks: there the bias would only multiply the runs.
pub(crate) fn is_supported() -> bool {
    false
}

pub(crate) fn light() {
    // ORDERING: pairs with `heavy`.
    fence(Ordering::SeqCst);
}

pub(crate) fn heavy() {
    // ORDERING: pairs with `light`.
    fence(Ordering::SeqCst);
}
