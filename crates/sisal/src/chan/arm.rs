//! A channel operation as an arm of a select: a port together with the slot its value goes through.
//!
//! Select knows arms only as [`Arm`]s, whatever their channels carry.
#![allow(unsafe_code, reason = "values are moved by way of slots in the arms")]

use super::array::Alone;
use super::error::{RecvError, SendError};
use super::port::{Attempt, Enlisted, ReceivePort, Room, SendPort};
use super::receiver::{Receiver, each_receiver};
use super::sender::{Sender, each_sender};
use super::{Policy, ReceiverFlavour, SenderFlavour};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::Here;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;

/// One of the operations that a select chooses from.
pub(crate) trait Arm {
    /// Does it, if that needs no wait, and is chosen then. `here` may be left out.
    fn choose_now(&self, here: Option<Here<'_>>) -> bool;

    /// Does it, or links `waiter`.
    ///
    /// # Safety
    /// If it waits, waiter and arm stay where they are until the waiter was [delisted](Self::delist), or its wait was ended by this
    /// arm's channel.
    unsafe fn attempt_or_enlist(&self, waiter: &Waiter<Who>) -> Attempt;

    /// Links `waiter`, unless an attempt would not have to wait.
    ///
    /// # Safety
    /// As for [`attempt_or_enlist`](Self::attempt_or_enlist).
    unsafe fn enlist(&self, waiter: &Waiter<Who>) -> Enlisted;

    /// Takes a waiter off, if it is linked.
    fn delist(&self, waiter: &Waiter<Who>);

    /// What is waited for, and the channel.
    fn awaits(&self) -> (Reason, Object);

    /// When an attempt will succeed, if that is known.
    fn due(&self) -> Option<Moment>;

    /// The select has chosen it.
    ///
    /// # Safety
    /// If it is said to be done, it is: an attempt has said so since the last result was taken, or its wait was handed what it wanted.
    unsafe fn choose(&self, chosen: Chosen);
}

/// An arm, whatever its channel carries. There is one at a time: two selects with the same arm would have its message handed over twice.
pub struct AnyArm<'a>(pub(crate) &'a dyn Arm);

/// How an arm was chosen.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// Its operation was done.
    Done,
    /// Its channel is closed.
    Closed,
    /// Something from outside ended the wait, and this arm is the one to say so.
    Cancelled(Cancelled),
}

impl Chosen {
    /// How an arm is chosen after such an attempt, if it is.
    #[inline(always)]
    pub(crate) fn after(attempt: Attempt) -> Option<Chosen> {
        match attempt {
            Attempt::Done => Some(Chosen::Done),
            Attempt::Closed => Some(Chosen::Closed),
            Attempt::Waits => None,
        }
    }

    /// Notes how an arm is chosen after such an attempt; whether it is.
    #[inline(always)]
    fn note(attempt: Attempt, chosen: &Cell<Option<Chosen>>) -> bool {
        let after = Chosen::after(attempt);
        if after.is_some() {
            chosen.set(after);
        }
        after.is_some()
    }
}

/// A receive.
pub struct RecvArm<'a, T> {
    receiver: &'a Receiver<T>,
    /// INVARIANT: holds a message if `chosen` says that it is done.
    slot: UnsafeCell<MaybeUninit<T>>,
    chosen: Cell<Option<Chosen>>,
}

