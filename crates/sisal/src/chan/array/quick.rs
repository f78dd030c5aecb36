//! Sending and receiving where nothing is in the way: nobody is quicker, and there is room, or a value.
//!
//! That is how most calls go, and such a call costs as much as all it does if it has to keep what is needed for the rest. So whatever else there
//! is to do is left to another function, by the last call in this one, and nothing is kept for afterwards (`chan-1-1`).
//!
//! A fiber whose thread alone uses the channel does it all in one go, in the code of its caller: who runs is asked for by what the compiler takes for a
//! call, and there that is done once for many (`chan-4-4`: 10.7 to 5.4 ns).
#![allow(unsafe_code, reason = "values are moved through pointers to slots")]

use super::{Array, FLAGS, Passed, STEP, Spot, Turn};
use crate::park::{Here, give_way_now, spend_fuel, with_here};
use crate::prim::atomic::Ordering;
use crate::prim::reason::Place;

/// What came of an attempt for which the thread has to be the only one that uses the channel.
pub(crate) enum Alone {
    Done,
    /// It is the only one, and something is in the way.
    InTheWay,
    /// It is not.
    Not,
}

impl<T> Array<T> {
    /// Moves the value out of `from` by one attempt of the fiber that runs, if one does, and pays for it. False, and nothing done, if something was
    /// in the way: perhaps not for long.
    ///
    /// # Safety
    /// `from` holds a value; if the result is true, no longer.
    #[inline(always)]
    pub(crate) unsafe fn send_quickly(&self, from: *mut T, place: Place) -> bool {
        with_here(|here| match here {
            // SAFETY: the caller's promise.
            Some(here) => unsafe { self.send_alone(here, from, place) },
            // SAFETY: as above.
            None => unsafe { self.send_among_others(from, place) },
        })
    }

    /// # Safety
    /// As for [`send_quickly`](Self::send_quickly).
    #[inline(always)]
    unsafe fn send_alone(&self, here: Here<'_>, from: *mut T, place: Place) -> bool {
        // SAFETY: the caller's promise.
        match unsafe { self.send_if_alone(here, from) } {
            Alone::Done if here.spend_fuel() => give_way(place),
            Alone::Done => true,
            Alone::InTheWay => false,
            // SAFETY: the caller's promise.
            Alone::Not => unsafe { self.send_among_others(from, place) },
        }
    }

    /// # Safety
    /// `from` holds a value; if it is done, no longer.
    #[inline(always)]
    pub(crate) unsafe fn send_if_alone(&self, here: Here<'_>, from: *mut T) -> Alone {
        let Some(_alone) = self.waiting.lock_own(here.thread()) else { return Alone::Not };
        let word = self.tail.load(Ordering::Relaxed);
        if word & FLAGS != 0 {
            return Alone::InTheWay;
        }
        let Spot { position, slot, next } = self.spot_at(word);
        // ORDERING: Acquire, as in `try_pass_tail`: one that has moved the head before the lock became our own perhaps reads the value out only now.
        if slot.stamp.load(Ordering::Acquire) != position {
            return Alone::InTheWay;
        }
        // ORDERING: Release, as the exchange in `try_pass_tail`: others may look at it without the lock.
        self.tail.store(next, Ordering::Release);
        // SAFETY: we moved the tail past this slot; the caller's promise.
        unsafe { Self::put_in(&Passed { word, slot }, from) };
        Alone::Done
    }

    /// # Safety
    /// As for [`send_quickly`](Self::send_quickly).
    #[inline(never)]
    unsafe fn send_among_others(&self, from: *mut T, place: Place) -> bool {
        let Turn::Moved(passed) = self.try_pass_tail(self.tail.load(Ordering::Relaxed)) else { return false };
        // SAFETY: the caller's promise.
        if unsafe { Self::put_in(&passed, from) } {
            return self.tell_receiver(place);
        }
        if spend_fuel() {
            return give_way(place);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn tell_receiver(&self, place: Place) -> bool {
        self.signal_receiver();
        if spend_fuel() {
            give_way_now(place);
        }
        true
    }

    /// Moves a value into `into` by one attempt, and pays for it. False, and nothing done, as above.
    ///
    /// # Safety
    /// `into` can be written; if the result is true, it holds a value.
    #[inline(always)]
    pub(crate) unsafe fn receive_quickly(&self, into: *mut T, place: Place) -> bool {
        with_here(|here| match here {
            // SAFETY: the caller's promise.
            Some(here) => unsafe { self.receive_alone(here, into, place) },
            // SAFETY: as above.
            None => unsafe { self.receive_among_others(into, place) },
        })
    }

    /// # Safety
    /// As for [`receive_quickly`](Self::receive_quickly).
    #[inline(always)]
    unsafe fn receive_alone(&self, here: Here<'_>, into: *mut T, place: Place) -> bool {
        // SAFETY: the caller's promise.
        match unsafe { self.receive_if_alone(here, into) } {
            Alone::Done if here.spend_fuel() => give_way(place),
            Alone::Done => true,
            Alone::InTheWay => false,
            // SAFETY: the caller's promise.
            Alone::Not => unsafe { self.receive_among_others(into, place) },
        }
    }

    /// # Safety
    /// `into` can be written; if it is done, it holds a value.
    #[inline(always)]
    pub(crate) unsafe fn receive_if_alone(&self, here: Here<'_>, into: *mut T) -> Alone {
        let Some(_alone) = self.waiting.lock_own(here.thread()) else { return Alone::Not };
        let word = self.head.load(Ordering::Relaxed);
        if word & FLAGS != 0 {
            return Alone::InTheWay;
        }
        let Spot { position, slot, next } = self.spot_at(word);
        // ORDERING: Acquire, as in `try_pass_head`: likewise.
        if slot.stamp.load(Ordering::Acquire) != position + STEP {
            return Alone::InTheWay;
        }
        // ORDERING: Release, as the exchange in `try_pass_head`.
        self.head.store(next, Ordering::Release);
        // SAFETY: we moved the head past this slot; the caller's promise.
        unsafe { self.take_out(&Passed { word, slot }, into) };
        Alone::Done
    }

    /// # Safety
    /// As for [`receive_quickly`](Self::receive_quickly).
    #[inline(never)]
    unsafe fn receive_among_others(&self, into: *mut T, place: Place) -> bool {
        let Turn::Moved(passed) = self.try_pass_head(self.head.load(Ordering::Relaxed)) else { return false };
        // SAFETY: the caller's promise.
        if unsafe { self.take_out(&passed, into) } {
            return self.tell_senders(passed.word, place);
        }
        if spend_fuel() {
            return give_way(place);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn tell_senders(&self, word: usize, place: Place) -> bool {
        self.signal_senders(word);
        if spend_fuel() {
            give_way_now(place);
        }
        true
    }
}

#[cold]
#[inline(never)]
fn give_way(place: Place) -> bool {
    give_way_now(place);
    true
}
