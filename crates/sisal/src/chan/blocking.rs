//! Sending and receiving with a wait, over the ports of any flavour.
#![allow(unsafe_code, reason = "values are moved by way of slots in this frame")]

use super::array::Array;
use super::error::{RecvTimeoutError, SendTimeoutError};
use super::pace::PATIENCE;
use super::port::{Attempt, ReceivePort, Room, SendPort};
use super::rendezvous::{Ending, Rendezvous, Unmet};
use crate::fiber::waiter::{Identity, Wait, Waiter, Woken};
use crate::park::{Waiting, me, park_or_leave, pay_fuel, with_here};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use std::mem::MaybeUninit;

/// As [`send`], for the flavour that mostly has nothing in its way.
#[inline(always)]
pub(super) fn send_into_array<T>(
    array: &Array<T>,
    value: T,
    deadline: Option<Moment>,
    place: Place,
) -> Result<(), SendTimeoutError<T>> {
    let mut slot = MaybeUninit::new(value);
    // SAFETY: the slot holds a value, until it is sent.
    if unsafe { array.send_quickly(slot.as_mut_ptr(), place) } {
        return Ok(());
    }
    // SAFETY: as above.
    send(array, unsafe { slot.assume_init() }, deadline, place)
}

/// As [`receive`], for the flavour that mostly has nothing in its way.
#[inline(always)]
pub(super) fn receive_from_array<T>(
    array: &Array<T>,
    deadline: Option<Moment>,
    place: Place,
) -> Result<T, RecvTimeoutError> {
    let mut slot = MaybeUninit::uninit();
    // SAFETY: the slot can be written, and holds a value if one was received.
    if unsafe { array.receive_quickly(slot.as_mut_ptr(), place) } {
        // SAFETY: as above.
        return Ok(unsafe { slot.assume_init() });
    }
    receive(array, deadline, place)
}

/// As [`send`], for the flavour of which a wait is part, most of the time.
#[inline(always)]
pub(super) fn send_to_rendezvous<T>(
    rendezvous: &Rendezvous<T>,
    value: T,
    deadline: Option<Moment>,
    place: Place,
) -> Result<(), SendTimeoutError<T>> {
    let mut slot = MaybeUninit::new(value);
    let ending = with_here(|here| match here {
        // SAFETY: the slot holds a value, until it is sent.
        Some(here) if deadline.is_none() => unsafe { rendezvous.send_in_fiber(here, slot.as_mut_ptr(), place) },
        _ => Ending::NOT_TRIED,
    });
    if ending == Ending::MET {
        return Ok(());
    }
    // SAFETY: as above.
    send_unless(ending.unmet(), rendezvous, unsafe { slot.assume_init() }, deadline, place)
}

#[cold]
#[inline(never)]
fn send_unless<T>(
    why: Unmet,
    rendezvous: &Rendezvous<T>,
    value: T,
    deadline: Option<Moment>,
    place: Place,
) -> Result<(), SendTimeoutError<T>> {
    match why {
        Unmet::Closed => Err(SendTimeoutError::Closed(value)),
        Unmet::Cancelled(cause) => Err(SendTimeoutError::Cancelled(value, Cancelled::by(cause))),
        Unmet::NotTried => send(rendezvous, value, deadline, place),
    }
}

/// As [`receive`], likewise.
#[inline(always)]
pub(super) fn receive_from_rendezvous<T>(
    rendezvous: &Rendezvous<T>,
    deadline: Option<Moment>,
    place: Place,
) -> Result<T, RecvTimeoutError> {
    let mut slot = MaybeUninit::uninit();
    let ending = with_here(|here| match here {
        // SAFETY: the slot can be written, and holds a value if one was received.
        Some(here) if deadline.is_none() => unsafe { rendezvous.receive_in_fiber(here, slot.as_mut_ptr(), place) },
        _ => Ending::NOT_TRIED,
    });
    if ending != Ending::MET {
        slot.write(receive_unless(ending.unmet(), rendezvous, deadline, place)?);
    }
    // SAFETY: it was received, in one way or the other.
    Ok(unsafe { slot.assume_init() })
}

