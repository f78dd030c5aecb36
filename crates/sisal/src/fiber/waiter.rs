//! The wait record: how a waiting fiber or thread is found, claimed and woken.
//!
//! A [`Wait`] is one wait: who waits, and the *claim word*. A [`Waiter`] is its place in the list of one object; a wait
//! for several objects has one for each, numbered. All live in the frame of whoever waits.
//!
//! # Protocol
//! While it waits, a record can be reached
//! - from each object waited for, under that object's lock,
//! - from the waiter's own worker: its timers, and its sweep at shutdown.
//!
//! 1. The waiter makes the record and links it to the object under the object's lock.
//! 2. Whoever wants to end the wait, for whatever cause, *claims* it: one exchange of the claim word from Waiting to
//!    that cause. One wins. The winner gets a [`ClaimToken`], which owes exactly one unpark.
//! 3. The winner touches nothing of the record after the unpark; with the token in hand it need not touch it before.
//! 4. The waiter leaves its wait only when the word is claimed *and* the unpark has come. Then it takes its records off
//!    the lists of all objects but the one that ended the wait, under their locks. Now nobody can reach the frame.
//!
//! Losers of a claim do nothing: the waiter is being woken. A claimed record may still stand in a list; its object skips
//! it, since its claim fails.
#![allow(unsafe_code, reason = "the places of a wait point to it within one frame")]

use crate::prim::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::prim::cancel::Cause;
use crate::queue::link::as_ptr;
use std::ptr::{self, NonNull};

/// What ended a wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The object waited for, by its number.
    Object(u32),
    /// The deadline.
    Deadline,
    /// Something that ends all waits of this fiber.
    Cancelled(Cause),
}

const WAITING: u32 = 0;
const DEADLINE: u32 = 1;
const SHUTDOWN: u32 = 2;
const UNWINDING: u32 = 3;
const FIRST_OBJECT: u32 = 4;

impl Woken {
    fn to_word(self) -> u32 {
        match self {
            Woken::Deadline => DEADLINE,
            Woken::Cancelled(Cause::Shutdown) => SHUTDOWN,
            Woken::Cancelled(Cause::Unwinding) => UNWINDING,
            Woken::Object(number) => FIRST_OBJECT + number,
        }
    }

    fn from_word(word: u32) -> Option<Woken> {
        match word {
            WAITING => None,
            DEADLINE => Some(Woken::Deadline),
            SHUTDOWN => Some(Woken::Cancelled(Cause::Shutdown)),
            UNWINDING => Some(Woken::Cancelled(Cause::Unwinding)),
            object => Some(Woken::Object(object - FIRST_OBJECT)),
        }
    }
}

/// One wait. `P` names who waits: it is cloned into the token of whoever wins the claim.
pub(crate) struct Wait<P> {
    claim: AtomicU32,
    who: P,
}

/// The right to end one wait, and the duty to unpark its waiter exactly once.
#[must_use = "a claimed waiter sleeps until it is unparked"]
#[derive(Debug)]
pub(crate) struct ClaimToken<P>(pub(crate) P);

impl<P: Clone> Wait<P> {
    pub(crate) fn new(who: P) -> Wait<P> {
        Wait { claim: AtomicU32::new(WAITING), who }
    }

    /// Tries to end the wait.
    pub(crate) fn claim(&self, how: Woken) -> Option<ClaimToken<P>> {
        // The waiter stays until it is unparked, so the record may still be read.
        self.claim_in_place(how).then(|| self.claimant())
    }

    /// Tries to end the wait; the winner takes the token from [`claimant`](Self::claimant) later.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    fn claim_in_place(&self, how: Woken) -> bool {
        // ORDERING: Release pairs with the Acquire of `woken`: the waiter sees what was done before its claim.
        self.claim.compare_exchange(WAITING, how.to_word(), Ordering::Release, Ordering::Relaxed).is_ok()
    }

    fn claimant(&self) -> ClaimToken<P> {
        debug_assert!(self.woken().is_some(), "INVARIANT: only a claimed waiter is unparked");
        ClaimToken(self.who.clone())
    }

    /// What ended the wait, if anything has.
    pub(crate) fn woken(&self) -> Option<Woken> {
        // ORDERING: Acquire pairs with the Release of `claim_in_place`.
        Woken::from_word(self.claim.load(Ordering::Acquire))
    }

    pub(crate) fn who(&self) -> &P {
        &self.who
    }
}

/// The place of a wait in the list of one object.
pub(crate) struct Waiter<P> {
    wait: NonNull<Wait<P>>,
    number: u32,
    /// INVARIANT: the links are used only under the lock of the object waited for.
    next: AtomicPtr<Waiter<P>>,
    previous: AtomicPtr<Waiter<P>>,
}

