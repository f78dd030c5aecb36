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
use crate::park::{Here, give_way_now, with_here};
use crate::prim::cancel::Cause;
use crate::prim::lock::{LockGuard, OwnGuard};
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
    const CLOSED: Ending = Ending(2);
    const FIRST_CAUSE: usize = 3;

    fn cancelled(cause: Cause) -> Ending {
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

/// How a moment on the doorstep ended.
enum Stood<'a, T> {
    Met,
    /// The channel was closed.
    Dismissed,
    /// Nobody came. The lock is held.
    InVain(LockGuard<'a, Inner<T>>),
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

    /// Apart from a meeting at once, which would have to make room for all that this needs. Nobody receives. It takes words, and returns one, to be the
    /// last call of its caller, which [returns by a jump](return_by_jump) (`pingpong-1`).
    ///
    /// # Safety
    /// Its words are this channel, in a fiber of whose thread the lock was kept, the `from` of [`send_in_fiber`](Self::send_in_fiber), and the place.
    unsafe extern "C-unwind" fn wait_to_send(this: *const (), from: *mut (), place: *const ()) -> usize {
        // SAFETY: the caller's promise.
        let (this, place) = unsafe { (&*this.cast::<Self>(), place_of_word(place)) };
        with_here(|here| {
            let here = here.unwrap_or_else(|| unreachable!("INVARIANT: the caller is in a fiber"));
            let mut record = Record::new();
            let (wait, waiter) = record.begin(here, from);
            // SAFETY: the lock was kept. Both stay in this frame until the wait is over, and the waiter is delisted if the channel did not end
            // it.
            unsafe { this.inner.own_again().senders.push(waiter) };
            here.park(wait, Reason::Send, Object::of(this), place);
            if waiter.was_handed() {
                return Ending::MET.0;
            }
            this.give_up(here, wait, place, || this.inner.lock().senders.remove(waiter)).0
        })
    }

    /// As [`wait_to_send`](Self::wait_to_send). Nobody sends.
    ///
    /// # Safety
    /// As for that, with the `into` of [`receive_in_fiber`](Self::receive_in_fiber).
    unsafe extern "C-unwind" fn wait_to_receive(this: *const (), into: *mut (), place: *const ()) -> usize {
        // SAFETY: the caller's promise.
        let (this, place) = unsafe { (&*this.cast::<Self>(), place_of_word(place)) };
        with_here(|here| {
            let here = here.unwrap_or_else(|| unreachable!("INVARIANT: the caller is in a fiber"));
            let mut record = Record::new();
            let (wait, waiter) = record.begin(here, into);
            // SAFETY: as in `wait_to_send`.
            unsafe { this.inner.own_again().receivers.push(waiter) };
            here.park(wait, Reason::Receive, Object::of(this), place);
            if waiter.was_handed() {
                return Ending::MET.0;
            }
            this.give_up(here, wait, place, || this.inner.lock().receivers.remove(waiter)).0
        })
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

    /// As [`send_in_fiber`](Self::send_in_fiber), whoever uses the channel.
    ///
    /// # Safety
    /// As for that.
    #[inline(never)]
    unsafe fn send_among_others(&self, here: Here<'_>, from: *mut T, place: Place) -> Ending {
        let mut record = Record::new();
        loop {
            let mut inner = self.inner.lock_as(here.thread());
            // SAFETY: the caller's promise.
            if unsafe { self.doorstep.give(from) } {
                drop(inner);
                here.pay_fuel(place);
                return Ending::MET;
            }
            if let Some(receiver) = inner.receivers.claim_first() {
                drop(inner);
                // SAFETY: as in `send_in_fiber`.
                unsafe { receiver.hand_over().cast::<T>().write(from.read()) };
                here.unpark(receiver.into_token());
                here.pay_fuel(place);
                return Ending::MET;
            }
            if inner.closed {
                drop(inner);
                here.pay_fuel(place);
                return Ending::CLOSED;
            }
            let mut has_stood = false;
            if self.is_for_several() && inner.senders.is_empty() && self.may_stand(here) {
                // SAFETY: the caller's promise.
                inner = match unsafe { self.stand_to_send(inner, here, from) } {
                    Stood::Met => {
                        here.pay_fuel(place);
                        return Ending::MET;
                    }
                    Stood::Dismissed => continue,
                    Stood::InVain(inner) => inner,
                };
                has_stood = true;
            }
            let (wait, waiter) = record.begin(here, from.cast());
            // SAFETY: both stay in this frame until the wait is over, and the waiter is delisted if the channel did not end it.
            unsafe { inner.senders.push_to(has_stood, waiter) };
            drop(inner);
            here.park_apart(wait, Reason::Send, Object::of(self), place);
            if waiter.was_handed() {
                return Ending::MET;
            }
            if let Some(Woken::Cancelled(cause)) = wait.woken() {
                self.inner.lock().senders.remove(waiter);
                here.pay_fuel(place);
                return Ending::cancelled(cause);
            }
            // It was closed.
        }
    }

    /// As [`receive_in_fiber`](Self::receive_in_fiber), whoever uses the channel.
    ///
    /// # Safety
    /// As for that.
    #[inline(never)]
    unsafe fn receive_among_others(&self, here: Here<'_>, into: *mut T, place: Place) -> Ending {
        let mut record = Record::new();
        loop {
            let mut inner = self.inner.lock_as(here.thread());
            if !inner.orphans.is_empty() {
                // They are received as everywhere else.
                return Ending::NOT_TRIED;
            }
            // SAFETY: the caller's promise.
            if unsafe { self.doorstep.accept(into) } {
                drop(inner);
                here.pay_fuel(place);
                return Ending::MET;
            }
            if let Some(sender) = inner.senders.claim_first() {
                drop(inner);
                // SAFETY: as in `receive_in_fiber`.
                unsafe { into.write(sender.hand_over().cast::<T>().read()) };
                here.unpark(sender.into_token());
                here.pay_fuel(place);
                return Ending::MET;
            }
            if inner.closed {
                drop(inner);
                here.pay_fuel(place);
                return Ending::CLOSED;
            }
            let mut has_stood = false;
            if self.is_for_several() && inner.receivers.is_empty() && self.may_stand(here) {
                // SAFETY: the caller's promise.
                inner = match unsafe { self.stand_to_receive(inner, here, into) } {
                    Stood::Met => {
                        here.pay_fuel(place);
                        return Ending::MET;
                    }
                    Stood::Dismissed => continue,
                    Stood::InVain(inner) => inner,
                };
                has_stood = true;
            }
            let (wait, waiter) = record.begin(here, into.cast());
            // SAFETY: as in `send_among_others`.
            unsafe { inner.receivers.push_to(has_stood, waiter) };
            drop(inner);
            here.park_apart(wait, Reason::Receive, Object::of(self), place);
            if waiter.was_handed() {
                return Ending::MET;
            }
            if let Some(Woken::Cancelled(cause)) = wait.woken() {
                self.inner.lock().receivers.remove(waiter);
                here.pay_fuel(place);
                return Ending::cancelled(cause);
            }
            // It was closed.
        }
    }

    /// Whether somebody may come from another thread, as far as is known: the lock is not one thread's own, or not yet. Else there is nobody to stand
    /// on the doorstep for.
    #[inline(always)]
    fn is_for_several(&self) -> bool {
        Doorstep::fits::<T>() && !self.inner.is_biased()
    }

    /// Under the lock. Takes no other.
    #[inline(never)]
    fn may_stand(&self, here: Here<'_>) -> bool {
        self.doorstep.is_vacant() && here.may_stand()
    }

    /// # Safety
    /// As for [`send_in_fiber`](Self::send_in_fiber); the value is gone if somebody was met.
    #[inline(never)]
    unsafe fn stand_to_send<'a>(
        &'a self,
        guard: LockGuard<'a, Inner<T>>,
        here: Here<'_>,
        from: *mut T,
    ) -> Stood<'a, T> {
        // SAFETY: the lock is held, the caller has seen that the doorstep is vacant, and that values fit.
        unsafe { self.doorstep.offer(from) };
        // SAFETY: it was offered just now.
        self.stand(guard, here, || unsafe { self.doorstep.ask_sender() })
    }

    /// # Safety
    /// As for [`receive_in_fiber`](Self::receive_in_fiber); there is a value if somebody was met.
    #[inline(never)]
    unsafe fn stand_to_receive<'a>(
        &'a self,
        guard: LockGuard<'a, Inner<T>>,
        here: Here<'_>,
        into: *mut T,
    ) -> Stood<'a, T> {
        self.doorstep.await_value();
        // SAFETY: it is this receiver that stands here; `into` can be written.
        self.stand(guard, here, || unsafe { self.doorstep.ask_receiver(into) })
    }

    /// For one who stands there, and whom `ask` tells how it went. In vain, it has left under the lock, which it still has: nobody has come between.
    #[inline(always)]
    fn stand<'a>(&'a self, guard: LockGuard<'a, Inner<T>>, here: Here<'_>, ask: impl Fn() -> Met) -> Stood<'a, T> {
        drop(guard);
        here.stand(|| self.doorstep.is_over());
        match ask() {
            Met::Yes => return Stood::Met,
            Met::Dismissed => return Stood::Dismissed,
            Met::No => {}
        }
        let guard = self.inner.lock_as(here.thread());
        match ask() {
            Met::Yes => Stood::Met,
            Met::Dismissed => Stood::Dismissed,
            Met::No => {
                self.doorstep.leave();
                Stood::InVain(guard)
            }
        }
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
