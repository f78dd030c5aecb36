//! What a channel is to those who wait: two ports, one to send by and one to receive by.
//!
//! All flavours have the same ones, and everything that waits is written against them: the blocking calls, and
//! [`select`](crate::select). Values are moved through *slots*: places in the frame of the caller, from which the channel takes
//! the value or into which it puts it.
//!
//! A wait that a channel ends means one of two things. *Handed*: what the waiter wanted has been done, by way of its slot.
//! Otherwise it is a *signal*: something has changed (there is an item, there is room, the channel was closed), and the waiter
//! tries again. A signal is given to one waiter for each item or place; whoever gets it tries that channel before anything else, so
//! it is not lost.
#![allow(unsafe_code, reason = "the ports move values through pointers to slots")]

use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::prim::clock::Moment;
use crate::prim::object::Watched;

/// How an attempt went.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Attempt {
    /// The value has moved.
    Done,
    /// The channel is closed, and for receivers also drained.
    Closed,
    /// It would have to wait; if it was to be enlisted, it is.
    Waits,
}

/// Whether a waiter was linked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Enlisted {
    /// It will be found.
    Yes,
    /// There is no need to wait: try again.
    No,
}

/// How much room a sender waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The first place that is free.
    Any,
    /// Half of all, at least if the receivers go on taking; after a while it will look for itself. See [`pace`](super::pace).
    Half,
}

/// The sending side of a channel of any flavour.
pub(crate) trait SendPort<T>: Watched {
    /// Moves the value out of `slot`, if that needs no wait.
    ///
    /// # Safety
    /// `slot` holds a value; if the result is [`Done`](Attempt::Done), no longer.
    unsafe fn try_send(&self, slot: *mut T) -> Attempt;

    /// As [`try_send`](Self::try_send), or links `waiter`, whose slot is `slot`, to wait for so much room.
    ///
    /// # Safety
    /// As for [`try_send`](Self::try_send). If the result is [`Waits`](Attempt::Waits), waiter and slot stay where they are until the
    /// waiter was [delisted](Self::delist_sender), or its wait was ended by this channel.
    unsafe fn send_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>, room: Room) -> Attempt;

    /// Links `waiter`, unless an attempt would not have to wait.
    ///
    /// # Safety
    /// As for [`send_or_enlist`](Self::send_or_enlist), with the waiter's own slot.
    unsafe fn enlist_sender(&self, waiter: &Waiter<Who>) -> Enlisted;

    /// Takes a waiter off, if it is linked here.
    fn delist_sender(&self, waiter: &Waiter<Who>);

    /// One that was signalled will not try: signals another, if there is room.
    fn pass_on_room(&self);

    /// How much room the next sender that has to wait should wait for, if it can.
    fn worthwhile_room(&self) -> Room {
        Room::Any
    }

    /// A wait for half the room is over: whether that much is free.
    fn end_wait_for_half(&self, _is_free: bool) {}

    /// Whether a wait most likely ends an attempt, so that a first one without it would be in vain.
    const HANDS_OVER: bool;
}

/// The receiving side of a channel of any flavour.
pub(crate) trait ReceivePort<T>: Watched {
    /// Moves a value into `slot`, if that needs no wait.
    ///
    /// # Safety
    /// `slot` can be written; if the result is [`Done`](Attempt::Done), it holds a value.
    unsafe fn try_receive(&self, slot: *mut T) -> Attempt;

    /// As [`try_receive`](Self::try_receive), or links `waiter`, whose slot is `slot`.
    ///
    /// # Safety
    /// As for [`SendPort::send_or_enlist`].
    unsafe fn receive_or_enlist(&self, slot: *mut T, waiter: &Waiter<Who>) -> Attempt;

    /// Links `waiter`, unless an attempt would not have to wait.
    ///
    /// # Safety
    /// As for [`SendPort::send_or_enlist`], with the waiter's own slot.
    unsafe fn enlist_receiver(&self, waiter: &Waiter<Who>) -> Enlisted;

    /// Takes a waiter off, if it is linked here.
    fn delist_receiver(&self, waiter: &Waiter<Who>);

    /// One that was signalled will not try: signals another, if there is something to receive.
    fn pass_on_receipt(&self);

    /// One that was handed a value will not use it: moves it out of `slot` to another receiver, or keeps it for the next.
    ///
    /// # Safety
    /// `slot` holds a value, which was handed over by this channel.
    unsafe fn give_back(&self, _slot: *mut T) {
        unreachable!("INVARIANT: this channel signals, and hands nothing over")
    }

    /// When there will be something to receive, if that is known.
    fn due(&self) -> Option<Moment> {
        None
    }

    /// As for [`SendPort::HANDS_OVER`].
    const HANDS_OVER: bool;
}

/// What can be asked of a channel of any flavour.
pub(crate) trait Channel {
    /// Lets no more values in; true if this call did it. Everybody who waits is woken.
    fn close(&self) -> bool {
        self.close_and(|| ())
    }

    /// As [`close`](Self::close); if this call does it, `say` is called before anybody is woken.
    fn close_and(&self, say: impl FnOnce()) -> bool;

    fn is_closed(&self) -> bool;

    /// How many values are in it.
    fn len(&self) -> usize;

    /// How many values there is room for; none if for any number.
    fn capacity(&self) -> Option<usize>;

    /// Nobody is left to receive: drops all values. The channel is closed.
    fn discard(&self);
}
