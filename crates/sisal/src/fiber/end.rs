//! The end word of a fiber: whether it is done, who waits for that, and who frees the control block.
//!
//! # The word
//! ```text
//!   63                          3    2         1     0
//!  ┌─────────────────────────────┬──────────┬──────┬────────┐
//!  │ first waiter, or null       │ DETACHED │ DONE │ LOCKED │
//!  └─────────────────────────────┴──────────┴──────┴────────┘
//! ```
//! - LOCKED guards the list of waiters, for a few instructions at a time. Never set together with DONE.
//! - DONE: the outcome is written. The fiber's worker touches the control block no more, except if DETACHED came first.
//! - DETACHED: there is no handle any more, hence no waiter either.
//!
//! # Protocol
//! - *Finish* (the fiber's worker, once): the outcome is in place. Without waiters: one CAS from empty to DONE. Else lock;
//!   claim every waiter that still can be, chaining the winners; swap the word to DONE, which unlocks; unpark the chain.
//!   A waiter claimed by this stays in its frame until unparked, so the chain may be walked after the swap.
//! - *Enlist* (a joiner): lock; if DONE there is nothing to wait for; else link the record; unlock.
//! - *Delist* (a joiner whose wait ended otherwise): lock; if DONE the list is gone; else unlink; unlock.
//! - *Await* (a task that polls the handle): as enlist, with a record on the heap that belongs to whoever unparks it. There is at most
//!   one that the handle itself has put here; when it is polled again, it is found, and its waker exchanged. (Shared handles have one
//!   each, and take it off when they go.)
//! - *Detach* (the only handle, when dropped): take off the record of a task, if there is one, and drop it. Set DETACHED. If DONE was there, the handle frees the block. Else the finish
//!   will find DETACHED, and the worker frees it.
//!
//! Why no joiner sleeps for ever: enlist and finish both go through the lock bit. If enlist comes first, finish finds the
//! record; if finish comes first, enlist finds DONE. Why the block is freed once: DONE and DETACHED are set in one word by
//! one exchange each, and the later of the two frees.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock bit")]

use super::waiter::{ClaimToken, Identity, Waiter};
use crate::prim::atomic::{AtomicUsize, Backoff, Ordering};
use crate::prim::fork;
use std::ptr::{self, NonNull};

const LOCKED: usize = 1;
const DONE: usize = 2;
const DETACHED: usize = 4;
const FLAGS: usize = LOCKED | DONE | DETACHED;

/// See the [module](self).
pub(crate) struct EndWord<P> {
    word: AtomicUsize,
    waiters: std::marker::PhantomData<*const Waiter<P>>,
}

// SAFETY: the pointers in the word are used only under its lock bit, and a record may be claimed from any thread.
unsafe impl<P: Send + Sync> Sync for EndWord<P> {}
// SAFETY: as above.
unsafe impl<P: Send + Sync> Send for EndWord<P> {}

/// Who frees the control block of a fiber that is done.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Freeing {
    /// The caller, now.
    Mine,
    /// Somebody else, perhaps already: the caller must not touch it.
    Theirs,
}

impl<P: Identity> EndWord<P> {
    pub(crate) fn new() -> EndWord<P> {
        EndWord { word: AtomicUsize::new(0), waiters: std::marker::PhantomData }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `finish`: the outcome can be read.
        self.word.load(Ordering::Acquire) & DONE != 0
    }

    /// Whether the handle was dropped before the end.
    #[inline]
    pub(crate) fn is_detached(&self) -> bool {
        self.word.load(Ordering::Relaxed) & DETACHED != 0
    }

