//! Which of our objects have the same file behind them.
//!
//! `O_NONBLOCK` belongs to the open file. One of several that is given away must not take it from those that stay: they would block their
//! workers in the kernel, where nothing ends that.

use std::sync::{Arc, OnceLock};

/// What an object has in common with its clones. Costs nothing as long as there are none.
#[derive(Default)]
pub(crate) struct Kin(OnceLock<Arc<()>>);

impl Kin {
    /// For a clone of the object.
    pub(crate) fn share(&self) -> Kin {
        Kin(OnceLock::from(Arc::clone(self.0.get_or_init(Arc::default))))
    }

    /// Whether there has ever been a clone.
    #[inline]
    pub(crate) fn was_shared(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether there is one now. (One that is being made or dropped by somebody else may or may not count.)
    pub(crate) fn has_others(&self) -> bool {
        self.0.get().is_some_and(|all| Arc::strong_count(all) > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_know_of_each_other() {
        let first = Kin::default();
        assert!(!first.was_shared() && !first.has_others());
        let second = first.share();
        let third = second.share();
        drop(second);
        assert!(first.has_others() && third.has_others());
        drop(first);
        assert!(third.was_shared() && !third.has_others());
    }
}
