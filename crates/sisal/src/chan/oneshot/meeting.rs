//! Where the two sides of a one-message channel meet: the word and the wait. The protocol is in the [module](super).
#![allow(unsafe_code, reason = "the wait is shared memory, owned as the word says")]

use crate::fiber::end::Freeing;
use crate::fiber::waiter::{ClaimToken, Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{me, unpark};
use crate::prim::atomic::{AtomicUsize, Backoff, Ordering};
use crate::prim::cell::UnsafeCell;
use crate::prim::task_parker::TaskParker;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

pub(super) const EMPTY: usize = 0;
const WAITED: usize = 1;
pub(super) const SENT: usize = 2;
pub(super) const CLOSED: usize = 3;
const STATES: usize = 3;
const SENDER_GONE: usize = 4;
pub(super) const RECEIVER_GONE: usize = 8;

/// Where the two sides meet: the word and the wait.
pub(super) struct Meeting {
    word: AtomicUsize,
    wait: UnsafeCell<Option<Waits>>,
}

/// How the receiver waits.
enum Waits {
    /// For this message alone.
    Alone(Wait<Who>),
    /// As an arm of a select, whose record is in the frame of that.
    Arm(NonNull<Waiter<Who>>),
}

impl Waits {
    /// Ends the wait, if nothing else has.
    ///
    /// # Safety
    /// The record of an arm is there: WAITED has become something else by the caller, who has not set SENDER_GONE.
    unsafe fn claim(&self) -> Option<ClaimToken<Who>> {
        match self {
            Waits::Alone(wait) => wait.claim(Woken::Object(0)),
            // SAFETY: the caller's promise; whoever is sent to, or told of the end, in its place is kept from leaving by the same.
            Waits::Arm(waiter) => unsafe {
                let waiter = waiter.as_ref();
                waiter.claim_in_place().then(|| waiter.claimant())
            },
        }
    }
}

/// How the sender's part ended.
#[must_use]
pub(super) enum Ended {
    /// The receiver will see it; the sender is gone.
    Seen(Freeing),
    /// The receiver is gone, so the block is the sender's alone.
    Unseen,
}

impl Meeting {
    pub(super) fn new() -> Meeting {
        Meeting { word: AtomicUsize::new(EMPTY), wait: UnsafeCell::new(None) }
    }

    /// The sender is done: by SENT, with the value in place, or by CLOSED. It has not been before.
    pub(super) fn end(&self, how: usize) -> Ended {
        // ORDERING: Acquire pairs with the Release of `go_unserved`: what the receiver did comes before the freeing.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let next = match word {
                EMPTY => how | SENDER_GONE,
                WAITED => how,
                RECEIVER_GONE => return Ended::Unseen,
                _ => unreachable!("INVARIANT: a sender is done once"),
            };
            // ORDERING: Release pairs with the Acquire of `state`: the value can be read. Acquire pairs with the Release of `wait_by`:
            // the wait can be; on failure it is as above.
            match self.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(WAITED) => return Ended::Seen(self.wake(how)),
                Ok(_) => return Ended::Seen(Freeing::Theirs),
                Err(now) => word = now,
            }
        }
    }

    /// WAITED has become `how`: wakes the receiver, if nothing else has, and goes.
    #[cold]
    fn wake(&self, how: usize) -> Freeing {
        // SAFETY: the receiver writes the wait in EMPTY only, and the word will not be EMPTY again. One that is the arm of a select does not leave its
        // frame before it sees SENDER_GONE.
        let claimed = self.wait.with(|wait| unsafe { (*wait).as_ref().and_then(|wait| wait.claim()) });
        match claimed {
            Some(receiver) => {
                // ORDERING: Release pairs with the Acquire of `leave`: our look at the wait comes before the freeing. It need not be an
                // exchange, since the receiver does nothing until it is unparked.
                self.word.store(how | SENDER_GONE, Ordering::Release);
                unpark(receiver);
                Freeing::Theirs
            }
            None => self.leave(SENDER_GONE),
        }
    }

    /// EMPTY, SENT or CLOSED, for the receiver while it does not wait.
    #[inline]
    pub(super) fn state(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `end`: the value can be read.
        self.word.load(Ordering::Acquire) & STATES
    }

    /// The receiver waits, by what `park` does with its wait. `Object` means that the sender is done, anything else that it is not.
    pub(super) fn wait_by(&self, park: impl FnOnce(&Wait<Who>) -> Woken) -> Woken {
        // SAFETY: the word is EMPTY or the sender is done without having found a wait, so nobody else looks.
        self.wait.with_mut(|wait| unsafe { *wait = Some(Waits::Alone(Wait::new(me()))) });
        // ORDERING: Release pairs with the Acquire of `end`: the sender finds the wait.
        if self.word.compare_exchange(EMPTY, WAITED, Ordering::Release, Ordering::Relaxed).is_err() {
            return Woken::Object(0);
        }
        // SAFETY: we have written it, and nobody writes it while we wait.
        let woken = self.wait.with(|wait| match unsafe { (*wait).as_ref() } {
            Some(Waits::Alone(wait)) => park(wait),
            _ => unreachable!("INVARIANT: written above"),
        });
        match woken {
            Woken::Object(_) => woken,
            // Relaxed: the sender has not looked at the wait.
            _ => match self.word.compare_exchange(WAITED, EMPTY, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => woken,
                Err(_) => Woken::Object(0),
            },
        }
    }

    /// The receiver waits as a task, which is not waited for here; false if the sender is done.
    #[must_use]
    pub(super) fn enlist_task(&self, waker: Waker) -> bool {
        let who = Who::Task(Arc::new(TaskParker::new(waker)));
        // SAFETY: as in `wait_by`.
        self.wait.with_mut(|wait| unsafe { *wait = Some(Waits::Alone(Wait::new(who))) });
        // ORDERING: as in `wait_by`.
        self.word.compare_exchange(EMPTY, WAITED, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Calls `f` with the wait of a task and its parker. For the receiver, after [`enlist_task`](Self::enlist_task).
    pub(super) fn with_task<R>(&self, f: impl FnOnce(&Wait<Who>, &TaskParker) -> R) -> R {
        // SAFETY: only the receiver writes it, which is the caller.
        self.wait.with(|wait| match unsafe { (*wait).as_ref() } {
            Some(Waits::Alone(wait)) => match wait.who() {
                Who::Task(parker) => f(wait, parker),
                _ => unreachable!("INVARIANT: the receiver was enlisted as a task"),
            },
            _ => unreachable!("INVARIANT: the receiver was enlisted"),
        })
    }

    /// The wait of a task is the receiver's own again, and the word EMPTY, or the sender is done.
    pub(super) fn delist_task(&self) {
        if self.with_task(|wait, _| wait.claim_own(Woken::Deadline)) {
            // Relaxed: the sender has not looked at the wait, or, if this fails, finds it claimed.
            let _ = self.word.compare_exchange(WAITED, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
            // Last, since wakers are foreign code and may panic when they are dropped.
            self.with_task(|_, parker| parker.withdraw());
            return;
        }
        self.wait_for_sender();
    }

    /// The receiver waits as an arm of a select; false if the sender is done.
    ///
    /// # Safety
    /// If it waits, the record stays where it is until it was [taken off](Self::delist_arm), or its wait was ended by this.
    #[must_use]
    pub(super) unsafe fn enlist_arm(&self, waiter: &Waiter<Who>) -> bool {
        // SAFETY: as in `wait_by`.
        self.wait.with_mut(|wait| unsafe { *wait = Some(Waits::Arm(NonNull::from(waiter))) });
        // ORDERING: as in `wait_by`.
        self.word.compare_exchange(EMPTY, WAITED, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The receiver waits no more, and its record is its own again.
    pub(super) fn delist_arm(&self) {
        // Relaxed: the sender has not looked at the record.
        if self.word.compare_exchange(WAITED, EMPTY, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            self.wait_for_sender();
        }
    }

    /// The sender has found a wait, and is about to go, having looked at that.
    fn wait_for_sender(&self) {
        let mut backoff = Backoff::new();
        // ORDERING: Acquire pairs with the Release in `wake` and `leave`: the sender's look at the wait comes before what we do.
        while self.word.load(Ordering::Acquire) & SENDER_GONE == 0 {
            backoff.pause();
        }
    }

    /// Whether the sender may be looking at the wait.
    #[cfg(all(test, loom))]
    pub(super) fn is_looked_at(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        [SENT, CLOSED].contains(&(word & STATES)) && word & SENDER_GONE == 0
    }

    /// The receiver goes before the sender is done; false if that is done.
    #[must_use]
    pub(super) fn go_unserved(&self) -> bool {
        // ORDERING: Release pairs with the Acquire of `end`: what we did comes before the freeing.
        self.word.compare_exchange(EMPTY, RECEIVER_GONE, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Whether the receiver is gone.
    pub(super) fn is_unwanted(&self) -> bool {
        self.word.load(Ordering::Relaxed) & RECEIVER_GONE != 0
    }

    /// One side goes, after the sender is done and its value, if there was one, is out.
    #[inline]
    pub(super) fn leave(&self, side: usize) -> Freeing {
        let other = side ^ (SENDER_GONE | RECEIVER_GONE);
        // ORDERING: Acquire pairs with the Release of whatever set that the other side is gone, Release with the Acquire of
        // its `leave`: what one side did comes before the freeing by the other.
        if self.word.load(Ordering::Acquire) & other != 0 || self.word.fetch_or(side, Ordering::AcqRel) & other != 0 {
            Freeing::Mine
        } else {
            Freeing::Theirs
        }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // By way of the cell, so that the models see whether anybody still looks at it.
        // SAFETY: whoever has the meeting to itself has the wait.
        self.wait.with_mut(|wait| drop(unsafe { (*wait).take() }));
    }
}
