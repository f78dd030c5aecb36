//! The wait record: how a waiting fiber or thread is found, claimed and woken.
//!
//! A [`Wait`] is one wait: who waits, and the *claim word*. A [`Waiter`] is its place in the list of one object; a wait
//! for several objects has one for each, numbered. All live in the frame of whoever waits.
//!
//! # Protocol
//! While it waits, a record can be reached
//! - from each object waited for, under that object's lock,
//! - from the waiter's own thread: its timers, its sweep at shutdown, and what it is told of cancellations.
//!
//! 1. The waiter makes the record and links it to the object under the object's lock.
//! 2. Whoever wants to end the wait, for whatever cause, *claims* it: one exchange of the claim word from Waiting to
//!    that cause. One wins. The winner gets a [`ClaimToken`], which owes exactly one unpark: the fiber is put into a queue of its
//!    worker, or told to go on if that [lingers](super::state), or the thread is woken.
//! 3. The winner touches nothing of the record after the unpark; with the token in hand it need not touch it before.
//! 4. The waiter leaves its stack exactly once, whether it has been claimed meanwhile or not, and goes on when its worker takes it
//!    from the queue. (One that lingers stays on it, and goes on when it is told.) (One that claims itself owes itself nothing, and does not wait.) Then it takes its records off
//!    the lists of all objects, under their locks. Now nobody can reach the frame.
//!
//! Losers of a claim do nothing: the waiter is being woken. A claimed record may still stand in a list; its object skips
//! it, since its claim fails.
//!
//! Why no wake is lost: a waiter is linked, under the lock, after it has seen that it must wait; whoever changes that takes the lock
//! later and finds it. Why none comes twice: one claim is won, and only its winner unparks.
//!
//! # Claims without an exchange
//! A wait for one object only ([`Waiter::solo`]) can be claimed by that object, under its lock, and by the waiter's own thread. If the
//! object's lock is held *on* that thread, nobody else can: no exchange is needed. That is the rule between fibers of one worker.
//!
//! Between being linked and leaving its stack a waiter must not yield: it may stand in a queue already.
#![allow(unsafe_code, reason = "the places of a wait point to it within one frame")]

use crate::prim::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use crate::prim::cancel::{CAUSES, Cause};
use crate::prim::thread_number::{self, ThreadNumber};
use crate::queue::chain::{ChainLink, Chained};
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
const FIRST_CAUSE: u32 = 2;
const FIRST_OBJECT: u32 = FIRST_CAUSE + CAUSES;

impl Woken {
    fn to_word(self) -> u32 {
        match self {
            Woken::Deadline => DEADLINE,
            Woken::Cancelled(cause) => FIRST_CAUSE + cause.to_number(),
            Woken::Object(number) => FIRST_OBJECT + number,
        }
    }

    fn from_word(word: u32) -> Option<Woken> {
        match word {
            WAITING => None,
            DEADLINE => Some(Woken::Deadline),
            word => Some(match Cause::from_number(word - FIRST_CAUSE) {
                Some(cause) => Woken::Cancelled(cause),
                None => Woken::Object(word - FIRST_OBJECT),
            }),
        }
    }
}

/// Who waits: a name that is cloned into the token of whoever wins the claim.
pub(crate) trait Identity: Clone {
    /// Whether it is a fiber of the worker of `me`, the calling thread. May be false when in doubt.
    fn is_of_thread(&self, me: ThreadNumber) -> bool;

    /// Whether it is a fiber of the calling thread's worker. Likewise.
    #[inline]
    fn is_of_this_thread(&self) -> bool {
        self.is_of_thread(thread_number::current())
    }
}

#[cfg(test)]
impl Identity for u32 {
    fn is_of_thread(&self, _: ThreadNumber) -> bool {
        false
    }
}

/// One wait. `P` names who waits.
pub(crate) struct Wait<P> {
    claim: AtomicU32,
    who: P,
}

/// The right to end one wait, and the duty to unpark its waiter exactly once.
#[must_use = "a claimed waiter sleeps until it is unparked"]
#[derive(Debug)]
pub(crate) struct ClaimToken<P>(pub(crate) P);

impl<P: Identity> Wait<P> {
    #[inline]
    pub(crate) fn new(who: P) -> Wait<P> {
        Wait { claim: AtomicU32::new(WAITING), who }
    }

    /// Makes a wait that is over, and whose places are linked nowhere, ready for another time.
    #[inline]
    pub(crate) fn renew(&self) {
        self.claim.store(WAITING, Ordering::Relaxed);
    }

    /// Tries to end the wait.
    #[inline]
    pub(crate) fn claim(&self, how: Woken) -> Option<ClaimToken<P>> {
        // The waiter stays until it is unparked, so the record may still be read.
        self.claim_in_place(how).then(|| self.claimant())
    }