    /// The fiber is done. Every joiner is claimed and handed to `unpark`.
    #[inline]
    pub(crate) fn finish(&self, unpark: impl FnMut(ClaimToken<P>)) -> Freeing {
        // ORDERING: Release pairs with the Acquire in `is_done` and `detach`: the outcome is written before.
        match self.word.compare_exchange(0, DONE, Ordering::Release, Ordering::Acquire) {
            Ok(_) => Freeing::Theirs,
            // ORDERING: the Acquire pairs with the Release in `detach`: the handle's last uses come before the freeing.
            Err(DETACHED) => Freeing::Mine,
            Err(_) => self.finish_with_waiters(unpark),
        }
    }

    #[cold]
    fn finish_with_waiters(&self, mut unpark: impl FnMut(ClaimToken<P>)) -> Freeing {
        let locked = self.lock().unwrap_or_else(|| unreachable!("INVARIANT: a fiber is done once"));
        let mut chain = claim_all(pointer(locked));
        // ORDERING: Release pairs with the Acquire in `is_done`, `lock` and `detach`; Acquire with the Release of `detach`.
        let before = self.word.swap(DONE, Ordering::AcqRel);
        while let Some(waiter) = chain {
            // SAFETY: a claimed waiter keeps its frame until it is unparked, which is done below, after the last use.
            let (next, who) = unsafe { (waiter.as_ref().next(), waiter.as_ref().claimant()) };
            chain = next;
            unpark(who);
        }
        if before & DETACHED != 0 { Freeing::Mine } else { Freeing::Theirs }
    }

    /// Adds a joiner; false if the fiber is done already.
    ///
    /// # Safety
    /// The record stays where it is until it was claimed by [`finish`](Self::finish) and unparked, or was
    /// [delisted](Self::delist).
    #[must_use]
    pub(crate) unsafe fn enlist(&self, waiter: &Waiter<P>) -> bool {
        let Some(locked) = self.lock() else { return false };
        let first = pointer(locked);
        waiter.set_next(first);
        waiter.set_previous(None);
        if let Some(first) = first {
            // SAFETY: records in the list are alive, by the promise made when they came; we hold the lock.
            unsafe { first.as_ref() }.set_previous(Some(NonNull::from(waiter)));
        }
        self.unlock(locked, Some(NonNull::from(waiter)));
        true
    }

    /// Takes a joiner off, if it still stands here.
    pub(crate) fn delist(&self, waiter: &Waiter<P>) {
        if let Some(locked) = self.lock() {
            self.unlink(locked, waiter);
        }
    }

    /// Takes a joiner off that stands here, and gives the lock bit back.
    fn unlink(&self, locked: usize, waiter: &Waiter<P>) {
        let (previous, next) = (waiter.previous(), waiter.next());
        if let Some(next) = next {
            // SAFETY: records in the list are alive; we hold the lock.
            unsafe { next.as_ref() }.set_previous(previous);
        }
        let first = match previous {
            Some(previous) => {
                // SAFETY: as above.
                unsafe { previous.as_ref() }.set_next(next);
                pointer(locked)
            }
            None => next,
        };
        self.unlock(locked, first);
    }

    /// What `look` finds in the list, none if nothing, or if the fiber is done.
    pub(crate) fn find<R>(&self, mut look: impl FnMut(&P) -> Option<R>) -> Option<R> {
        let locked = self.lock()?;
        // SAFETY: the record is linked; we hold the lock.
        let found = records(pointer::<P>(locked)).find_map(|record| look(unsafe { record.who() }));
        self.unlock(locked, pointer(locked));
        found
    }

    /// Takes a joiner off whose record is not in a frame, if it still stands here; then it is the caller's.
    #[cold]
    pub(crate) fn take(&self, wanted: impl Fn(&P) -> bool) -> Option<P> {
        let locked = self.lock()?;
        // SAFETY: the record is linked; we hold the lock.
        let found = records(pointer::<P>(locked)).find(|record| wanted(unsafe { record.who() }));
        let Some(record) = found else {
            self.unlock(locked, pointer(locked));
            return None;
        };
        // SAFETY: as above.
        let who = unsafe { record.who() }.clone();
        self.unlink(locked, record);
        Some(who)
    }

