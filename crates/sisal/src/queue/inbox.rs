//! The inbox: many producers, one consumer, intrusive, lock-free.
//!
//! # Protocol
//! One word, `head`: a stack of things, newest first.
//!
//! - *Push* (anyone): link the thing to the head that was seen, CAS the head to the thing. The push that found the
//!   inbox empty tells its caller so: that caller owes the consumer a wake, all others rely on it.
//! - *Take all* (the consumer): swap the head with empty and reverse what came, so that it is oldest first.
//!
//! Since things leave only all at once, no CAS can be fooled by a head that left and came back. Nothing is lost: a
//! push before the swap is in what the swap returns, a push after it finds the inbox empty and so owes a wake.
#![allow(unsafe_code, reason = "an intrusive queue reaches its things by pointer")]

use super::link::{Linked, as_ptr};
use crate::prim::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicUsize;

/// See the [module](self).
pub(crate) struct Inbox<T> {
    head: AtomicPtr<T>,
    /// About how many things there are, while there are any: pushes that meet may count as one. Nothing follows from it, so that models
    /// need not know of it.
    about: AtomicUsize,
}

impl<T: Linked> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        Inbox { head: AtomicPtr::new(ptr::null_mut()), about: AtomicUsize::new(0) }
    }

    /// Adds `thing`; true if the inbox was empty before, in which case the consumer may have to be woken.
    ///
    /// # Safety
    /// `thing` is alive, stands in no other queue, and stays alive until the consumer has it.
    #[must_use = "the push that finds the inbox empty owes the consumer a wake"]
    pub(crate) unsafe fn push(&self, thing: NonNull<T>) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the thing is alive by the caller's promise.
            unsafe { thing.as_ref() }.link().set(NonNull::new(head));
            // ORDERING: Release pairs with the Acquire in `take_all`: the consumer sees the thing and its link.
            match self.head.compare_exchange_weak(head, thing.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    // Counted without an exchange, anew from every push that finds it empty.
                    let before = if head.is_null() { 0 } else { self.about.load(Ordering::Relaxed) };
                    self.about.store(before + 1, Ordering::Relaxed);
                    return head.is_null();
                }
                Err(seen) => head = seen,
            }
        }
    }

    /// Whether there is nothing in it, as far as this thread can see.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// About how many things there are.
    pub(crate) fn about(&self) -> usize {
        if self.is_empty() { 0 } else { self.about.load(Ordering::Relaxed).max(1) }
    }

    /// Takes everything, oldest first. For the consumer only.
    #[inline]
    pub(crate) fn take_all(&self) -> Chain<T> {
        if self.is_empty() {
            return Chain { first: None };
        }
        // ORDERING: Acquire pairs with the Release of every push taken here.
        let newest = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        Chain { first: reverse(NonNull::new(newest)) }
    }
}

fn reverse<T: Linked>(mut newest: Option<NonNull<T>>) -> Option<NonNull<T>> {
    let mut oldest_first = None;
    while let Some(thing) = newest {
        // SAFETY: things in the inbox stay alive until they are handed out (`push`), which happens after this.
        let link = unsafe { thing.as_ref() }.link();
        newest = link.get();
        link.set(oldest_first);
        oldest_first = Some(thing);
    }
    oldest_first
}

/// Things taken from an inbox, oldest first. Each is unlinked as it is handed out.
pub(crate) struct Chain<T> {
    first: Option<NonNull<T>>,
}

impl<T: Linked> Iterator for Chain<T> {
    type Item = NonNull<T>;

    fn next(&mut self) -> Option<NonNull<T>> {
        let thing = self.first?;
        // SAFETY: the thing was pushed alive and nobody else has had it since.
        self.first = unsafe { thing.as_ref() }.link().get();
        Some(thing)
    }
}

impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        debug_assert!(
            self.first.is_none(),
            "INVARIANT: what is taken from an inbox is used up ({:?})",
            as_ptr(self.first)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::link::Link;

    pub(super) struct Thing {
        pub(super) number: usize,
        link: Link<Thing>,
    }

    impl Linked for Thing {
        fn link(&self) -> &Link<Thing> {
            &self.link
        }
    }

    pub(super) fn thing(number: usize) -> NonNull<Thing> {
        NonNull::from(Box::leak(Box::new(Thing { number, link: Link::new() })))
    }

    pub(super) fn numbers(inbox: &Inbox<Thing>) -> Vec<usize> {
        inbox
            .take_all()
            // SAFETY: made by `thing` and handed out once.
            .map(|thing| unsafe { Box::from_raw(thing.as_ptr()) }.number)
            .collect()
    }

    #[cfg(not(modelled))]
    #[test]
    fn what_is_pushed_comes_out_oldest_first_and_only_the_first_push_owes_a_wake() {
        let inbox = Inbox::new();
        // SAFETY: leaked boxes, each pushed once.
        let owed: Vec<bool> = (0..4).map(|n| unsafe { inbox.push(thing(n)) }).collect();
        assert_eq!(owed, [true, false, false, false]);
        assert_eq!(numbers(&inbox), [0, 1, 2, 3]);
        assert!(inbox.is_empty());
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::tests::{numbers, thing};
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// Two producers and a consumer: nothing is lost or doubled, each producer's things come in its order, and a
    /// consumer that saw nothing is owed a wake by a later push. Fails unless both orders were reached.
    #[test]
    fn loom_inbox_loses_nothing_and_owes_a_wake_after_every_empty_look() {
        let orders: &'static Mutex<HashSet<Vec<usize>>> = Box::leak(Box::default());
        loom::model(move || {
            let inbox = Arc::new(Inbox::new());
            let producers: Vec<_> = [[1, 2], [3, 4]]
                .into_iter()
                .map(|[first, second]| {
                    let inbox = inbox.clone();
                    // SAFETY: leaked boxes, each pushed once.
                    loom::thread::spawn(move || unsafe {
                        usize::from(inbox.push(thing(first))) + usize::from(inbox.push(thing(second)))
                    })
                })
                .collect();
            let mut seen = numbers(&inbox);
            let looks_that_found = usize::from(!seen.is_empty());
            let owed: usize = producers.into_iter().map(|p| p.join().unwrap()).sum();
            let rest = numbers(&inbox);
            assert_eq!(owed, looks_that_found + usize::from(!rest.is_empty()));
            seen.extend(rest);
            let place = |n| seen.iter().position(|&s| s == n).expect("nothing is lost");
            assert!(place(1) < place(2) && place(3) < place(4) && seen.len() == 4);
            orders.lock().unwrap().insert(seen);
        });
        let orders = orders.lock().unwrap();
        assert!(orders.contains(&vec![1, 3, 2, 4]) || orders.contains(&vec![3, 1, 4, 2]));
        assert!(orders.len() >= 4, "the model saw only {orders:?}");
    }
}