    /// The waiter itself ends its wait, and owes itself nothing; false if somebody else has ended it.
    #[must_use = "if somebody else has ended the wait, its unpark must be waited for"]
    pub(crate) fn claim_own(&self, how: Woken) -> bool {
        self.claim_in_place(how)
    }

    /// As [`claim_in_place`](Self::claim_in_place), if nobody else can claim it at the same time.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    #[inline]
    fn claim_alone(&self, how: Woken) -> bool {
        if self.claim.load(Ordering::Relaxed) != WAITING {
            return false;
        }
        // ORDERING: Relaxed: the waiter is of this very thread.
        self.claim.store(how.to_word(), Ordering::Relaxed);
        true
    }

    /// Tries to end the wait; the winner takes the token from [`claimant`](Self::claimant) later.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    #[inline]
    fn claim_in_place(&self, how: Woken) -> bool {
        // ORDERING: Release pairs with the Acquire of `woken`: the waiter sees what was done before its claim. (What is done
        // between the claim and the unpark it sees by the queue it is put into, or by its state.)
        self.claim.compare_exchange(WAITING, how.to_word(), Ordering::Release, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn claimant(&self) -> ClaimToken<P> {
        debug_assert!(self.woken().is_some(), "INVARIANT: only a claimed waiter is unparked");
        ClaimToken(self.who.clone())
    }

    /// What ended the wait, if anything has.
    #[inline]
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
    /// Whether its wait is for this object alone.
    solo: bool,
    /// Whether what the waiter wanted was done for it, by way of `slot`.
    handed: AtomicU8,
    /// Where the object takes a value from, or puts it, if it hands values over directly.
    slot: AtomicPtr<()>,
    link: ChainLink<Waiter<P>>,
}

// SAFETY: the fields are atomics, but for the pointer to the wait, which is used as the protocol says.
unsafe impl<P: Sync> Sync for Waiter<P> {}

impl<P: Identity> Waiter<P> {
    /// The only place of `wait`, which must stay where it is for as long as the place is linked.
    #[inline]
    pub(crate) fn solo(wait: &Wait<P>) -> Waiter<P> {
        Waiter { solo: true, ..Waiter::new(wait, 0) }
    }

    /// The place numbered `number` of `wait`, which must stay where it is for as long as the place is linked.
    #[inline]
    pub(crate) fn new(wait: &Wait<P>, number: u32) -> Waiter<P> {
        Waiter {
            wait: NonNull::from(wait),
            number,
            solo: false,
            handed: AtomicU8::new(0),
            slot: AtomicPtr::new(ptr::null_mut()),
            link: ChainLink::new(),
        }
    }

    /// Makes a place that is linked nowhere ready for another time.
    pub(crate) fn renew(&self) {
        self.handed.store(0, Ordering::Relaxed);
    }

    /// Names the place of the value to be handed over.
    #[inline]
    pub(crate) fn set_slot(&self, slot: *mut ()) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    /// Whether what the waiter wanted was done for it. For the waiter, when its wait was ended by this object.
    #[inline]
    pub(crate) fn was_handed(&self) -> bool {
        self.handed.load(Ordering::Relaxed) != 0
    }

    /// Whether both are places of one wait.
    pub(crate) fn is_of_same_wait(&self, other: &Waiter<P>) -> bool {
        self.wait == other.wait
    }

    /// # Safety
    /// The wait is alive: this place is linked and its object's lock is held, or the wait is claimed by the caller.
    #[inline]
    unsafe fn wait(&self) -> &Wait<P> {
        // SAFETY: the caller's promise.
        unsafe { self.wait.as_ref() }
    }

    /// Whether a fiber of the calling thread's worker waits.
    ///
    /// # Safety
    /// As for [`claim_in_place`](Self::claim_in_place).
    pub(crate) unsafe fn is_of_this_thread(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.wait() }.who.is_of_this_thread()
    }

    /// Ends the wait in the name of this object, if nothing else has; the winner takes the token from
    /// [`claimant`](Self::claimant) later.
    ///
    /// # Safety
    /// This place is linked, or was until just now, and its object's lock is held.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    #[inline]
    pub(crate) unsafe fn claim_in_place(&self) -> bool {
        // SAFETY: the caller's promise.
        let wait = unsafe { self.wait() };
        let how = Woken::Object(self.number);
        if self.solo && wait.who.is_of_this_thread() { wait.claim_alone(how) } else { wait.claim_in_place(how) }
    }

    /// As [`claim_in_place`](Self::claim_in_place), by the thread `me`, if that needs no exchange. If not, nothing has been done.
    ///
    /// # Safety
    /// As for that.
    #[must_use = "a claimed waiter sleeps until it is unparked"]
    #[inline(always)]
    pub(crate) unsafe fn claim_if_near(&self, me: ThreadNumber) -> bool {
        // SAFETY: the caller's promise.
        let wait = unsafe { self.wait() };
        self.solo && wait.who.is_of_thread(me) && wait.claim_alone(Woken::Object(self.number))
    }

    /// The token of a claim won by [`claim_in_place`](Self::claim_in_place), to be taken once.
    ///
    /// # Safety
    /// The caller has won that claim and not unparked the waiter yet.
    #[inline]
    pub(crate) unsafe fn claimant(&self) -> ClaimToken<P> {
        // SAFETY: the caller's promise.
        unsafe { self.wait() }.claimant()
    }

    /// Who waits.
    ///
    /// # Safety
    /// As for [`claim_in_place`](Self::claim_in_place).
    pub(crate) unsafe fn who(&self) -> &P {
        // SAFETY: the caller's promise.
        unsafe { self.wait() }.who()
    }

    pub(crate) fn next(&self) -> Option<NonNull<Waiter<P>>> {
        self.link.next()
    }

    pub(crate) fn set_next(&self, next: Option<NonNull<Waiter<P>>>) {
        self.link.set_next(next);
    }

    pub(crate) fn previous(&self) -> Option<NonNull<Waiter<P>>> {
        self.link.previous()
    }

    pub(crate) fn set_previous(&self, previous: Option<NonNull<Waiter<P>>>) {
        self.link.set_previous(previous);
    }
}

impl<P> Chained for Waiter<P> {
    #[inline]
    fn chain_link(&self) -> &ChainLink<Waiter<P>> {
        &self.link
    }
}

/// A waiter whose claim was won: it stays in its frame until it is unparked.
#[must_use = "a claimed waiter sleeps until it is unparked"]
pub(crate) struct Claimed<P>(pub(super) NonNull<Waiter<P>>);

impl<P: Identity> Claimed<P> {
    /// # Safety
    /// The caller has won the claim of `waiter`, and unparks it by this alone.
    #[inline]
    pub(super) unsafe fn new(waiter: NonNull<Waiter<P>>) -> Claimed<P> {
        Claimed(waiter)
    }