    /// The only handle goes, and takes along the record of a task, if it has put one here: that is handed to `forget`.
    #[inline]
    pub(crate) fn detach(&self, forget: impl FnOnce(P)) -> Freeing {
        if self.word.load(Ordering::Relaxed) & !FLAGS != 0
            && let Some(task) = self.take(|_| true)
        {
            forget(task);
        }
        // ORDERING: Acquire pairs with the Release in `finish`: what the fiber wrote comes before its freeing. Release pairs
        // with the Acquire in `finish`: what the handle did comes before the worker frees.
        let before = self.word.fetch_or(DETACHED, Ordering::AcqRel);
        if before & DONE != 0 { Freeing::Mine } else { Freeing::Theirs }
    }

    /// Takes the lock bit; none if the fiber is done. Returns the word as it was before.
    fn lock(&self) -> Option<usize> {
        let mut backoff = Backoff::new();
        loop {
            // ORDERING: Acquire pairs with the Release in `finish`, if that is past.
            let word = self.word.load(Ordering::Acquire);
            if word & DONE != 0 {
                return None;
            }
            // ORDERING: Acquire pairs with the Release in `unlock`: the links are as the last holder left them.
            if word & LOCKED == 0
                && self.word.compare_exchange(word, word | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Some(word);
            }
            // There whoever has it may be a thread that does not exist.
            fork::refuse_in_child();
            backoff.pause();
        }
    }

    /// Gives the lock bit back. A handle exists, so nobody detaches meanwhile, and the word is as we left it.
    fn unlock(&self, locked: usize, first: Option<NonNull<Waiter<P>>>) {
        let word = first.map_or(0, |first| first.as_ptr().expose_provenance()) | (locked & FLAGS & !LOCKED);
        // ORDERING: Release pairs with the Acquire in `lock`.
        self.word.store(word, Ordering::Release);
    }
}

fn pointer<P>(word: usize) -> Option<NonNull<Waiter<P>>> {
    NonNull::new(ptr::with_exposed_provenance_mut(word & !FLAGS))
}

/// The records of a list, whose lock is held.
fn records<'a, P: Identity + 'a>(first: Option<NonNull<Waiter<P>>>) -> impl Iterator<Item = &'a Waiter<P>> {
    // SAFETY: records in the list are alive, and the caller holds the lock.
    std::iter::successors(first.map(|first| unsafe { first.as_ref() }), |record| {
        // SAFETY: as above.
        record.next().map(|next| unsafe { next.as_ref() })
    })
}