impl<'a, T> RecvArm<'a, T> {
    #[inline]
    pub(crate) fn new(receiver: &'a Receiver<T>) -> RecvArm<'a, T> {
        RecvArm { receiver, slot: UnsafeCell::new(MaybeUninit::uninit()), chosen: Cell::new(None) }
    }

    #[inline]
    fn slot(&self) -> *mut T {
        self.slot.get().cast()
    }

    /// Apart from the attempt of a thread that uses the channel alone, which would have to make room for all that this needs (`select-1`).
    #[inline(never)]
    fn choose_among_others(&self) -> bool {
        // SAFETY: the slot can be written; that it was is said at once, and then `take` or `drop` follows.
        let attempt = each_receiver!(self.receiver, channel => unsafe { channel.try_receive(self.slot()) });
        Chosen::note(attempt, &self.chosen)
    }

    /// What came of it. It must have been chosen.
    #[inline]
    pub fn take(&self) -> Result<T, RecvError> {
        match self.chosen.take().unwrap_or_else(|| unreachable!("INVARIANT: only the chosen arm is asked")) {
            // SAFETY: the slot holds a message, which is taken once, since `chosen` says so no longer.
            Chosen::Done => Ok(unsafe { self.slot().read() }),
            Chosen::Closed => Err(RecvError::Closed),
            Chosen::Cancelled(cancelled) => Err(RecvError::Cancelled(cancelled)),
        }
    }
}

impl<T> Drop for RecvArm<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.chosen.get() == Some(Chosen::Done) {
            drop(self.take());
        }
    }
}

impl<T> Arm for RecvArm<'_, T> {
    fn choose_now(&self, here: Option<Here<'_>>) -> bool {
        if let (Some(here), ReceiverFlavour::Array(channel)) = (here, &self.receiver.0)
            // SAFETY: as in `choose_among_others`.
            && let Alone::Done = unsafe { channel.receive_if_alone(here, self.slot()) }
        {
            self.chosen.set(Some(Chosen::Done));
            return true;
        }
        self.choose_among_others()
    }

    #[inline]
    unsafe fn attempt_or_enlist(&self, waiter: &Waiter<Who>) -> Attempt {
        waiter.set_slot(self.slot().cast());
        // SAFETY: as in `choose_among_others`, and the caller's promise.
        each_receiver!(self.receiver, channel => unsafe { channel.receive_or_enlist(self.slot(), waiter) })
    }

    unsafe fn enlist(&self, waiter: &Waiter<Who>) -> Enlisted {
        waiter.set_slot(self.slot().cast());
        // SAFETY: the caller's promise.
        each_receiver!(self.receiver, channel => unsafe { channel.enlist_receiver(waiter) })
    }

    fn delist(&self, waiter: &Waiter<Who>) {
        each_receiver!(self.receiver, channel => channel.delist_receiver(waiter));
    }

    fn awaits(&self) -> (Reason, Object) {
        each_receiver!(self.receiver, channel => (Reason::Receive, Object::of(&**channel)))
    }

    fn due(&self) -> Option<Moment> {
        each_receiver!(self.receiver, channel => channel.due())
    }

    #[inline]
    unsafe fn choose(&self, chosen: Chosen) {
        self.chosen.set(Some(chosen));
    }
}

/// A send.
pub struct SendArm<'a, T> {
    sender: &'a Sender<T>,
    /// INVARIANT: holds the message until `chosen` says that it is done, or it is taken back.
    slot: UnsafeCell<MaybeUninit<T>>,
    chosen: Cell<Option<Chosen>>,
    taken: Cell<bool>,
}

