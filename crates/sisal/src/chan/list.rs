//! A channel with room for any number of values: blocks of them in a list, under a lock for a few instructions.
//!
//! # Protocol
//! One lock guards the values, the list of receivers that wait, and whether the channel is closed. Nobody waits to send.
//! - *Send*: lock; if closed, say so; append the value; claim the first receiver; unlock; signal it. If a new block is needed, it is
//!   made with the lock free.
//! - *Receive*: lock; take the first value. If there is none and the channel is closed, say so; else link the waiter and unlock, in one
//!   step, so that the next send finds it. A value may be taken by somebody else before a signalled waiter comes; then it waits again.
//! - *Close*: lock, set the flag, claim all receivers, unlock, signal them. What was let in before is still received.
//! - *Cancel, deadline*: they claim the wait; the waiter takes itself off the list. Nothing has moved.
#![allow(unsafe_code, reason = "values are moved by pointer")]

use super::port::{Attempt, Channel, Enlisted, ReceivePort, Room, SendPort};
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Claimed, Waiter};
use crate::fiber::who::Who;
use crate::park::{unpark, unpark_all};
use crate::prim::lock::Lock;
use crate::prim::object::{Sight, Watched};
use std::collections::VecDeque;

/// How many values a block has room for.
const BLOCK: usize = 64;

/// See the [module](self).
pub(crate) struct List<T> {
    inner: Lock<Inner<T>>,
}

struct Inner<T> {
    /// From the oldest on. INVARIANT: all but the last are full when they are put aside, and none but the first is partly taken.
    blocks: VecDeque<VecDeque<T>>,
    len: usize,
    /// An empty block, so that a steady coming and going allocates nothing.
    spare: Option<VecDeque<T>>,
    receivers: WaitList<Who>,
    closed: bool,
}

impl<T> Inner<T> {
    /// Takes the oldest value.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        let block = self.blocks.front_mut()?;
        let value = block.pop_front();
        if block.is_empty() && self.blocks.len() > 1 {
            self.spare = self.blocks.pop_front();
        }
        self.len -= usize::from(value.is_some());
        value
    }

    /// Whether there is room without allocating.
    #[inline]
    fn has_room(&mut self) -> bool {
        if self.blocks.back().is_some_and(|block| block.len() < BLOCK) {
            return true;
        }
        match self.spare.take() {
            Some(block) if self.blocks.len() < self.blocks.capacity() => {
                self.blocks.push_back(block);
                true
            }
            spare => {
                self.spare = spare;
                false
            }
        }
    }
}

impl<T> List<T> {
    pub(crate) fn new() -> List<T> {
        let inner = Inner { blocks: VecDeque::new(), len: 0, spare: None, receivers: WaitList::new(), closed: false };
        List { inner: Lock::new(inner) }
    }

    /// Makes room with the lock free.
    #[cold]
    fn grow(&self) {
        let block = VecDeque::with_capacity(BLOCK);
        let mut inner = self.inner.lock();
        let more = inner.blocks.len() + 1;
        if inner.blocks.capacity() < more {
            drop(inner);
            let mut roomier = VecDeque::with_capacity(more * 2);
            inner = self.inner.lock();
            if inner.blocks.capacity() < roomier.capacity() {
                roomier.append(&mut inner.blocks);
                std::mem::swap(&mut roomier, &mut inner.blocks);
            }
            inner.spare.get_or_insert(block);
            drop(inner);
            // The old one goes here, with the lock free.
            return drop(roomier);
        }
        inner.spare.get_or_insert(block);
    }

    #[inline]
    unsafe fn receive(&self, slot: *mut T, waiter: Option<&Waiter<Who>>) -> Attempt {
        let mut inner = self.inner.lock();
        if let Some(value) = inner.pop() {
            drop(inner);
            // SAFETY: the caller's promise.
            unsafe { slot.write(value) };
            return Attempt::Done;
        }
        if inner.closed {
            return Attempt::Closed;
        }
        if let Some(waiter) = waiter {
            // SAFETY: the caller's promise.
            unsafe { inner.receivers.push(waiter) };
        }
        Attempt::Waits
    }
}

impl<T> Watched for List<T> {
    fn sight(&self) -> Sight {
        // One waits only while it is open and empty.
        Sight::channel(None, 0)
    }
}

impl<T> SendPort<T> for List<T> {
    const HANDS_OVER: bool = false;

    #[inline]
    unsafe fn try_send(&self, slot: *mut T) -> Attempt {
        loop {
            let mut inner = self.inner.lock();
            if inner.closed {
                return Attempt::Closed;
            }
            if !inner.has_room() {
                drop(inner);
                self.grow();
                continue;
            }
            if let Some(block) = inner.blocks.back_mut() {
                // SAFETY: the caller's promise.
                block.push_back(unsafe { slot.read() });
            }
            inner.len += 1;
            let claimed = inner.receivers.claim_first();
            drop(inner);
            claimed.map(Claimed::into_token).into_iter().for_each(unpark);
            return Attempt::Done;
        }
    }

    unsafe fn send_or_enlist(&self, slot: *mut T, _waiter: &Waiter<Who>, _room: Room) -> Attempt {
        // SAFETY: the caller's promise. It never has to wait.
        unsafe { self.try_send(slot) }
    }

    unsafe fn enlist_sender(&self, _waiter: &Waiter<Who>) -> Enlisted {
        Enlisted::No
    }

    fn delist_sender(&self, _waiter: &Waiter<Who>) {}

    fn pass_on_room(&self) {}
}

impl<T> ReceivePort<T> for List<T> {
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
        if inner.closed || inner.len > 0 {
            return Enlisted::No;
        }
        // SAFETY: the caller's promise.
        unsafe { inner.receivers.push(waiter) };
        Enlisted::Yes
    }

    fn delist_receiver(&self, waiter: &Waiter<Who>) {
        self.inner.lock().receivers.remove(waiter);
    }

    fn pass_on_receipt(&self) {
        let mut inner = self.inner.lock();
        let claimed = if inner.len > 0 { inner.receivers.claim_first() } else { None };
        drop(inner);
        claimed.map(Claimed::into_token).into_iter().for_each(unpark);
    }
}

impl<T> Channel for List<T> {
    fn close_and(&self, say: impl FnOnce()) -> bool {
        let mut inner = self.inner.lock();
        if std::mem::replace(&mut inner.closed, true) {
            return false;
        }
        let receivers = inner.receivers.claim_all();
        drop(inner);
        say();
        unpark_all(receivers);
        true
    }

    fn is_closed(&self) -> bool {
        self.inner.lock().closed
    }

    fn len(&self) -> usize {
        self.inner.lock().len
    }

    fn capacity(&self) -> Option<usize> {
        None
    }

    fn discard(&self) {
        let mut inner = self.inner.lock();
        inner.len = 0;
        let all = (std::mem::take(&mut inner.blocks), inner.spare.take());
        drop(inner);
        drop(all);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::chan::models::{Item, close_against_send, give_up_against_send, take_turns};

    /// Two senders and a receiver: all items come, each once.
    #[test]
    fn loom_list_delivers_every_item_once() {
        take_turns(|| List::<Item>::new(), false);
    }

    /// A send against a close: what was let in is received, what was not is given back.
    #[test]
    fn loom_list_closes_exactly() {
        close_against_send(|| List::<Item>::new(), false);
    }

    /// A receiver gives up while an item is sent to two: the other gets it.
    #[test]
    fn loom_list_item_is_not_lost_to_one_who_gives_up() {
        give_up_against_send(|| List::<Item>::new());
    }
}