#[cold]
#[inline(never)]
fn receive_unless<T>(
    why: Unmet,
    rendezvous: &Rendezvous<T>,
    deadline: Option<Moment>,
    place: Place,
) -> Result<T, RecvTimeoutError> {
    match why {
        Unmet::Closed => Err(RecvTimeoutError::Closed),
        Unmet::Cancelled(cause) => Err(RecvTimeoutError::Cancelled(Cancelled::by(cause))),
        Unmet::NotTried => receive(rendezvous, deadline, place),
    }
}

/// Sends `value`, by `deadline` if there is one.
///
/// An attempt without a wait is one call from the sender's code, with the channel's own inlined. So it is in [`receive`].
#[inline(never)]
pub(super) fn send<T, P: SendPort<T>>(
    port: &P,
    value: T,
    deadline: Option<Moment>,
    place: Place,
) -> Result<(), SendTimeoutError<T>> {
    let mut slot = MaybeUninit::new(value);
    if !P::HANDS_OVER {
        // SAFETY: the slot holds a value, until it is sent.
        match unsafe { port.try_send(slot.as_mut_ptr()) } {
            Attempt::Done => {
                pay_fuel(place);
                return Ok(());
            }
            Attempt::Closed => {
                pay_fuel(place);
                // SAFETY: as above.
                return Err(SendTimeoutError::Closed(unsafe { slot.assume_init() }));
            }
            Attempt::Waits => {}
        }
    }
    send_waiting(port, slot, deadline, place)
}

/// Apart from the attempt without a wait, which would have to make room for all that this needs.
#[inline(never)]
fn send_waiting<T, P: SendPort<T>>(
    port: &P,
    mut slot: MaybeUninit<T>,
    deadline: Option<Moment>,
    place: Place,
) -> Result<(), SendTimeoutError<T>> {
    let wait = Wait::new(me());
    let waiter = Waiter::solo(&wait);
    let from = slot.as_mut_ptr();
    waiter.set_slot(from.cast());
    let mut room = match port.worthwhile_room() {
        // To wait for a short time costs a thread outside of fibers more than it is worth.
        Room::Half if deadline.is_none() && wait.who().is_of_this_thread() => Room::Half,
        _ => Room::Any,
    };
    loop {
        // SAFETY: the slot holds a value, until it is sent. Waiter and slot stay in this frame until the wait is over, and the
        // waiter is delisted if the channel did not end it.
        match unsafe { port.send_or_enlist(from, &waiter, room) } {
            Attempt::Done => {
                pay_fuel(place);
                return Ok(());
            }
            Attempt::Closed => {
                pay_fuel(place);
                // SAFETY: as above.
                return Err(SendTimeoutError::Closed(unsafe { slot.assume_init() }));
            }
            Attempt::Waits => {}
        }
        let object = Object::of(port);
        let until = match room {
            Room::Any => deadline,
            Room::Half => Some(Moment::now().after(PATIENCE)),
        };
        let waiting = Waiting { reason: Reason::Send, object, place, deadline: until, cancellable: true };
        let woken = park_or_leave(&wait, &waiting, || port.delist_sender(&waiter));
        let waited_for = std::mem::replace(&mut room, Room::Any);
        match woken {
            Woken::Object(_) if waiter.was_handed() => return Ok(()),
            Woken::Object(_) if waited_for == Room::Half => port.end_wait_for_half(true),
            Woken::Object(_) => {}
            Woken::Deadline if waited_for == Room::Half => port.end_wait_for_half(false),
            Woken::Deadline => {
                // SAFETY: the channel did not end the wait, so it has not touched the slot.
                return Err(SendTimeoutError::TimedOut(unsafe { slot.assume_init() }));
            }
            Woken::Cancelled(cause) => {
                // SAFETY: as above.
                return Err(SendTimeoutError::Cancelled(unsafe { slot.assume_init() }, Cancelled::by(cause)));
            }
        }
        wait.renew();
    }
}

