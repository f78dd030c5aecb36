//! Who waits in line for a lock or for permits, with what each wants.
//!
//! As a [`WaitList`](crate::fiber::wait_list::WaitList), but whoever holds the object's lock can look at what the first one wants
//! before it claims it, and leave it standing. The protocol is that of [`waiter`](crate::fiber::waiter).
#![allow(unsafe_code, reason = "requests are reached by pointer, under the lock of their object")]

use crate::fiber::waiter::{ClaimToken, Wait, Waiter};
use crate::fiber::who::Who;
use crate::park;
use crate::queue::chain::{Chain, ChainLink, Chained};
use std::ptr::NonNull;

/// One who waits in a [`Line`], and what for. It lives in the frame of the waiter, like its wait.
pub(super) struct Request<D> {
    waiter: Waiter<Who>,
    link: ChainLink<Request<D>>,
    pub(super) data: D,
}

impl<D> Request<D> {
    /// A request of `wait`, which must stay where it is for as long as the request stands in a line.
    pub(super) fn new(wait: &Wait<Who>, data: D) -> Request<D> {
        Request { waiter: Waiter::solo(wait), link: ChainLink::new(), data }
    }
}

impl<D> Chained for Request<D> {
    #[inline]
    fn chain_link(&self) -> &ChainLink<Request<D>> {
        &self.link
    }
}

/// See the [module](self).
pub(super) struct Line<D>(Chain<Request<D>>);

impl<D> Line<D> {
    pub(super) const fn new() -> Line<D> {
        Line(Chain::new())
    }

    /// Whether nobody stands here. Who does has perhaps been claimed by something else.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a request at the end.
    ///
    /// # Safety
    /// The line is under its object's lock. The request and its wait stay where they are until the request was
    /// [removed](Self::remove) under that lock, or claimed by this line and unparked.
    pub(super) unsafe fn push(&mut self, request: &Request<D>) {
        // SAFETY: the caller's promise.
        unsafe { self.0.push(request) };
    }

    /// Takes a request off, if it still stands here. It may stand in no other line.
    pub(super) fn remove(&mut self, request: &Request<D>) {
        self.0.remove(request);
    }

    /// Claims the first whose wait has not ended, and takes it off, if `wanted` says so of what it wants.
    pub(super) fn claim_first_if(&mut self, mut wanted: impl FnMut(&D) -> bool) -> Option<Granted<D>> {
        loop {
            let first = self.0.iter().next().filter(|first| wanted(&first.data))?;
            // SAFETY: it stands in the line, and the lock is held.
            let claimed = unsafe { first.waiter.claim_in_place() };
            let first = self.0.pop()?;
            if claimed {
                return Some(Granted(first));
            }
        }
    }
}

/// A request whose claim was won: it stays in its frame until it is unparked.
#[must_use = "a claimed waiter sleeps until it is unparked"]
pub(super) struct Granted<D>(NonNull<Request<D>>);

impl<D> Granted<D> {
    pub(super) fn data(&self) -> &D {
        // SAFETY: a claimed waiter stays until it is unparked, which takes `self`.
        unsafe { &self.0.as_ref().data }
    }

    fn into_token(self) -> ClaimToken<Who> {
        // SAFETY: as above; the claim was won when this was made, and its token is taken once.
        unsafe { self.0.as_ref().waiter.claimant() }
    }

    /// Lets the waiter go on. Not under a lock.
    pub(super) fn unpark(self) {
        park::unpark(self.into_token());
    }
}

/// Requests that were claimed under one lock, to be unparked in their order when the lock is free again.
#[must_use = "claimed waiters sleep until they are unparked"]
pub(super) struct AllGranted<D>(Chain<Request<D>>);

impl<D> AllGranted<D> {
    pub(super) fn none() -> AllGranted<D> {
        AllGranted(Chain::new())
    }

    pub(super) fn push(&mut self, granted: Granted<D>) {
        // SAFETY: a claimed waiter has left its line, and stays until it is unparked.
        unsafe { self.0.push(granted.0.as_ref()) };
    }

    /// Lets them all go on. Not under a lock.
    pub(super) fn unpark(mut self) {
        while let Some(granted) = self.0.pop() {
            Granted(granted).unpark();
        }
    }
}
