//! Panics of fibers that nobody has received: each is counted once, when it is dropped, by whoever does that.
//!
//! A fiber ends, its handle is dropped, and either may come first. The panic itself is dropped once in any order, unless somebody takes
//! what it carries: so it carries its counter along, too, and may outlive the runtime.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a fiber has panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

/// How many panics of a runtime's fibers were dropped unseen.
#[derive(Default)]
pub(crate) struct UnseenPanics(AtomicU64);

impl UnseenPanics {
    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in the drop of a `KeptPanic`: who sees it counted here sees it counted as a panic.
        self.0.load(Ordering::Acquire)
    }
}

/// A panic that is kept for whoever asks.
pub(crate) struct KeptPanic {
    /// None if it was received.
    payload: Option<Payload>,
    /// Somebody has a copy.
    is_seen: AtomicBool,
    unseen: Arc<UnseenPanics>,
}

impl KeptPanic {
    /// On the heap: the place for outcomes is small.
    #[cold]
    pub(super) fn new(payload: Payload, unseen: &Arc<UnseenPanics>) -> Box<KeptPanic> {
        Box::new(KeptPanic { payload: Some(payload), is_seen: AtomicBool::new(false), unseen: Arc::clone(unseen) })
    }

    /// Hands it over.
    pub(crate) fn receive(mut self) -> Payload {
        self.payload.take().unwrap_or_else(|| unreachable!("INVARIANT: only this takes it, with all the rest"))
    }

    /// Shows it to one of many.
    pub(crate) fn show(&self) -> &(dyn Any + Send) {
        // ORDERING: Relaxed; it is dropped when nobody can call this any more.
        self.is_seen.store(true, Ordering::Relaxed);
        self.payload.as_deref().unwrap_or_else(|| unreachable!("INVARIANT: taken only with all the rest"))
    }
}

impl Drop for KeptPanic {
    fn drop(&mut self) {
        if self.payload.is_some() && !*self.is_seen.get_mut() {
            // ORDERING: Release pairs with the Acquire of `get`.
            self.unseen.0.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_counts_when_it_is_dropped_and_nobody_has_seen_it() {
        let unseen = Arc::new(UnseenPanics::default());
        let kept = || KeptPanic::new(Box::new("on purpose"), &unseen);
        assert_eq!(*kept().receive().downcast::<&str>().unwrap(), "on purpose");
        let shown = kept();
        assert_eq!(shown.show().downcast_ref(), Some(&"on purpose"));
        drop(shown);
        assert_eq!(unseen.get(), 0);
        drop(kept());
        assert_eq!(unseen.get(), 1);
    }
}