impl<'a, T> SendArm<'a, T> {
    #[inline]
    pub(crate) fn new(sender: &'a Sender<T>, message: T) -> SendArm<'a, T> {
        let slot = UnsafeCell::new(MaybeUninit::new(message));
        SendArm { sender, slot, chosen: Cell::new(None), taken: Cell::new(false) }
    }

    #[inline]
    fn slot(&self) -> *mut T {
        self.slot.get().cast()
    }

    /// What came of it. It must have been chosen, and can be asked once.
    #[inline]
    pub fn take(&self) -> Result<(), SendError<T>> {
        let chosen = self.chosen.get().filter(|_| !self.taken.replace(true));
        // SAFETY: it was not sent, so it is still there, and is taken once.
        let message = || unsafe { self.slot().read() };
        match chosen.unwrap_or_else(|| unreachable!("INVARIANT: only the chosen arm is asked, and once")) {
            Chosen::Done => Ok(()),
            Chosen::Closed => Err(SendError::Closed(message())),
            Chosen::Cancelled(cancelled) => Err(SendError::Cancelled(message(), cancelled)),
        }
    }

    /// As that of a receive.
    #[inline(never)]
    fn choose_among_others(&self) -> bool {
        Chosen::note(self.attempt(), &self.chosen)
    }

    #[inline]
    fn holds_message(&self) -> bool {
        self.chosen.get() != Some(Chosen::Done) && !self.taken.get()
    }

    /// Sends, if that needs no wait. If it did, that is to be said before anything else is done with the arm.
    #[inline]
    fn attempt(&self) -> Attempt {
        assert!(self.holds_message(), "sisal: the message of this arm was sent, or taken back");
        // SAFETY: the slot holds a message until `Done` is seen.
        self.drop_too_much(each_sender!(self.sender, channel => unsafe { channel.try_send(self.slot()) }))
    }

    /// A channel that drops what is too much never makes a sender wait.
    fn drop_too_much(&self, attempt: Attempt) -> Attempt {
        let SenderFlavour::Array(channel, policy) = &self.sender.0 else { return attempt };
        let mut attempt = attempt;
        while attempt == Attempt::Waits {
            match policy {
                Policy::Wait => break,
                Policy::DropNewest => {
                    self.chosen.set(Some(Chosen::Done));
                    // SAFETY: it was not sent, so it is still there; from now on it counts as sent.
                    unsafe { self.slot().drop_in_place() };
                    attempt = Attempt::Done;
                }
                Policy::DropOldest => {
                    drop(channel.make_room());
                    // SAFETY: it was not sent, so it is still there.
                    attempt = unsafe { channel.try_send(self.slot()) };
                }
            }
        }
        attempt
    }
}

impl<T> Arm for SendArm<'_, T> {
    fn choose_now(&self, here: Option<Here<'_>>) -> bool {
        assert!(self.holds_message(), "sisal: the message of this arm was sent, or taken back");
        if let (Some(here), SenderFlavour::Array(channel, _)) = (here, &self.sender.0)
            // SAFETY: the slot holds a message until `Done` is seen.
            && let Alone::Done = unsafe { channel.send_if_alone(here, self.slot()) }
        {
            self.chosen.set(Some(Chosen::Done));
            return true;
        }
        self.choose_among_others()
    }

    #[inline]
    unsafe fn attempt_or_enlist(&self, waiter: &Waiter<Who>) -> Attempt {
        assert!(self.holds_message(), "sisal: the message of this arm was sent, or taken back");
        if let SenderFlavour::Array(_, Policy::DropNewest | Policy::DropOldest) = &self.sender.0 {
            return self.attempt();
        }
        waiter.set_slot(self.slot().cast());
        // SAFETY: as in `attempt`, and the caller's promise.
        each_sender!(self.sender, channel => unsafe { channel.send_or_enlist(self.slot(), waiter, Room::Any) })
    }

    unsafe fn enlist(&self, waiter: &Waiter<Who>) -> Enlisted {
        waiter.set_slot(self.slot().cast());
        // SAFETY: the caller's promise.
        each_sender!(self.sender, channel => unsafe { channel.enlist_sender(waiter) })
    }

    fn delist(&self, waiter: &Waiter<Who>) {
        each_sender!(self.sender, channel => channel.delist_sender(waiter));
    }

    fn awaits(&self) -> (Reason, Object) {
        each_sender!(self.sender, channel => (Reason::Send, Object::of(&**channel)))
    }

    fn due(&self) -> Option<Moment> {
        None
    }

    #[inline]
    unsafe fn choose(&self, chosen: Chosen) {
        self.chosen.set(Some(chosen));
    }
}

impl<T> Drop for SendArm<'_, T> {
    fn drop(&mut self) {
        if !self.taken.get() && self.chosen.get() != Some(Chosen::Done) {
            // SAFETY: neither sent nor taken back.
            unsafe { self.slot().drop_in_place() };
        }
    }
}
