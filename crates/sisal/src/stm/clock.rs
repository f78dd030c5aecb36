//! The clock of all transactions: it counts commits.

use super::stamp::Version;
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::const_fn;
use crossbeam_utils::CachePadded;

/// See the [module](self).
pub(super) struct Clock(CachePadded<AtomicU64>);

impl Clock {
    const_fn! {
        pub(super) fn new() -> Clock {
            Clock(CachePadded::new(AtomicU64::new(0)))
        }
    }

    /// What it shows: every commit up to this has made its variables busy.
    #[inline]
    pub(super) fn read(&self) -> Version {
        // ORDERING: Acquire pairs with the Release of `advance`: what was made busy before it is seen in the stamps. Else a
        // transaction could take a value that is older than its snapshot together with one that is not.
        self.0.load(Ordering::Acquire)
    }

    /// Adds one, for a commit that has made its variables busy; returns what it shows then.
    #[inline]
    pub(super) fn advance(&self) -> Version {
        // ORDERING: Release pairs with the Acquire of `read`, and with that of every later `advance`: of two commits the later
        // one sees what the earlier one has made busy. Else each could miss the other, and both succeed where only one may.
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}