/// Receives a value, by `deadline` if there is one.
#[inline(never)]
pub(super) fn receive<T, P: ReceivePort<T>>(
    port: &P,
    deadline: Option<Moment>,
    place: Place,
) -> Result<T, RecvTimeoutError> {
    if !P::HANDS_OVER {
        let mut slot = MaybeUninit::uninit();
        // SAFETY: the slot can be written, and holds a value if one was received.
        match unsafe { port.try_receive(slot.as_mut_ptr()) } {
            Attempt::Done => {
                pay_fuel(place);
                // SAFETY: as above.
                return Ok(unsafe { slot.assume_init() });
            }
            Attempt::Closed => {
                pay_fuel(place);
                return Err(RecvTimeoutError::Closed);
            }
            Attempt::Waits => {}
        }
    }
    receive_waiting(port, deadline, place)
}

/// As [`send_waiting`].
#[inline(never)]
fn receive_waiting<T, P: ReceivePort<T>>(
    port: &P,
    deadline: Option<Moment>,
    place: Place,
) -> Result<T, RecvTimeoutError> {
    let mut slot = MaybeUninit::<T>::uninit();
    let wait = Wait::new(me());
    let waiter = Waiter::solo(&wait);
    let into = slot.as_mut_ptr();
    waiter.set_slot(into.cast());
    loop {
        // SAFETY: as in `send_waiting`.
        match unsafe { port.receive_or_enlist(into, &waiter) } {
            Attempt::Done => {
                pay_fuel(place);
                // SAFETY: a value was received.
                return Ok(unsafe { slot.assume_init() });
            }
            Attempt::Closed => {
                pay_fuel(place);
                return Err(RecvTimeoutError::Closed);
            }
            Attempt::Waits => {}
        }
        let (object, due) = (Object::of(port), port.due());
        let until = [deadline, due].into_iter().flatten().min();
        let waiting = Waiting { reason: Reason::Receive, object, place, deadline: until, cancellable: true };
        match park_or_leave(&wait, &waiting, || port.delist_receiver(&waiter)) {
            // SAFETY: the sender has put a value into the slot.
            Woken::Object(_) if waiter.was_handed() => return Ok(unsafe { slot.assume_init() }),
            Woken::Object(_) => {}
            Woken::Deadline => {
                // A time to receive at comes before one to give up at.
                if due.is_none() || deadline.is_some_and(|deadline| Some(deadline) < due) {
                    return Err(RecvTimeoutError::TimedOut);
                }
            }
            Woken::Cancelled(cause) => return Err(RecvTimeoutError::Cancelled(Cancelled::by(cause))),
        }
        wait.renew();
    }
}

/// Sends `value` if that needs no wait.
#[inline]
pub(super) fn try_send<T, P: SendPort<T>>(port: &P, value: T, place: Place) -> Result<(), (Attempt, T)> {
    let sent = send_now(port, value);
    // Also in vain: whoever tries again and again has to let others have a turn.
    pay_fuel(place);
    sent
}

/// As [`try_send`], for a caller that pays.
#[inline]
pub(super) fn send_now<T, P: SendPort<T>>(port: &P, value: T) -> Result<(), (Attempt, T)> {
    let mut slot = MaybeUninit::new(value);
    // SAFETY: the slot holds a value, until it is sent.
    match unsafe { port.try_send(slot.as_mut_ptr()) } {
        Attempt::Done => Ok(()),
        // SAFETY: as above.
        other => Err((other, unsafe { slot.assume_init() })),
    }
}

/// Receives a value if that needs no wait.
#[inline]
pub(super) fn try_receive<T, P: ReceivePort<T>>(port: &P, place: Place) -> Result<T, Attempt> {
    let mut slot = MaybeUninit::uninit();
    // SAFETY: the slot can be written, and holds a value if one was received.
    let attempt = unsafe { port.try_receive(slot.as_mut_ptr()) };
    // Also in vain: whoever tries again and again has to let others have a turn.
    pay_fuel(place);
    match attempt {
        // SAFETY: as above.
        Attempt::Done => Ok(unsafe { slot.assume_init() }),
        other => Err(other),
    }
}
