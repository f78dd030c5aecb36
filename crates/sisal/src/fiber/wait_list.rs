//! Who waits for an object, in the order they came. Every object that can be waited for has such lists, under its lock.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock of their object")]

use super::waiter::{ClaimToken, Claimed, Identity, Waiter};
use crate::prim::thread_number::{self, ThreadNumber};
use crate::queue::chain::Chain;
use std::ptr::NonNull;

/// See the [module](self). The protocol is that of [`waiter`](super::waiter).
pub(crate) struct WaitList<P>(Chain<Waiter<P>>);

impl<P> WaitList<P> {
    pub(crate) const fn new() -> WaitList<P> {
        WaitList(Chain::new())
    }
}

impl<P: Identity> WaitList<P> {
    /// Whether nobody stands here. Who does has perhaps been claimed by something else.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of those who stand here is as asked for.
    pub(crate) fn any(&self, wanted: impl FnMut(&Waiter<P>) -> bool) -> bool {
        self.0.iter().any(wanted)
    }

    /// Adds a waiter at the end.
    ///
    /// # Safety
    /// The list is under its object's lock. The waiter and its wait stay where they are until the waiter was
    /// [removed](Self::remove) under that lock, or claimed by this list and unparked.
    #[inline]
    pub(crate) unsafe fn push(&mut self, waiter: &Waiter<P>) {
        // SAFETY: the caller's promise.
        unsafe { self.0.push(waiter) };
    }

    /// Adds a waiter at the front, if it came before all who stand here, or else at the end.
    ///
    /// # Safety
    /// As for [`push`](Self::push).
    #[inline(always)]
    pub(crate) unsafe fn push_to(&mut self, front: bool, waiter: &Waiter<P>) {
        if front {
            // SAFETY: the caller's promise.
            unsafe { self.0.push_first(waiter) };
        } else {
            // SAFETY: as above.
            unsafe { self.push(waiter) };
        }
    }

    /// Takes a waiter off, if it still stands here; true if it did.
    #[inline]
    pub(crate) fn remove(&mut self, waiter: &Waiter<P>) -> bool {
        self.0.remove(waiter)
    }

    /// Claims the first whose wait has not ended, and takes it off.
    #[inline]
    pub(crate) fn claim_first(&mut self) -> Option<Claimed<P>> {
        let first = self.0.pop()?;
        // SAFETY: as below.
        if unsafe { first.as_ref().claim_if_near(thread_number::current()) } {
            // SAFETY: won just now.
            return Some(unsafe { Claimed::new(first) });
        }
        self.claim_from(first)
    }

    /// Claims the first and takes it off, if that needs no exchange of `me`, the calling thread. If not, nothing has been done.
    #[inline(always)]
    pub(crate) fn claim_first_near(&mut self, me: ThreadNumber) -> Option<Claimed<P>> {
        let first = self.0.first()?;
        // SAFETY: those who stand here are alive, since the lock is held.
        if !unsafe { first.as_ref().claim_if_near(me) } {
            return None;
        }
        // SAFETY: it is the first, and was won just now.
        unsafe {
            self.0.take_first(first);
            Some(Claimed::new(first))
        }
    }

    /// Claims `first`, which was taken off just now, or the first after it whose wait has not ended.
    #[inline(never)]
    fn claim_from(&mut self, first: NonNull<Waiter<P>>) -> Option<Claimed<P>> {
        let mut next = Some(first);
        while let Some(waiter) = next {
            // SAFETY: it stood in the list until just now, and the lock is held: one that was claimed by something else leaves its
            // frame only after it has looked here, under that lock.
            if unsafe { waiter.as_ref().claim_in_place() } {
                // SAFETY: won just now.
                return Some(unsafe { Claimed::new(waiter) });
            }
            next = self.0.pop();
        }
        None
    }

    /// As [`claim_first`](Self::claim_first), but a fiber of the calling thread's worker goes before others.
    pub(crate) fn claim_near(&mut self) -> Option<Claimed<P>> {
        loop {
            // SAFETY: those who stand here are alive, since the lock is held.
            let near = self.0.iter().find(|waiter| unsafe { waiter.is_of_this_thread() }).map(NonNull::from);
            let Some(near) = near else { return self.claim_first() };
            // SAFETY: as in `claim_first`.
            unsafe {
                self.0.remove(near.as_ref());
                if near.as_ref().claim_in_place() {
                    return Some(Claimed::new(near));
                }
            }
        }
    }

    /// Claims all whose wait has not ended, and takes them off. They are to be unparked when the lock is free again.
    pub(crate) fn claim_all(&mut self) -> ClaimedAll<P> {
        let mut all = ClaimedAll { first: None, len: 0 };
        let mut last: Option<NonNull<Waiter<P>>> = None;
        while let Some(claimed) = self.claim_first() {
            let waiter = claimed.0;
            all.len += 1;
            // SAFETY: claimed, so it stays.
            unsafe { waiter.as_ref() }.set_next(None);
            match last.replace(waiter) {
                // SAFETY: as above; out of its list, its link is ours.
                Some(last) => unsafe { last.as_ref() }.set_next(Some(waiter)),
                None => all.first = Some(waiter),
            }
        }
        all
    }
}

/// Waiters that were claimed together, in their order.
#[must_use = "claimed waiters sleep until they are unparked"]
pub(crate) struct ClaimedAll<P> {
    first: Option<NonNull<Waiter<P>>>,
    /// How many there are from the first on.
    len: usize,
}

impl<P: Identity> Iterator for ClaimedAll<P> {
    type Item = ClaimToken<P>;

    fn next(&mut self) -> Option<ClaimToken<P>> {
        let waiter = self.first?;
        // SAFETY: a claimed waiter stays until it is unparked, for which the token is given out here, once.
        unsafe {
            self.first = waiter.as_ref().next();
            self.len -= 1;
            Some(waiter.as_ref().claimant())
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<P: Identity> ExactSizeIterator for ClaimedAll<P> {}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use crate::fiber::waiter::{Wait, Woken};

    #[test]
    fn those_who_still_wait_are_claimed_in_order_once() {
        let waits: Vec<Wait<u32>> = (0..6).map(Wait::new).collect();
        let waiters: Vec<Waiter<u32>> = waits.iter().map(|wait| Waiter::new(wait, 0)).collect();
        let mut list = WaitList::new();
        // SAFETY: the records live to the end of the test.
        waiters.iter().for_each(|waiter| unsafe { list.push(waiter) });
        assert!(waits[1].claim_own(Woken::Deadline));
        assert!(list.remove(&waiters[2]));
        assert_eq!(list.claim_first().unwrap().into_token().0, 0);
        let rest = list.claim_all();
        assert_eq!(rest.len(), 3);
        assert_eq!(rest.map(|token| token.0).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(list.is_empty());
        assert!(list.claim_first().is_none());
        assert!(!list.remove(&waiters[1]));
        assert_eq!(waits[1].woken(), Some(Woken::Deadline));
        assert_eq!(waits[5].woken(), Some(Woken::Object(0)));
    }
}