    #[inline]
    fn waiter(&self) -> &Waiter<P> {
        // SAFETY: a claimed waiter stays until it is unparked, which takes the token, which takes `self`.
        unsafe { self.0.as_ref() }
    }

    /// Where to take the value from, or to put it; says at the same time that this has been done.
    #[inline]
    pub(crate) fn hand_over(&self) -> *mut () {
        self.waiter().handed.store(1, Ordering::Relaxed);
        self.waiter().slot.load(Ordering::Relaxed)
    }

    /// The duty to unpark it.
    #[inline]
    pub(crate) fn into_token(self) -> ClaimToken<P> {
        // SAFETY: the claim was won by whoever made this, and the token is taken once.
        unsafe { self.waiter().claimant() }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// What a claim leads to: how often the fiber was queued, and what its wakers wrote before and after their claim.
    struct Fiber {
        queued: AtomicUsize,
        said: [AtomicUsize; 2],
        handed: [AtomicUsize; 2],
        /// The waiter has left its wait: from now on its frame may be gone, and the whole fiber.
        left: AtomicUsize,
    }

    impl Identity for Arc<Fiber> {
        fn is_of_thread(&self, _: ThreadNumber) -> bool {
            false
        }
    }

    /// A fiber waits; its object and its deadline race to end the wait. One wins, queues it once, and is heard; the fiber goes on
    /// exactly once, and not before it was queued. Reached: both winners.
    #[test]
    fn loom_park_is_ended_once_by_one_of_two() {
        let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
        loom::model(move || {
            let counter = || AtomicUsize::new(0);
            let fiber = Arc::new(Fiber {
                queued: counter(),
                said: [counter(), counter()],
                handed: [counter(), counter()],
                left: counter(),
            });
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
                        token.0.handed[number].store(8, Ordering::Relaxed);
                        assert_eq!(token.0.queued.fetch_add(1, Ordering::Release), 0, "queued once");
                    })
                })
                .collect();
            // As `park` does it: the worker leaves the fiber, and finds it in a queue.
            while fiber.queued.load(Ordering::Acquire) == 0 {
                loom::thread::yield_now();
            }
            fiber.left.fetch_add(1, Ordering::Relaxed);
            let winner = match wait.woken() {
                Some(Woken::Object(0)) => 0,
                Some(Woken::Deadline) => 1,
                other => unreachable!("{other:?}"),
            };
            assert_eq!(fiber.said[winner].load(Ordering::Relaxed), 7, "what the winner said is heard");
            assert_eq!(fiber.handed[winner].load(Ordering::Relaxed), 8, "and what it handed over");
            claimants.into_iter().for_each(|claimant| claimant.join().unwrap());
            seen.lock().unwrap().insert(winner);
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
}
