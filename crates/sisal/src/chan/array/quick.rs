//! Sending and receiving where nothing is in the way: nobody is quicker, and there is room, or a value.
//!
//! That is how most calls go, and such a call costs as much as all it does if it has to keep what is needed for the rest. So whatever else there
//! is to do is left to another function, by the last call in this one, and nothing is kept for afterwards (`chan-1-1`).
#![allow(unsafe_code, reason = "values are moved through pointers to slots")]

use super::{Array, Turn};
use crate::park::{give_way_now, spend_fuel};
use crate::prim::atomic::Ordering;
use crate::prim::reason::Place;

impl<T> Array<T> {
    /// Moves the value out of `from` by one attempt, and pays for it. False, and nothing done, if something was in the way: perhaps not for
    /// long.
    ///
    /// # Safety
    /// `from` holds a value; if the result is true, no longer.
    #[inline(never)]
    pub(crate) unsafe fn send_quickly(&self, from: *mut T, place: Place) -> bool {
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
    #[inline(never)]
    pub(crate) unsafe fn receive_quickly(&self, into: *mut T, place: Place) -> bool {
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
