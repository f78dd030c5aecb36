//! A channel without room: a sender and a receiver meet, and the value goes from one frame to the other.
//!
//! # Protocol
//! One lock guards two lists: senders that wait, receivers that wait. At most one of them holds anybody who can still be claimed
//! (but for a moment, while selects enlist).
//!
//! - *Send*: lock. Claim the first receiver; if there is one, move the value into its slot, mark it handed, unlock, unpark it. If there
//!   is none, and the channel is closed, say so; else link the sender and unlock, in one step: there is no gap between deciding
//!   to wait and being findable.
//! - *Receive*: the same with the sides exchanged; the value is moved out of the sender's slot.
//! - *Who has nothing else to do*, and finds nobody in a channel that several threads use, or may, stands on the [doorstep] for a moment before it waits.
//!   Whoever stands there is met before those who wait.
//! - *Locks*: whoever cancels a node has its lock when that closes a channel. So under the lock of a channel that of a node is never taken.
//! - *Close*: lock, set the flag, dismiss who stands on the doorstep, claim all who wait, unlock, unpark them. They find out by trying again.
//! - *A receiver that was handed a value and goes* without it, as a future may: the value goes to the next receiver that waits, or is kept
//!   as an *orphan* for the next that comes, before any sender's. So what was sent is received, also after a close.
//! - *Cancel, deadline*: they claim the wait. Whoever wins the claim decides: a committed meeting is never torn, since the value moves
//!   after the claim is won, and one that gives up has not been claimed, so its slot has not been touched.
#![allow(unsafe_code, reason = "values are moved between frames by pointer")]

mod among_others;
mod doorstep;
mod in_fiber;

pub(super) use self::in_fiber::{Ending, Unmet};

use self::doorstep::Doorstep;

use super::port::{Attempt, Channel, Enlisted, ReceivePort, Room, SendPort};
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::{unpark, unpark_all};
use crate::prim::lock::Lock;
use crate::prim::object::{Sight, Watched};
use std::collections::VecDeque;

/// See the [module](self).
///
/// The doorstep and the words of the lock share a line.
#[repr(C, align(64))]
pub(crate) struct Rendezvous<T> {
    doorstep: Doorstep,
    inner: Lock<Inner<T>>,
}

struct Inner<T> {
    /// Values that were sent and whose receivers went without them.
    orphans: VecDeque<T>,
    senders: WaitList<Who>,
    receivers: WaitList<Who>,
    closed: bool,
}

impl<T> Rendezvous<T> {
    pub(crate) fn new() -> Rendezvous<T> {
        let (senders, receivers) = (WaitList::new(), WaitList::new());
        let inner = Inner { orphans: VecDeque::new(), senders, receivers, closed: false };
        Rendezvous { doorstep: Doorstep::new(), inner: Lock::new(inner) }
    }

    #[inline(always)]
    unsafe fn send(&self, slot: *mut T, waiter: Option<&Waiter<Who>>) -> Attempt {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Attempt::Closed;
        }
        // SAFETY: the caller's promise.
        if unsafe { self.doorstep.give(slot) } {
            return Attempt::Done;
        }
        let Some(receiver) = inner.receivers.claim_first() else {
            if let Some(waiter) = waiter {
                // SAFETY: the caller's promise.
                unsafe { inner.senders.push(waiter) };
            }
            return Attempt::Waits;
        };
        drop(inner);
        // SAFETY: the receiver's slot is a place for a `T` in its frame, which stays until it is unparked; ours holds a value.
        unsafe { receiver.hand_over().cast::<T>().write(slot.read()) };
        unpark(receiver.into_token());
        Attempt::Done
    }

    #[inline(always)]
    unsafe fn receive(&self, slot: *mut T, waiter: Option<&Waiter<Who>>) -> Attempt {
        let mut inner = self.inner.lock();
        if let Some(orphan) = inner.orphans.pop_front() {
            drop(inner);
            // SAFETY: the caller's promise.
            unsafe { slot.write(orphan) };
            return Attempt::Done;
        }
        // SAFETY: the caller's promise.
        if unsafe { self.doorstep.accept(slot) } {
            return Attempt::Done;
        }
        let Some(sender) = inner.senders.claim_first() else {
            if inner.closed {
                return Attempt::Closed;
            }
            if let Some(waiter) = waiter {
                // SAFETY: the caller's promise.
                unsafe { inner.receivers.push(waiter) };
            }
            return Attempt::Waits;
        };
        drop(inner);
        // SAFETY: the sender's slot holds a value in its frame, which stays until it is unparked and is then told that the value has
        // been taken; ours can be written.
        unsafe { slot.write(sender.hand_over().cast::<T>().read()) };
        unpark(sender.into_token());
        Attempt::Done
    }
}