/// Claims the waiters of a list that can be, and chains them, oldest first, by their `next` links.
fn claim_all<P: Identity>(mut list: Option<NonNull<Waiter<P>>>) -> Option<NonNull<Waiter<P>>> {
    let mut chain = None;
    while let Some(waiter) = list {
        // SAFETY: records in the list are alive and the caller holds the lock.
        let record = unsafe { waiter.as_ref() };
        list = record.next();
        // SAFETY: linked, under the lock.
        if unsafe { record.claim_in_place() } {
            record.set_next(chain);
            chain = Some(waiter);
        }
    }
    chain
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use crate::fiber::waiter::{Wait, Woken};

    fn finish(end: &EndWord<u32>) -> (Vec<u32>, Freeing) {
        let mut woken = Vec::new();
        let freeing = end.finish(|token| woken.push(token.0));
        (woken, freeing)
    }

    #[test]
    fn every_joiner_that_is_still_there_is_woken_in_order() {
        let end = EndWord::new();
        let waits: Vec<Wait<u32>> = (0..5).map(Wait::new).collect();
        let waiters: Vec<Waiter<u32>> = waits.iter().map(|wait| Waiter::new(wait, 0)).collect();
        // SAFETY: the records live to the end of the test.
        assert!(waiters.iter().all(|waiter| unsafe { end.enlist(waiter) }));
        end.delist(&waiters[0]);
        end.delist(&waiters[3]);
        let _token = waits[2].claim(Woken::Deadline).unwrap();
        assert_eq!(finish(&end), (vec![1, 4], Freeing::Theirs));
        assert_eq!(waits[1].woken(), Some(Woken::Object(0)));
        assert_eq!(waits[2].woken(), Some(Woken::Deadline));
        end.delist(&waiters[2]);
        // SAFETY: as above.
        assert!(!unsafe { end.enlist(&waiters[0]) });
    }

    #[test]
    fn the_later_of_end_and_detach_frees() {
        let end = EndWord::<u32>::new();
        assert_eq!(end.detach(|_| ()), Freeing::Theirs);
        assert_eq!(finish(&end), (vec![], Freeing::Mine));
        let end = EndWord::<u32>::new();
        assert_eq!(finish(&end), (vec![], Freeing::Theirs));
        assert_eq!(end.detach(|_| ()), Freeing::Mine);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::fiber::waiter::{Wait, Woken};
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize as Counter;
    use std::collections::HashSet;
    use std::sync::Mutex;

    impl Identity for Arc<Counter> {
        fn is_of_thread(&self, _: crate::prim::thread_number::ThreadNumber) -> bool {
            false
        }
    }

    impl Identity for () {
        fn is_of_thread(&self, _: crate::prim::thread_number::ThreadNumber) -> bool {
            false
        }
    }

    /// Two joiners, one of which may give up, against the end: nobody who waits is forgotten, nobody is woken twice, and
    /// the outcome is seen. Reached: done before the wait, woken by the end, gave up.
    #[test]
    fn loom_join_wakes_every_joiner_once() {
        let seen: &'static Mutex<HashSet<&str>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let shared = Arc::new((EndWord::<Arc<Counter>>::new(), Counter::new(0)));
            let joiners: Vec<_> = [false, true]
                .into_iter()
                .map(|gives_up| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let unparks = Arc::new(Counter::new(0));
                        let wait = Wait::new(unparks.clone());
                        let waiter = Waiter::new(&wait, 0);
                        // SAFETY: the record is delisted, or claimed and unparked, before this closure returns.
                        if !unsafe { shared.0.enlist(&waiter) } {
                            seen.lock().unwrap().insert("done before");
                        } else if gives_up && wait.claim(Woken::Deadline).is_some() {
                            shared.0.delist(&waiter);
                            assert_eq!(unparks.load(Ordering::Relaxed), 0);
                            seen.lock().unwrap().insert("gave up");
                            return;
                        } else {
                            while unparks.load(Ordering::Acquire) == 0 {
                                loom::thread::yield_now();
                            }
                            assert_eq!(wait.woken(), Some(Woken::Object(0)));
                            seen.lock().unwrap().insert("woken");
                        }
                        assert_eq!(shared.1.load(Ordering::Relaxed), 7, "the outcome is visible");
                    })
                })
                .collect();
            shared.1.store(7, Ordering::Relaxed);
            let freeing = shared.0.finish(|token| {
                assert_eq!(token.0.fetch_add(1, Ordering::Release), 0);
            });
            assert_eq!(freeing, Freeing::Theirs);
            joiners.into_iter().for_each(|joiner| joiner.join().unwrap());
        });
        assert_eq!(seen.lock().unwrap().len(), 3);
    }

    /// The end and the drop of the handle: exactly one side frees, and both can be it.
    #[test]
    fn loom_end_and_detach_free_once() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        loom::model(move || {
            let end = Arc::new(EndWord::<()>::new());
            let handle = {
                let end = end.clone();
                loom::thread::spawn(move || end.detach(|_| ()) == Freeing::Mine)
            };
            let worker = end.finish(|_| ()) == Freeing::Mine;
            let handle = handle.join().unwrap();
            assert_ne!(handle, worker);
            seen.lock().unwrap().insert(handle);
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
}