impl<P: Clone> Waiter<P> {
    /// The place numbered `number` of `wait`, which must stay where it is for as long as the place is linked.
    pub(crate) fn new(wait: &Wait<P>, number: u32) -> Waiter<P> {
        Waiter {
            wait: NonNull::from(wait),
            number,
            next: AtomicPtr::new(ptr::null_mut()),
            previous: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// # Safety
    /// The wait is alive: this place is linked and its object's lock is held, or the wait is claimed by the caller.
    unsafe fn wait(&self) -> &Wait<P> {
        // SAFETY: the caller's promise.
        unsafe { self.wait.as_ref() }
    }

    /// Ends the wait in the name of this object, if nothing else has; the winner takes the token from
    /// [`claimant`](Self::claimant) later.
    ///
    /// # Safety
    /// This place is linked and its object's lock is held.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    pub(crate) unsafe fn claim_in_place(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.wait() }.claim_in_place(Woken::Object(self.number))
    }

    /// The token of a claim won by [`claim_in_place`](Self::claim_in_place), to be taken once.
    ///
    /// # Safety
    /// The caller has won that claim and not unparked the waiter yet.
    pub(crate) unsafe fn claimant(&self) -> ClaimToken<P> {
        // SAFETY: the caller's promise.
        unsafe { self.wait() }.claimant()
    }

    pub(crate) fn next(&self) -> Option<NonNull<Waiter<P>>> {
        NonNull::new(self.next.load(Ordering::Relaxed))
    }

    pub(crate) fn set_next(&self, next: Option<NonNull<Waiter<P>>>) {
        self.next.store(as_ptr(next), Ordering::Relaxed);
    }

    pub(crate) fn previous(&self) -> Option<NonNull<Waiter<P>>> {
        NonNull::new(self.previous.load(Ordering::Relaxed))
    }

    pub(crate) fn set_previous(&self, previous: Option<NonNull<Waiter<P>>>) {
        self.previous.store(as_ptr(previous), Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::fiber::state::{Parking, State, Unparking};
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// What a claim leads to: the fiber's state, how often it was queued, and what its wakers wrote.
    struct Fiber {
        state: State,
        queued: AtomicUsize,
        said: [AtomicUsize; 2],
        /// The waiter has left its wait: from now on its frame may be gone, and the whole fiber.
        left: AtomicUsize,
    }

    /// A fiber parks; its object and its deadline race to end the wait. One wins, unparks it once, and is heard; the fiber goes on
    /// exactly once, and not before that unpark. Reached: both winners, each before the park and after it.
    #[test]
    fn loom_park_is_ended_once_by_one_of_two() {
        let seen: &'static Mutex<HashSet<(usize, bool)>> = Box::leak(Box::default());
        loom::model(move || {
            let fiber = Arc::new(Fiber {
                state: State::fresh(),
                queued: AtomicUsize::new(0),
                said: [AtomicUsize::new(0), AtomicUsize::new(0)],
                left: AtomicUsize::new(0),
            });
            fiber.state.start();
            let wait = Arc::new(Wait::new(fiber.clone()));
            let claimants: Vec<_> = [Woken::Object(0), Woken::Deadline]
                .into_iter()
                .enumerate()
                .map(|(number, how)| {
                    let wait = wait.clone();
                    loom::thread::spawn(move || {
                        wait.who().said[number].store(7, Ordering::Relaxed);
                        let Some(token) = wait.claim(how) else { return };
                        assert_eq!(token.0.left.fetch_add(0, Ordering::Relaxed), 0, "it stays until it is unparked");
                        if token.0.state.unpark() == Unparking::Enqueue {
                            token.0.queued.fetch_add(1, Ordering::Release);
                        }
                    })
                })
                .collect();
            let mut parked = false;
            // As `park` does it: at least once, even if the wait has been claimed before.
            loop {
                if fiber.state.commit_park() == Parking::Parked {
                    parked = true;
                    while fiber.queued.load(Ordering::Acquire) == 0 {
                        loom::thread::yield_now();
                    }
                    fiber.state.resume();
                }
                if wait.woken().is_some() {
                    break;
                }
            }
            fiber.left.fetch_add(1, Ordering::Relaxed);
            let winner = match wait.woken() {
                Some(Woken::Object(0)) => 0,
                Some(Woken::Deadline) => 1,
                other => unreachable!("{other:?}"),
            };
            assert_eq!(fiber.said[winner].load(Ordering::Relaxed), 7, "what the winner said is heard");
            claimants.into_iter().for_each(|claimant| claimant.join().unwrap());
            assert_eq!(fiber.queued.load(Ordering::Relaxed), usize::from(parked), "queued once, if it was parked");
            seen.lock().unwrap().insert((winner, parked));
        });
        assert_eq!(seen.lock().unwrap().len(), 4);
    }
}
