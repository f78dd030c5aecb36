//! How a transaction that fails again and again gets through.
//!
//! A run fails because another one has committed, so somebody always gets on. But a long transaction among many short ones could
//! fail for ever. After [`PATIENCE`] failures in a row it takes the *turn*, of which there is one. While somebody has it the gate
//! is closed: others run, but wait before they commit anything.
//!
//! # Protocol
//! - *Pass* (everybody who is about to commit and has not the turn; holding nothing): if the gate is open, go on. Else wait.
//!   Whoever was let in has passed, and does not look again before its next commit.
//! - *Take* (whoever has failed too often): if nobody has the turn, close the gate; else wait. Whoever waits for the turn gets
//!   it in order, from hand to hand.
//! - *Give back*: let in all who wait to commit. If somebody waits for the turn, it is theirs, and the gate stays closed; else
//!   open it.
//!
//! Why the one who has the turn succeeds: those who had passed when it began commit once at most and then stand before the closed gate.
//! There are finitely many of them, so it fails finitely often. (For the same reason it does not matter when exactly another thread
//! gets to see that the gate is closed.) Why those before the gate get on: one transaction has the turn, not many, before they
//! are let in.
//!
//! A transaction that comes to wait for a change gives the turn back first. These waits end when others have finished their runs, so
//! they are not cancellable.
//!
//! Whoever has the turn may come to the gate itself, in the destructor of a value that a run has left behind, and passes.
#![allow(unsafe_code, reason = "waiters are linked to the gate")]

use super::nesting::{self, Key};
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};

/// How often a transaction fails before it takes the turn.
pub(super) const PATIENCE: u32 = 16;

/// See the [module](self).
pub(super) struct Gate {
    /// 1 while it is closed. Written under the lock, read without.
    closed: AtomicU32,
    inner: Lock<Inner>,
}

struct Inner {
    turn: Turn,
    for_turn: WaitList<Who>,
    to_commit: WaitList<Who>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Turn {
    Nobodys,
    /// Of one who was given it and has not said who it is.
    Given,
    Of(Key),
}

/// The turn: given back when it goes.
pub(super) struct TurnGuard<'a>(&'a Gate);

impl Watched for Gate {
    fn sight(&self) -> Sight {
        Sight::new("transaction")
    }
}

impl Gate {
    const_fn! {
        pub(super) fn new() -> Gate {
            Gate {
                closed: AtomicU32::new(0),
                inner: Lock::new(Inner { turn: Turn::Nobodys, for_turn: WaitList::new(), to_commit: WaitList::new() }),
            }
        }
    }

    /// Waits while somebody else has the turn.
    #[inline]
    pub(super) fn pass(&self, place: Place) {
        if self.closed.load(Ordering::Relaxed) != 0 {
            self.pass_closed(place);
        }
    }

    #[cold]
    fn pass_closed(&self, place: Place) {
        let me = nesting::me();
        let wait = Wait::new(park::me());
        let waiter = Waiter::new(&wait, 0);
        {
            let mut inner = self.inner.lock();
            if inner.turn == Turn::Nobodys || inner.turn == Turn::Of(me) {
                return;
            }
            // SAFETY: it stays in this frame until it was claimed and unparked.
            unsafe { inner.to_commit.push(&waiter) };
        }
        self.park(&wait, place);
    }

    /// Takes the turn; none if the caller has it already.
    #[cold]
    pub(super) fn take(&self, place: Place) -> Option<TurnGuard<'_>> {
        let me = nesting::me();
        let wait = Wait::new(park::me());
        let waiter = Waiter::new(&wait, 0);
        {
            let mut inner = self.inner.lock();
            match inner.turn {
                Turn::Nobodys => {
                    inner.turn = Turn::Of(me);
                    self.closed.store(1, Ordering::Relaxed);
                    return Some(TurnGuard(self));
                }
                Turn::Of(holder) if holder == me => return None,
                // SAFETY: it stays in this frame until it was claimed and unparked.
                Turn::Of(_) | Turn::Given => unsafe { inner.for_turn.push(&waiter) },
            }
        }
        self.park(&wait, place);
        let mut inner = self.inner.lock();
        debug_assert!(inner.turn == Turn::Given, "INVARIANT: the turn goes from hand to hand");
        inner.turn = Turn::Of(me);
        Some(TurnGuard(self))
    }

    fn park(&self, wait: &Wait<Who>, place: Place) {
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Transaction, object, place, deadline: None, cancellable: false };
        let woken = park::park(wait, &waiting);
        debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but the gate ends this wait");
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let (let_in, next) = {
            let mut inner = self.0.inner.lock();
            let next = inner.for_turn.claim_first();
            inner.turn = if next.is_some() { Turn::Given } else { Turn::Nobodys };
            self.0.closed.store(next.is_some().into(), Ordering::Relaxed);
            (inner.to_commit.claim_all(), next)
        };
        let_in.for_each(park::unpark);
        if let Some(next) = next {
            park::unpark(next.into_token());
        }
    }
}