impl<T> Inner<T> {
    /// Whether somebody else waits in `list`, as far as can be seen.
    fn has_peer(list: &WaitList<Who>, me: &Waiter<Who>) -> bool {
        list.any(|other| !other.is_of_same_wait(me))
    }
}

impl<T> Watched for Rendezvous<T> {
    fn sight(&self) -> Sight {
        // One waits only while it is open.
        Sight::channel(Some(0), 0)
    }
}

impl<T> SendPort<T> for Rendezvous<T> {
    const HANDS_OVER: bool = false;

    #[inline]
    unsafe fn try_send(&self, slot: *mut T) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.send(slot, None) }
    }

    #[inline]
    unsafe fn send_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>, _room: Room) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.send(slot, Some(waiter)) }
    }

    unsafe fn enlist_sender(&self, waiter: &Waiter<Who>) -> Enlisted {
        let mut inner = self.inner.lock();
        if inner.closed || self.doorstep.is_awaited() || Inner::<T>::has_peer(&inner.receivers, waiter) {
            return Enlisted::No;
        }
        // SAFETY: the caller's promise.
        unsafe { inner.senders.push(waiter) };
        Enlisted::Yes
    }

    fn delist_sender(&self, waiter: &Waiter<Who>) {
        self.inner.lock().senders.remove(waiter);
    }

    /// Its waiters are signalled at the close only, and then all.
    fn pass_on_room(&self) {}
}

impl<T> ReceivePort<T> for Rendezvous<T> {
    const HANDS_OVER: bool = true;

    #[inline]
    unsafe fn try_receive(&self, slot: *mut T) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.receive(slot, None) }
    }

    #[inline]
    unsafe fn receive_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.receive(slot, Some(waiter)) }
    }

    unsafe fn enlist_receiver(&self, waiter: &Waiter<Who>) -> Enlisted {
        let mut inner = self.inner.lock();
        let is_ready = inner.closed || !inner.orphans.is_empty() || self.doorstep.is_offered();
        if is_ready || Inner::<T>::has_peer(&inner.senders, waiter) {
            return Enlisted::No;
        }
        // SAFETY: the caller's promise.
        unsafe { inner.receivers.push(waiter) };
        Enlisted::Yes
    }

    fn delist_receiver(&self, waiter: &Waiter<Who>) {
        self.inner.lock().receivers.remove(waiter);
    }

    /// As [`pass_on_room`](SendPort::pass_on_room).
    fn pass_on_receipt(&self) {}

    unsafe fn give_back(&self, slot: *mut T) {
        let mut inner = self.inner.lock();
        // SAFETY: the caller's promise.
        if unsafe { self.doorstep.give(slot) } {
            return;
        }
        match inner.receivers.claim_first() {
            Some(receiver) => {
                drop(inner);
                // SAFETY: as in `send`.
                unsafe { receiver.hand_over().cast::<T>().write(slot.read()) };
                unpark(receiver.into_token());
            }
            // SAFETY: the caller's promise.
            None => inner.orphans.push_back(unsafe { slot.read() }),
        }
    }
}

impl<T> Channel for Rendezvous<T> {
    fn close_and(&self, say: impl FnOnce()) -> bool {
        let mut inner = self.inner.lock();
        if std::mem::replace(&mut inner.closed, true) {
            return false;
        }
        self.doorstep.dismiss();
        let (senders, receivers) = (inner.senders.claim_all(), inner.receivers.claim_all());
        drop(inner);
        say();
        unpark_all(senders.chain(receivers));
        true
    }

    fn is_closed(&self) -> bool {
        self.inner.lock().closed
    }

    fn len(&self) -> usize {
        self.inner.lock().orphans.len()
    }

    fn capacity(&self) -> Option<usize> {
        Some(0)
    }

    fn discard(&self) {
        let orphans = std::mem::take(&mut self.inner.lock().orphans);
        drop(orphans);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::chan::models::{Item, close_against_send, give_up_against_send, take_turns};

    /// Two senders and a receiver: all items come, each once.
    #[test]
    fn loom_rendezvous_delivers_every_item_once() {
        take_turns(|| Rendezvous::<Item>::new(), true);
    }

    /// A send against a close: what was let in is received, what was not is given back.
    #[test]
    fn loom_rendezvous_closes_exactly() {
        close_against_send(|| Rendezvous::<Item>::new(), true);
    }

    /// A receiver gives up while an item is sent to two: the other gets it.
    #[test]
    fn loom_rendezvous_item_is_not_lost_to_one_who_gives_up() {
        give_up_against_send(|| Rendezvous::<Item>::new());
    }
}
