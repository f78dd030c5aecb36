//! Meeting in fibers, for as long as it takes: most calls. The protocol is that of the [rendezvous](super).
//!
//! One of both who meet has waited. So a call costs what a wait does, and half of that is what only others need: a time limit, a thread that waits, errors
//! with values in them, a record of the wait where there is none (`pingpong-1`: 57 to 44-47 ns). And who is met on the [doorstep](super::doorstep) has
//! not waited at all.
#![allow(unsafe_code, reason = "values are moved between frames by pointer")]

use super::doorstep::{Doorstep, Met};
use super::{Inner, Rendezvous};
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Here, with_here};
use crate::prim::cancel::Cause;
use crate::prim::lock::LockGuard;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use std::mem::MaybeUninit;

/// Why nobody was met.
#[derive(Copy, Clone)]
pub(in crate::chan) enum Unmet {
    Closed,
    Cancelled(Cause),
    /// The caller is in no fiber, and nothing was done.
    NotTried,
}

/// Where a wait is written down, if it comes to one. A fiber's needs no drop.
struct Record {
    wait: MaybeUninit<Wait<Who>>,
    waiter: MaybeUninit<Waiter<Who>>,
}

impl Record {
    const fn new() -> Record {
        Record { wait: MaybeUninit::uninit(), waiter: MaybeUninit::uninit() }
    }

