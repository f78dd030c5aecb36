//! The stamp of a variable: its version, and whether a commit is about to change it.
//!
//! # The word
//! ```text
//!   63                              1    0
//!  ┌─────────────────────────────────┬──────┐
//!  │ version: the clock at its       │ BUSY │
//!  │ last change; 0 if there was none│      │
//!  └─────────────────────────────────┴──────┘
//! ```
//! BUSY is set by a commit that is about to change the variable, and cleared by the same: together with a new version, under the
//! variable's lock, or with the old one if the commit has failed.
//!
//! ```text
//!            acquire               publish (version grows)
//!  settled ───────────▶ busy ───────────────────────────────▶ settled
//!                        └──────── release (as it was) ──────▶
//! ```

use crate::prim::atomic::{AtomicU64, Backoff, Ordering};

const BUSY: u64 = 1;

/// What the clock showed at a change.
pub(super) type Version = u64;

/// See the [module](self).
pub(super) struct Stamp(AtomicU64);

impl Stamp {
    pub(super) fn new() -> Stamp {
        Stamp(AtomicU64::new(0))
    }

    /// Whether somebody is about to change the variable.
    ///
    /// This and the next are relaxed: what makes a commit seen is the clock, or the variable's lock.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Relaxed) & BUSY != 0
    }

    /// Whether the version is this one, and nobody is about to change it.
    #[inline]
    pub(super) fn is_settled_at(&self, version: Version) -> bool {
        self.0.load(Ordering::Relaxed) == version << 1
    }

    /// The version. Under the variable's lock it is that of its value.
    #[inline]
    pub(super) fn version(&self) -> Version {
        self.0.load(Ordering::Relaxed) >> 1
    }

    /// Makes it busy, waiting for whoever has done so before; returns its version.
    pub(super) fn acquire(&self) -> Version {
        let mut backoff = Backoff::new();
        loop {
            let settled = self.0.load(Ordering::Relaxed) & !BUSY;
            // ORDERING: Acquire pairs with the Release in `settle`: whoever changed the variable before us has added to the clock
            // before we do, so its versions grow.
            if self.0.compare_exchange(settled, settled | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return settled >> 1;
            }
            backoff.pause();
        }
    }

    /// The variable has been changed. Called under its lock, by whoever made it busy.
    pub(super) fn publish(&self, version: Version) {
        debug_assert!(version > self.version(), "INVARIANT: versions grow");
        self.settle(version);
    }

    /// The variable stays as it was. Called by whoever made it busy, with the version it had then.
    pub(super) fn release(&self, version: Version) {
        debug_assert_eq!(version, self.version(), "INVARIANT: only whoever made it busy changes its version");
        self.settle(version);
    }

    fn settle(&self, version: Version) {
        debug_assert!(self.is_busy(), "INVARIANT: whoever settles it has made it busy");
        // ORDERING: Release pairs with the Acquire in `acquire`.
        self.0.store(version << 1, Ordering::Release);
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_busy_from_acquire_to_publish_or_release() {
        let stamp = Stamp::new();
        assert!(stamp.is_settled_at(0));
        assert_eq!(stamp.acquire(), 0);
        assert!(stamp.is_busy() && !stamp.is_settled_at(0));
        stamp.publish(7);
        assert!(!stamp.is_busy() && stamp.is_settled_at(7));
        assert_eq!(stamp.acquire(), 7);
        assert_eq!((stamp.is_busy(), stamp.version()), (true, 7));
        stamp.release(7);
        assert!(stamp.is_settled_at(7));
    }
}
