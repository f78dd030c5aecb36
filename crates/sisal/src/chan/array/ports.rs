//! The array as others see it: its ports, and what can be asked of it. The protocol is in the [array](super).
#![allow(unsafe_code, reason = "the promises are those of the ports")]

use super::{Array, CLOSED, FLAGS, STEP, WAITED};
use crate::chan::pace::FEWEST;
use crate::chan::port::{Attempt, Channel, Enlisted, ReceivePort, Room, SendPort};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::unpark_all;
use crate::prim::atomic::{Backoff, Ordering};
use crate::prim::object::{Sight, Watched};
use std::mem::MaybeUninit;

impl<T> Array<T> {
    /// How many values are in it, or were a moment ago.
    fn len_at_a_glance(&self) -> usize {
        let index = |position: usize| (position & self.within_lap) / STEP;
        loop {
            // ORDERING: Acquire at least, so that these are read one after the other; they pair with the exchanges in `try_pass_tail` and
            // `try_pass_head`. The tail passes a slot when that has been read out, so a head read after it is one lap behind at most; the
            // head passes a slot when that has been written, so a tail read after it is not behind. Otherwise a head could meet a
            // tail of another time, and their difference be the length of nothing.
            let tail = self.tail.load(Ordering::SeqCst);
            let head = self.head.load(Ordering::SeqCst);
            // A tail that has not moved belongs to that head.
            if self.tail.load(Ordering::SeqCst) & !FLAGS == tail & !FLAGS {
                let (tail, head) = (tail & !FLAGS, head & !FLAGS);
                return match (index(head), index(tail)) {
                    (first, end) if first < end => end - first,
                    (first, end) if first > end => self.slots.len() - first + end,
                    _ if head == tail => 0,
                    _ => self.slots.len(),
                };
            }
        }
    }
}

impl<T> Watched for Array<T> {
    fn sight(&self) -> Sight {
        let is_outside = self.is_outside.load(Ordering::Relaxed) != 0;
        Sight { closed: Some(self.is_closed()), is_outside, ..Sight::channel(self.capacity(), self.len_at_a_glance()) }
    }
}

impl<T> SendPort<T> for Array<T> {
    const HANDS_OVER: bool = false;

    #[inline(always)]
    unsafe fn try_send(&self, slot: *mut T) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.send(slot) }
    }

    unsafe fn send_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>, room: Room) -> Attempt {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: the caller's promise.
            match unsafe { self.send(slot) } {
                // SAFETY: as above.
                Attempt::Waits => match unsafe { self.enlist_for(waiter, room) } {
                    Enlisted::Yes => return Attempt::Waits,
                    Enlisted::No => backoff.pause(),
                },
                other => return other,
            }
        }
    }

    unsafe fn enlist_sender(&self, waiter: &Waiter<Who>) -> Enlisted {
        // SAFETY: the caller's promise.
        unsafe { self.enlist_for(waiter, Room::Any) }
    }

    fn delist_sender(&self, waiter: &Waiter<Who>) {
        self.waiting.lock().senders.remove(waiter);
    }

    fn pass_on_room(&self) {
        if self.len() < self.slots.len() {
            self.signal_sender();
        }
    }

    fn worthwhile_room(&self) -> Room {
        if self.half() >= FEWEST && self.pace.is_quick() { Room::Half } else { Room::Any }
    }

    fn end_wait_for_half(&self, is_free: bool) {
        // A good part of it is worth it too.
        self.pace.learn(is_free || self.slots.len() - self.len() >= self.half() / 4);
    }
}

impl<T> ReceivePort<T> for Array<T> {
    const HANDS_OVER: bool = false;

    #[inline(always)]
    unsafe fn try_receive(&self, slot: *mut T) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.receive(slot) }
    }

    unsafe fn receive_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>) -> Attempt {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: the caller's promise.
            match unsafe { self.receive(slot) } {
                // SAFETY: as above.
                Attempt::Waits => match unsafe { self.enlist_receiver(waiter) } {
                    Enlisted::Yes => return Attempt::Waits,
                    Enlisted::No => backoff.pause(),
                },
                other => return other,
            }
        }
    }

    unsafe fn enlist_receiver(&self, waiter: &Waiter<Who>) -> Enlisted {
        let mut waiting = self.waiting.lock();
        // ORDERING: AcqRel: pairs with the exchanges of the tail.
        let tail = self.tail.fetch_or(WAITED, Ordering::AcqRel);
        // ORDERING: Acquire pairs with the exchanges of the head.
        let head = self.head.load(Ordering::Acquire) & !FLAGS;
        if tail & CLOSED != 0 || head != tail & !FLAGS {
            return Enlisted::No;
        }
        // SAFETY: the caller's promise.
        unsafe { waiting.receivers.push(waiter) };
        Enlisted::Yes
    }

    fn delist_receiver(&self, waiter: &Waiter<Who>) {
        self.waiting.lock().receivers.remove(waiter);
    }

    fn pass_on_receipt(&self) {
        if self.len() > 0 {
            self.signal_receiver();
        }
    }
}

impl<T> Channel for Array<T> {
    fn close_and(&self, say: impl FnOnce()) -> bool {
        let mut waiting = self.waiting.lock();
        // ORDERING: AcqRel: pairs with the exchanges of the tail: what was let in before is seen by whoever sees CLOSED.
        if self.tail.fetch_or(CLOSED, Ordering::AcqRel) & CLOSED != 0 {
            return false;
        }
        let (senders, receivers) = (waiting.senders.claim_all(), waiting.receivers.claim_all());
        drop(waiting);
        say();
        unpark_all(senders.chain(receivers));
        true
    }

    fn is_closed(&self) -> bool {
        self.tail.load(Ordering::Relaxed) & CLOSED != 0
    }

    fn len(&self) -> usize {
        self.waiting.see(&self.others);
        self.len_at_a_glance()
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.slots.len())
    }

    fn discard(&self) {
        debug_assert!(self.is_closed(), "INVARIANT: closed before it is discarded");
        let mut slot = MaybeUninit::<T>::uninit();
        // SAFETY: the slot can be written, and holds a value after each receive.
        while unsafe { self.receive(slot.as_mut_ptr()) } == Attempt::Done {
            let rest = OnUnwind(|| self.discard());
            // SAFETY: as above.
            unsafe { slot.assume_init_drop() };
            std::mem::forget(rest);
        }
    }
}

/// Calls something if a message panics when it is dropped: the others go all the same.
struct OnUnwind<F: Fn()>(F);

impl<F: Fn()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
