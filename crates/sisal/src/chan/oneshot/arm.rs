//! The receiver as an arm of a select. The protocol is in the [module](super).
#![allow(unsafe_code, reason = "the block is shared memory, owned as its word says")]

use super::{Block, OneReceiver};
use crate::chan::arm::{AnyArm, Arm, Chosen};
use crate::chan::error::{RecvError, TryRecvError};
use crate::chan::port::{Attempt, Enlisted};
use crate::chan::selectable::{ArmFor, Selectable, sealed};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::Here;
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use std::cell::{Cell, RefCell};

/// A receive of the one message.
pub struct OneArm<'a, T> {
    receiver: RefCell<&'a mut OneReceiver<T>>,
    outcome: Cell<Option<Result<T, RecvError>>>,
}

impl<T> sealed::Sealed for OneReceiver<T> {}

impl<T> Selectable for OneReceiver<T> {
    type Received = Result<T, RecvError>;
    type Arm<'a>
        = OneArm<'a, T>
    where
        T: 'a;

    fn arm(&mut self) -> OneArm<'_, T> {
        OneArm { receiver: RefCell::new(self), outcome: Cell::new(None) }
    }
}

impl<T> ArmFor<Result<T, RecvError>> for OneArm<'_, T> {
    fn any(&mut self) -> AnyArm<'_> {
        AnyArm(self)
    }

    fn take(&self) -> Result<T, RecvError> {
        self.outcome.take().unwrap_or_else(|| unreachable!("INVARIANT: only the chosen arm is asked, and once"))
    }
}

impl<T> OneArm<'_, T> {
    /// Calls `f` with the block, if the receiver has not received.
    fn with_block<R>(&self, f: impl FnOnce(&Block<T>) -> R) -> Option<R> {
        // SAFETY: the receiver is not gone.
        self.receiver.borrow().block.map(|block| f(unsafe { block.as_ref() }))
    }

    /// Links the record; false if the sender is done.
    ///
    /// # Safety
    /// As for [`Arm::enlist`].
    unsafe fn link(&self, waiter: &Waiter<Who>) -> bool {
        // A wait as a task was taken back by the attempt that came before.
        // SAFETY: the caller's promise.
        self.with_block(|block| unsafe { block.meeting.enlist_arm(waiter) }).unwrap_or(false)
    }
}

impl<T> Arm for OneArm<'_, T> {
    fn choose_now(&self, _here: Option<Here<'_>>) -> bool {
        let received = match self.receiver.borrow_mut().take() {
            Ok(message) => Ok(message),
            Err(TryRecvError::Closed) => Err(RecvError::Closed),
            Err(TryRecvError::Empty) => return false,
        };
        self.outcome.set(Some(received));
        true
    }

    unsafe fn attempt_or_enlist(&self, waiter: &Waiter<Who>) -> Attempt {
        // Twice at most: if the sender is done, the next attempt succeeds.
        while !self.choose_now(None) {
            // SAFETY: the caller's promise.
            if unsafe { self.link(waiter) } {
                return Attempt::Waits;
            }
        }
        Attempt::Done
    }

    unsafe fn enlist(&self, waiter: &Waiter<Who>) -> Enlisted {
        // SAFETY: the caller's promise.
        if unsafe { self.link(waiter) } { Enlisted::Yes } else { Enlisted::No }
    }

    fn delist(&self, _waiter: &Waiter<Who>) {
        self.with_block(|block| block.meeting.delist_arm());
    }

    fn awaits(&self) -> (Reason, Object) {
        (Reason::Receive, self.with_block(Object::of).unwrap_or(Object::NONE))
    }

    fn due(&self) -> Option<Moment> {
        None
    }

    unsafe fn choose(&self, chosen: Chosen) {
        if let Chosen::Cancelled(cancelled) = chosen {
            self.outcome.set(Some(Err(RecvError::Cancelled(cancelled))));
        }
    }
}
