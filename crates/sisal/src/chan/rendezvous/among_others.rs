//! Meeting in fibers where others than those of one thread use the channel, or it is closed. The protocol is that of the [rendezvous](super); who is met on the
//! [doorstep](super::doorstep) has not waited at all (`pingpong-cross`).
#![allow(unsafe_code, reason = "values are moved between frames by pointer")]

use super::doorstep::{Doorstep, Met};
use super::in_fiber::{Ending, Record};
use super::{Inner, Rendezvous};
use crate::fiber::waiter::Woken;
use crate::park::Here;
use crate::prim::lock::LockGuard;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};

/// How a moment on the doorstep ended.
enum Stood<'a, T> {
    Met,
    /// The channel was closed.
    Dismissed,
    /// Nobody came. The lock is held.
    InVain(LockGuard<'a, Inner<T>>),
}

impl<T> Rendezvous<T> {
    /// As [`send_in_fiber`](Self::send_in_fiber), whoever uses the channel.
    ///
    /// # Safety
    /// As for that.
    #[inline(never)]
    pub(super) unsafe fn send_among_others(&self, here: Here<'_>, from: *mut T, place: Place) -> Ending {
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
    pub(super) unsafe fn receive_among_others(&self, here: Here<'_>, into: *mut T, place: Place) -> Ending {
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