    #[inline(always)]
    fn begin(&mut self, here: Here<'_>, slot: *mut ()) -> (&Wait<Who>, &Waiter<Who>) {
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
    /// `from` holds a value; if the result is well, no longer.
    #[inline(never)]
    pub(in crate::chan) unsafe fn send_in_fiber(&self, from: *mut T, place: Place) -> Result<(), Unmet> {
        with_here(|here| {
            let Some(here) = here else { return Err(Unmet::NotTried) };
            let mut record = Record::new();
            loop {
                let mut inner = self.inner.lock_as(here.thread());
                // SAFETY: the caller's promise.
                if unsafe { self.doorstep.give(from) } {
                    drop(inner);
                    here.pay_fuel(place);
                    return Ok(());
                }
                if let Some(receiver) = inner.receivers.claim_first() {
                    drop(inner);
                    // SAFETY: the receiver's slot is a place for a `T` in its frame, which stays until it is unparked; ours holds a value.
                    unsafe { receiver.hand_over().cast::<T>().write(from.read()) };
                    here.unpark(receiver.into_token());
                    here.pay_fuel(place);
                    return Ok(());
                }
                if inner.closed {
                    drop(inner);
                    here.pay_fuel(place);
                    return Err(Unmet::Closed);
                }
                if self.is_for_several() && inner.senders.is_empty() && self.may_stand(here) {
                    // SAFETY: the caller's promise.
                    match unsafe { self.stand_to_send(inner, here, from) } {
                        Met::Yes => {
                            here.pay_fuel(place);
                            return Ok(());
                        }
                        Met::Dismissed | Met::No => continue,
                    }
                }
                let (wait, waiter) = record.begin(here, from.cast());
                // SAFETY: both stay in this frame until the wait is over, and the waiter is delisted if the channel did not end it.
                unsafe { inner.senders.push(waiter) };
                drop(inner);
                match here.park(wait, Reason::Send, Object::of(self), place) {
                    Woken::Object(_) if waiter.was_handed() => return Ok(()),
                    Woken::Cancelled(cause) => {
                        self.inner.lock().senders.remove(waiter);
                        here.pay_fuel(place);
                        return Err(Unmet::Cancelled(cause));
                    }
                    // It was closed.
                    _ => {}
                }
            }
        })
    }

    /// Moves the value of one who sends into `into`.
    ///
    /// # Safety
    /// `into` can be written; if the result is well, it holds a value.
    #[inline(never)]
    pub(in crate::chan) unsafe fn receive_in_fiber(&self, into: *mut T, place: Place) -> Result<(), Unmet> {
        with_here(|here| {
            let Some(here) = here else { return Err(Unmet::NotTried) };
            let mut record = Record::new();
            loop {
                let mut inner = self.inner.lock_as(here.thread());
                if !inner.orphans.is_empty() {
                    // They are received as everywhere else.
                    return Err(Unmet::NotTried);
                }
                // SAFETY: the caller's promise.
                if unsafe { self.doorstep.accept(into) } {
                    drop(inner);
                    here.pay_fuel(place);
                    return Ok(());
                }
                if let Some(sender) = inner.senders.claim_first() {
                    drop(inner);
                    // SAFETY: the sender's slot holds a value in its frame, which stays until it is unparked and is then told that the value
                    // has been taken; ours can be written.
                    unsafe { into.write(sender.hand_over().cast::<T>().read()) };
                    here.unpark(sender.into_token());
                    here.pay_fuel(place);
                    return Ok(());
                }
                if inner.closed {
                    drop(inner);
                    here.pay_fuel(place);
                    return Err(Unmet::Closed);
                }
                if self.is_for_several() && inner.receivers.is_empty() && self.may_stand(here) {
                    // SAFETY: the caller's promise.
                    match unsafe { self.stand_to_receive(inner, here, into) } {
                        Met::Yes => {
                            here.pay_fuel(place);
                            return Ok(());
                        }
                        Met::Dismissed | Met::No => continue,
                    }
                }
                let (wait, waiter) = record.begin(here, into.cast());
                // SAFETY: as in `send_in_fiber`.
                unsafe { inner.receivers.push(waiter) };
                drop(inner);
                match here.park(wait, Reason::Receive, Object::of(self), place) {
                    Woken::Object(_) if waiter.was_handed() => return Ok(()),
                    Woken::Cancelled(cause) => {
                        self.inner.lock().receivers.remove(waiter);
                        here.pay_fuel(place);
                        return Err(Unmet::Cancelled(cause));
                    }
                    // It was closed.
                    _ => {}
                }
            }
        })
    }

    /// Whether somebody may come from another thread, as far as is known. Else there is nobody to stand on the doorstep for.
    #[inline(always)]
    fn is_for_several(&self) -> bool {
        Doorstep::fits::<T>() && !self.inner.is_biased()
    }

    /// Under the lock.
    #[inline(never)]
    fn may_stand(&self, here: Here<'_>) -> bool {
        self.doorstep.is_vacant() && here.may_stand()
    }

    /// # Safety
    /// As for [`send_in_fiber`](Self::send_in_fiber); the value is gone if somebody was met.
    #[inline(never)]
    unsafe fn stand_to_send(&self, guard: LockGuard<'_, Inner<T>>, here: Here<'_>, from: *mut T) -> Met {
        // SAFETY: the lock is held, the caller has seen that the doorstep is vacant, and that values fit.
        unsafe { self.doorstep.offer(from) };
        drop(guard);
        here.stand(|| self.doorstep.is_over());
        // SAFETY: it was offered above, here and below.
        let met = unsafe { self.doorstep.ask_sender() };
        if met != Met::No {
            return met;
        }
        let _guard = self.inner.lock_as(here.thread());
        // SAFETY: as above.
        let met = unsafe { self.doorstep.ask_sender() };
        if met == Met::No {
            self.doorstep.leave();
        }
        met
    }

    /// # Safety
    /// As for [`receive_in_fiber`](Self::receive_in_fiber); there is a value if somebody was met.
    #[inline(never)]
    unsafe fn stand_to_receive(&self, guard: LockGuard<'_, Inner<T>>, here: Here<'_>, into: *mut T) -> Met {
        self.doorstep.await_value();
        drop(guard);
        here.stand(|| self.doorstep.is_over());
        // SAFETY: it is this receiver that stands here; `into` can be written. Here and below.
        let met = unsafe { self.doorstep.ask_receiver(into) };
        if met != Met::No {
            return met;
        }
        let _guard = self.inner.lock_as(here.thread());
        // SAFETY: as above.
        let met = unsafe { self.doorstep.ask_receiver(into) };
        if met == Met::No {
            self.doorstep.leave();
        }
        met
    }
}
