//! An intrusive list from whose middle things can be taken: whoever waits for something stands in one, and may give up.
//!
//! Its things live in the frames of their owners, so the list is used under a lock that each owner also takes before its frame
//! goes.
#![allow(unsafe_code, reason = "an intrusive list reaches its things by pointer")]

use super::link::as_ptr;
use crate::prim::atomic::{AtomicPtr, AtomicU8, Ordering};
use std::ptr::{self, NonNull};

/// The place of a thing in the one list it can stand in.
///
/// Atomics only so that handing it from thread to thread needs no `unsafe`; all accesses are relaxed, and the lock of the list
/// carries the ordering.
pub(crate) struct ChainLink<T> {
    next: AtomicPtr<T>,
    previous: AtomicPtr<T>,
    linked: AtomicU8,
}

impl<T> ChainLink<T> {
    pub(crate) fn new() -> ChainLink<T> {
        ChainLink {
            next: AtomicPtr::new(ptr::null_mut()),
            previous: AtomicPtr::new(ptr::null_mut()),
            linked: AtomicU8::new(0),
        }
    }

    pub(crate) fn next(&self) -> Option<NonNull<T>> {
        NonNull::new(self.next.load(Ordering::Relaxed))
    }

    pub(crate) fn set_next(&self, next: Option<NonNull<T>>) {
        self.next.store(as_ptr(next), Ordering::Relaxed);
    }

    pub(crate) fn previous(&self) -> Option<NonNull<T>> {
        NonNull::new(self.previous.load(Ordering::Relaxed))
    }

    pub(crate) fn set_previous(&self, previous: Option<NonNull<T>>) {
        self.previous.store(as_ptr(previous), Ordering::Relaxed);
    }

    fn is_linked(&self) -> bool {
        self.linked.load(Ordering::Relaxed) != 0
    }

    fn set_linked(&self, linked: bool) {
        self.linked.store(linked.into(), Ordering::Relaxed);
    }
}

/// A thing that can stand in a [`Chain`].
pub(crate) trait Chained: Sized {
    fn chain_link(&self) -> &ChainLink<Self>;
}

/// See the [module](self).
pub(crate) struct Chain<T> {
    first: Option<NonNull<T>>,
    last: Option<NonNull<T>>,
}

// SAFETY: the things are reached by pointer, by whoever has the list to itself, and may be from any thread.
unsafe impl<T: Sync> Send for Chain<T> {}

impl<T: Chained> Chain<T> {
    pub(crate) const fn new() -> Chain<T> {
        Chain { first: None, last: None }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first thing, which stays there.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<NonNull<T>> {
        self.first
    }

    /// Adds `thing` at the end.
    ///
    /// # Safety
    /// It stands in no list, and stays where it is until it was popped or removed.
    #[inline]
    pub(crate) unsafe fn push(&mut self, thing: &T) {
        let link = thing.chain_link();
        debug_assert!(!link.is_linked(), "INVARIANT: a thing stands in one list at a time");
        link.set_next(None);
        link.set_previous(self.last);
        link.set_linked(true);
        let thing = NonNull::from(thing);
        match self.last.replace(thing) {
            // SAFETY: things in the list are alive.
            Some(last) => unsafe { last.as_ref() }.chain_link().set_next(Some(thing)),
            None => self.first = Some(thing),
        }
    }

    /// Adds `thing` before all others.
    ///
    /// # Safety
    /// As for [`push`](Self::push).
    #[cold]
    pub(crate) unsafe fn push_first(&mut self, thing: &T) {
        let link = thing.chain_link();
        debug_assert!(!link.is_linked(), "INVARIANT: a thing stands in one list at a time");
        link.set_next(self.first);
        link.set_previous(None);
        link.set_linked(true);
        let thing = NonNull::from(thing);
        match self.first.replace(thing) {
            // SAFETY: things in the list are alive.
            Some(first) => unsafe { first.as_ref() }.chain_link().set_previous(Some(thing)),
            None => self.last = Some(thing),
        }
    }

    /// Takes the first thing, which is alive as long as its owner is kept from leaving.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<NonNull<T>> {
        let first = self.first?;
        // SAFETY: it is.
        unsafe { self.take_first(first) };
        Some(first)
    }

    /// Takes `first`.
    ///
    /// # Safety
    /// It is the first thing.
    #[inline(always)]
    pub(crate) unsafe fn take_first(&mut self, first: NonNull<T>) {
        debug_assert_eq!(self.first, Some(first), "INVARIANT: it is the first");
        // SAFETY: things in the list are alive.
        let link = unsafe { first.as_ref() }.chain_link();
        let next = link.next();
        self.first = next;
        match next {
            // SAFETY: as above.
            Some(next) => unsafe { next.as_ref() }.chain_link().set_previous(None),
            None => self.last = None,
        }
        link.set_linked(false);
    }

    /// Takes `thing` out, if it still stands here; true if it did. It may stand in no other list.
    #[inline]
    pub(crate) fn remove(&mut self, thing: &T) -> bool {
        let link = thing.chain_link();
        if !link.is_linked() {
            return false;
        }
        let (previous, next) = (link.previous(), link.next());
        match previous {
            // SAFETY: things in the list are alive.
            Some(previous) => unsafe { previous.as_ref() }.chain_link().set_next(next),
            None => self.first = next,
        }
        match next {
            // SAFETY: as above.
            Some(next) => unsafe { next.as_ref() }.chain_link().set_previous(previous),
            None => self.last = previous,
        }
        link.set_linked(false);
        true
    }

    /// All things, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: things in the list are alive, and stay there while it is borrowed.
        let as_ref = |thing: NonNull<T>| unsafe { &*thing.as_ptr().cast_const() };
        std::iter::successors(self.first, move |&thing| as_ref(thing).chain_link().next()).map(as_ref)
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    struct Thing(usize, ChainLink<Thing>);

    impl Chained for Thing {
        fn chain_link(&self) -> &ChainLink<Thing> {
            &self.1
        }
    }

    #[test]
    fn things_taken_at_random_leave_the_others_in_order() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..100 {
            let things: Vec<Thing> = (0..10).map(|number| Thing(number, ChainLink::new())).collect();
            let mut chain = Chain::new();
            let first = random.usize(0..=10);
            // SAFETY: the things stay where they are to the end of the round.
            things[first..].iter().for_each(|thing| unsafe { chain.push(thing) });
            // SAFETY: as above.
            things[..first].iter().rev().for_each(|thing| unsafe { chain.push_first(thing) });
            let mut expected: Vec<usize> = (0..10).collect();
            for _ in 0..random.usize(0..=10) {
                let number = expected.remove(random.usize(0..expected.len()));
                assert!(chain.remove(&things[number]));
                assert!(!chain.remove(&things[number]));
                assert!(chain.iter().map(|thing| thing.0).eq(expected.iter().copied()));
            }
            // SAFETY: as above.
            let rest: Vec<usize> =
                std::iter::from_fn(|| chain.pop()).map(|thing| unsafe { thing.as_ref() }.0).collect();
            assert_eq!(rest, expected);
            assert!(chain.is_empty());
        }
    }
}
