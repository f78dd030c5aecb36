//! Meeting in fibers, for as long as it takes: most calls. The protocol is that of the [rendezvous](super).
//!
//! One of both who meet has waited. So a call costs what a wait does, and half of that is what only others need: a time limit, a thread that waits, errors
//! with values in them, a record of the wait where there is none. Here are those who meet on one thread, whose own the channel's lock is, and nothing
//! else is to be heeded (`pingpong-1`); all others go [their way](super::among_others).
#![allow(unsafe_code, reason = "values are moved between frames by pointer")]

use super::{Inner, Rendezvous};
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Here, give_way_now, with_here};
use crate::prim::cancel::Cause;
use crate::prim::lock::OwnGuard;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use sisal_context::switch::return_by_jump;
use std::mem::MaybeUninit;
use std::ptr;

/// How a call ended, in a register.
#[derive(Copy, Clone, PartialEq, Eq)]
#[repr(transparent)]
pub(in crate::chan) struct Ending(usize);

/// Why nobody was met.
#[derive(Copy, Clone)]
pub(in crate::chan) enum Unmet {
    Closed,
    Cancelled(Cause),
    /// Nothing was done: the caller is in no fiber, or something is to be heeded that has no place here.
    NotTried,
}

impl Ending {
    /// The value has gone over.
    pub(in crate::chan) const MET: Ending = Ending(0);
    pub(in crate::chan) const NOT_TRIED: Ending = Ending(1);
    pub(super) const CLOSED: Ending = Ending(2);
    const FIRST_CAUSE: usize = 3;

    pub(super) fn cancelled(cause: Cause) -> Ending {
        Ending(Self::FIRST_CAUSE + cause.to_number() as usize)
    }

    /// What the value has not gone over for, if nobody was met.
    pub(in crate::chan) fn unmet(self) -> Unmet {
        match self {
            Ending::CLOSED => Unmet::Closed,
            Ending(word) => match Cause::from_number((word as u32).wrapping_sub(Self::FIRST_CAUSE as u32)) {
                Some(cause) => Unmet::Cancelled(cause),
                None => Unmet::NotTried,
            },
        }
    }
}

/// Where a wait is written down, if it comes to one. A fiber's needs no drop.
pub(super) struct Record {
    wait: MaybeUninit<Wait<Who>>,
    waiter: MaybeUninit<Waiter<Who>>,
}

impl Record {
    pub(super) const fn new() -> Record {
        Record { wait: MaybeUninit::uninit(), waiter: MaybeUninit::uninit() }
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, here: Here<'_>, slot: *mut ()) -> (&Wait<Who>, &Waiter<Who>) {
        let wait: &Wait<Who> = self.wait.write(Wait::new(here.who()));
        let waiter: &Waiter<Who> = self.waiter.write(Waiter::solo(wait));
        waiter.set_slot(slot);
        (wait, waiter)
    }
}

impl<T> Rendezvous<T> {
    /// Moves the value out of `from` to one who receives.
    ///
    /// # Safety
    /// `from` holds a value; if one was met, no longer.
    #[inline(never)]
    pub(in crate::chan) unsafe fn send_in_fiber(&self, here: Here<'_>, from: *mut T, place: Place) -> Ending {
        let Some(mut inner) = self.alone(here) else {
            // SAFETY: the caller's promise.
            return unsafe { self.send_among_others(here, from, place) };
        };
        if inner.receivers.is_empty() {
            inner.keep();
            // SAFETY: as `wait_to_send` asks for.
            return Ending(unsafe {
                return_by_jump(self.as_word(), from.cast(), place_as_word(place), Self::wait_to_send)
            });
        }
        let Some(receiver) = inner.receivers.claim_first_near(here.thread()) else {
            drop(inner);
            // SAFETY: the caller's promise.
            return unsafe { self.send_among_others(here, from, place) };
        };
        drop(inner);
        // SAFETY: the receiver's slot is a place for a `T` in its frame, which stays until it is unparked; ours holds a value.
        unsafe { receiver.hand_over().cast::<T>().write(from.read()) };
        here.unpark_near(receiver.into_token());
        if here.spend_fuel() {
            return give_way(place);
        }
        Ending::MET
    }

    /// Moves the value of one who sends into `into`.
    ///
    /// # Safety
    /// `into` can be written; if one was met, it holds a value.
    #[inline(never)]
    pub(in crate::chan) unsafe fn receive_in_fiber(&self, here: Here<'_>, into: *mut T, place: Place) -> Ending {
        let Some(mut inner) = self.alone(here) else {
            // SAFETY: the caller's promise.
            return unsafe { self.receive_among_others(here, into, place) };
        };
        if inner.senders.is_empty() {
            inner.keep();
            // SAFETY: as `wait_to_receive` asks for.
            return Ending(unsafe {
                return_by_jump(self.as_word(), into.cast(), place_as_word(place), Self::wait_to_receive)
            });
        }
        let Some(sender) = inner.senders.claim_first_near(here.thread()) else {
            drop(inner);
            // SAFETY: the caller's promise.
            return unsafe { self.receive_among_others(here, into, place) };
        };
        drop(inner);
        // SAFETY: the sender's slot holds a value in its frame, which stays until it is unparked and is then told that the value
        // has been taken; ours can be written.
        unsafe { into.write(sender.hand_over().cast::<T>().read()) };
        here.unpark_near(sender.into_token());
        if here.spend_fuel() {
            return give_way(place);
        }
        Ending::MET
    }

