//! A locked first-in-first-out list with a length that can be read without the lock: for spawns from outside, for
//! what a full deque spills, and for what is placed with a chosen worker but may be stolen from it.
#![allow(unsafe_code, reason = "an intrusive list reaches its things by pointer")]

use super::link::Linked;
use super::list::List;
use crate::prim::atomic::{AtomicUsize, Ordering};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the [module](self).
pub(crate) struct Injector<T> {
    list: Mutex<List<T>>,
    /// INVARIANT: changed under the lock, to the length of the list.
    len: AtomicUsize,
    /// How often something was taken. Changed under the lock.
    takes: AtomicUsize,
}

impl<T: Linked + Send> Injector<T> {
    pub(crate) fn new() -> Injector<T> {
        Injector { list: Mutex::new(List::new()), len: AtomicUsize::new(0), takes: AtomicUsize::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, List<T>> {
        // A panic can't happen under this lock, so there is nothing a poisoned one could have torn.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length, as far as this thread can see.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // ORDERING: Acquire pairs with the Release in `take_share`: who sees that things are gone sees where they went.
        self.len.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number that changes with everything that is taken: whoever sees it unchanged, and something there both times, knows that
    /// the first thing has been there all the time.
    pub(crate) fn takes(&self) -> usize {
        self.takes.load(Ordering::Relaxed)
    }

    /// Calls `see` with the first things, `most` at most.
    pub(crate) fn look(&self, most: usize, see: impl FnMut(NonNull<T>)) {
        self.lock().iter().take(most).for_each(see);
    }

    /// Adds `things` at the end, in their order.
    ///
    /// # Safety
    /// Each is alive, stands in no queue, and stays alive until it is taken.
    pub(crate) unsafe fn push(&self, things: impl IntoIterator<Item = NonNull<T>>) {
        let list = self.lock();
        for thing in things {
            // SAFETY: the caller's promise.
            unsafe { list.push(thing) };
        }
        // ORDERING: Relaxed; the lock carries the things, and a producer fences before it looks for sleepers.
        self.len.store(list.len(), Ordering::Relaxed);
    }

    /// Takes a fair share for one of `sharers`, at most `most`: the first is returned, the others are handed to `rest`.
    pub(crate) fn take_share(
        &self,
        sharers: usize,
        most: usize,
        mut rest: impl FnMut(NonNull<T>),
    ) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        let list = self.lock();
        let share = (list.len() / sharers.max(1) + 1).min(most);
        let first = list.pop(|_| ());
        for _ in 1..share {
            let Some(thing) = list.pop(|_| ()) else { break };
            rest(thing);
        }
        // ORDERING: Release pairs with the Acquire in `len`.
        self.len.store(list.len(), Ordering::Release);
        self.takes.store(self.takes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        first
    }
}
