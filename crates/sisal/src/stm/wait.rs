//! Waiting for a change of anything that a run has read. The protocol is in [`commit`](super::commit).
#![allow(unsafe_code, reason = "waiters are linked to the variables")]

use super::transaction::Transaction;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::cancel::Cancelled;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};

impl Transaction {
    /// Waits until a variable that was read has changed since.
    pub(super) fn wait_for_change(&self, place: Place, cancellable: bool) -> Result<(), Cancelled> {
        let object = self.journal.reads().next().map_or(Object::NONE, |(cell, _)| Object::of(&**cell));
        let waiting = Waiting { reason: Reason::Transaction, object, place, deadline: None, cancellable };
        let wait = Wait::new(park::me());
        // All of them first: they must not move once the first is linked.
        let waiters: Box<[_]> = (0..).zip(self.journal.reads()).map(|(number, _)| Waiter::new(&wait, number)).collect();
        let woken = if self.link(&waiters) || !wait.claim_own(Woken::Object(0)) {
            park::park(&wait, &waiting)
        } else {
            Woken::Object(0)
        };
        for (waiter, (cell, _)) in waiters.iter().zip(self.journal.reads()) {
            cell.unlink(waiter);
        }
        debug_assert_eq!(
            wait.woken(),
            Some(woken),
            "INVARIANT: a wait that is over has been claimed, by its owner if by nobody else"
        );
        match woken {
            Woken::Object(_) => {
                // Perhaps it has not waited at all.
                park::pay_fuel(place);
                Ok(())
            }
            Woken::Cancelled(cause) => {
                park::pay_fuel(place);
                Err(Cancelled::by(cause))
            }
            Woken::Deadline => unreachable!("INVARIANT: it has no deadline"),
        }
    }

    /// Links a waiter to every variable read; stops, and returns false, at the first that has changed.
    fn link(&self, waiters: &[Waiter<Who>]) -> bool {
        waiters.iter().zip(self.journal.reads()).all(|(waiter, (cell, version))| {
            // SAFETY: the waiters and their wait stay in the caller's frame, or its box, until all have been unlinked.
            unsafe { cell.link(waiter, version) }
        })
    }
}