    fn as_word(&self) -> *const () {
        ptr::from_ref(self).cast()
    }

    /// Apart from a meeting at once, which would have to make room for all that this needs. It takes words, and returns one, to be the last call of its
    /// caller, which [returns by a jump](return_by_jump) (`pingpong-1`).
    ///
    /// # Safety
    /// The words are this channel, the `from` of [`send_in_fiber`](Self::send_in_fiber), and the place; the caller is a fiber of whose thread the lock
    /// was kept, and has found that nobody receives.
    unsafe extern "C-unwind" fn wait_to_send(this: *const (), from: *mut (), place: *const ()) -> usize {
        // SAFETY: the caller's promise.
        let (this, place) = unsafe { (&*this.cast::<Self>(), place_of_word(place)) };
        // SAFETY: likewise.
        let inner = unsafe { this.inner.own_again() };
        with_here(|here| match here {
            Some(here) => this.send_later(here, from, place, inner).0,
            None => unreachable!("INVARIANT: the caller is in a fiber"),
        })
    }

    #[inline(always)]
    fn send_later(&self, here: Here<'_>, from: *mut (), place: Place, mut inner: OwnGuard<'_, Inner<T>>) -> Ending {
        let mut record = Record::new();
        let (wait, waiter) = record.begin(here, from);
        // SAFETY: both stay in this frame until the wait is over, and the waiter is delisted if the channel did not end it.
        unsafe { inner.senders.push(waiter) };
        drop(inner);
        here.park(wait, Reason::Send, Object::of(self), place);
        if waiter.was_handed() {
            return Ending::MET;
        }
        self.give_up(here, wait, place, || self.inner.lock().senders.remove(waiter))
    }

    /// As [`wait_to_send`](Self::wait_to_send).
    ///
    /// # Safety
    /// As for that, with the `into` of [`receive_in_fiber`](Self::receive_in_fiber), and nobody who sends.
    unsafe extern "C-unwind" fn wait_to_receive(this: *const (), into: *mut (), place: *const ()) -> usize {
        // SAFETY: the caller's promise.
        let (this, place) = unsafe { (&*this.cast::<Self>(), place_of_word(place)) };
        // SAFETY: likewise.
        let inner = unsafe { this.inner.own_again() };
        with_here(|here| match here {
            Some(here) => this.receive_later(here, into, place, inner).0,
            None => unreachable!("INVARIANT: the caller is in a fiber"),
        })
    }

    #[inline(always)]
    fn receive_later(&self, here: Here<'_>, into: *mut (), place: Place, mut inner: OwnGuard<'_, Inner<T>>) -> Ending {
        let mut record = Record::new();
        let (wait, waiter) = record.begin(here, into);
        // SAFETY: as in `send_later`.
        unsafe { inner.receivers.push(waiter) };
        drop(inner);
        here.park(wait, Reason::Receive, Object::of(self), place);
        if waiter.was_handed() {
            return Ending::MET;
        }
        self.give_up(here, wait, place, || self.inner.lock().receivers.remove(waiter))
    }

    /// The lock, if it is the thread's own, and nothing is to be heeded but who waits.
    #[inline(always)]
    fn alone(&self, here: Here<'_>) -> Option<OwnGuard<'_, Inner<T>>> {
        let inner = self.inner.lock_own(here.thread())?;
        (self.doorstep.is_vacant() && !inner.closed && inner.orphans.is_empty()).then_some(inner)
    }

    /// After a wait that nobody met.
    #[cold]
    #[inline(never)]
    fn give_up(&self, here: Here<'_>, wait: &Wait<Who>, place: Place, delist: impl FnOnce() -> bool) -> Ending {
        let Some(Woken::Cancelled(cause)) = wait.woken() else {
            // It was closed, which is found once more.
            return Ending::NOT_TRIED;
        };
        delist();
        here.pay_fuel(place);
        Ending::cancelled(cause)
    }
}

#[cold]
#[inline(never)]
fn give_way(place: Place) -> Ending {
    give_way_now(place);
    Ending::MET
}

fn place_as_word(place: Place) -> *const () {
    ptr::from_ref(place).cast()
}

/// # Safety
/// It was made by [`place_as_word`].
unsafe fn place_of_word(word: *const ()) -> Place {
    // SAFETY: the caller's promise.
    unsafe { &*word.cast() }
}
