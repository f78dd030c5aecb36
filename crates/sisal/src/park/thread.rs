//! Waiting as a plain thread.
#![allow(unsafe_code, reason = "scopes lie in the frames of the thread")]

use super::{Waiting, poke};
use crate::fiber::ambient::Scope;
use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::parker::{Awake, ThreadParker};
use crate::prim::per_thread;
use std::cell::Cell;
#[cfg(not(modelled))]
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

per_thread! {
    static PARKER: Cell<Option<Arc<ThreadParker>>> = const { Cell::new(None) };
    static SCOPE: Cell<Option<NonNull<Scope>>> = const { Cell::new(None) };
}

/// The calling thread's own.
pub(super) fn parker() -> Arc<ThreadParker> {
    let new = || Arc::new(ThreadParker::new());
    let own = |place: &Cell<Option<Arc<ThreadParker>>>| {
        let parker = place.take().unwrap_or_else(new);
        place.set(Some(Arc::clone(&parker)));
        parker
    };
    // A thread that is ending has no thread-locals any more.
    PARKER.try_with(own).unwrap_or_else(|_| new())
}

/// The innermost scope that the calling thread is inside.
pub(super) fn scope() -> Option<NonNull<Scope>> {
    SCOPE.with(Cell::get)
}

pub(super) fn set_scope(scope: Option<NonNull<Scope>>) {
    SCOPE.with(|current| current.set(scope));
}

fn scopes<'a>() -> impl Iterator<Item = &'a Scope> {
    // SAFETY: the scopes lie in frames of this thread that have not been left.
    std::iter::successors(scope(), |scope| unsafe { scope.as_ref() }.outer).map(|scope| unsafe { &*scope.as_ptr() })
}

/// Calls `f`, which may call the wakers of tasks, in nobody's name: those are somebody else's code, and a wait of this thread may be ended at
/// any time. If they wait, it is outside of this thread's scopes and by another parker, so that neither gets the other's unpark.
fn as_nobody<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<ThreadParker>>, Option<NonNull<Scope>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let parker = self.0.take();
            let _ = PARKER.try_with(|place| place.set(parker));
            set_scope(self.1);
        }
    }
    let _restore = Restore(PARKER.try_with(Cell::take).unwrap_or(None), scope());
    set_scope(None);
    f()
}

/// What ends every cancellable wait of this thread right now, if anything does. From now on it can be poked.
pub(super) fn ambient_end() -> Option<Cause> {
    expire_scopes();
    let innermost = scopes().next()?;
    // SAFETY: scopes stay until they are left.
    as_nobody(|| unsafe { innermost.follow(&poke) })
}

/// Ends the scopes whose time is up.
fn expire_scopes() {
    let next = next_expiry();
    if next == Moment::NEVER || next > Moment::now() {
        return;
    }
    let now = Moment::now();
    for scope in scopes().filter(|scope| scope.expiry.get() <= now) {
        scope.expiry.set(Moment::NEVER);
        if let Some(node) = &scope.node {
            as_nobody(|| node.cancel(Cause::Deadline, &poke));
        }
    }
}

/// When the time is up for what the calling thread does here, whatever is around a shield.
#[cfg(not(modelled))]
pub(super) fn expiry_within_shields() -> Moment {
    let inside = scopes().take_while(|scope| scope.node.is_some());
    inside.map(|scope| scope.expiry.get()).min().unwrap_or(Moment::NEVER)
}

fn next_expiry() -> Moment {
    scopes().map(|scope| scope.expiry.get()).min().unwrap_or(Moment::NEVER)
}

pub(super) fn park(wait: &Wait<Who>, parker: &ThreadParker, waiting: &Waiting) -> Woken {
    park_by(wait, waiting, |until| parker.park(|| left_until(until)))
}

/// As [`park`], and until the descriptor is readable, or writable: then the wait ends as if by object 0.
#[cfg(not(modelled))]
pub(super) fn park_for_descriptor(
    wait: &Wait<Who>,
    parker: &ThreadParker,
    waiting: &Waiting,
    fd: BorrowedFd<'_>,
    writable: bool,
) -> Woken {
    let mut claimed = false;
    park_by(wait, waiting, |until| {
        if claimed {
            return parker.park(|| left_until(until));
        }
        // Before it is looked at: one that is ready again and again, and of no use, would never end.
        let awake = match left_until(until) {
            Some(Duration::ZERO) => Awake::TimeUp,
            _ => parker.park_for_descriptor(|| left_until(until), fd, writable),
        };
        // If somebody else has claimed us, the unpark is on its way.
        claimed = awake == Awake::Ready && wait.woken().is_some();
        awake
    })
}

fn left_until(until: Moment) -> Option<Duration> {
    (until != Moment::NEVER).then(|| until.since(Moment::now()))
}

fn park_by(wait: &Wait<Who>, waiting: &Waiting, mut sleep_until: impl FnMut(Moment) -> Awake) -> Woken {
    #[cfg(not(modelled))]
    let _listed = {
        let is_limited = waiting.deadline.is_some_and(|deadline| deadline != Moment::NEVER);
        let ends_by_itself = is_limited || next_expiry() != Moment::NEVER;
        super::waiting_threads::Listed::new(wait, waiting, ends_by_itself)
    };
    let mut cancellable = waiting.cancellable;
    let mut deadline = waiting.deadline.unwrap_or(Moment::NEVER);
    loop {
        // For the sake of what runs inside the scopes of this thread, also if its own wait can't be cancelled.
        let cause = ambient_end();
        if let Some(cause) = cause.filter(|_| cancellable) {
            if wait.claim_own(Woken::Cancelled(cause)) {
                return Woken::Cancelled(cause);
            }
            // Somebody else has claimed us: the unpark is on its way.
            cancellable = false;
        }
        let until = deadline.min(next_expiry());
        match sleep_until(until) {
            Awake::Unparked => break,
            Awake::Poked => {}
            Awake::Ready => {
                if wait.claim_own(Woken::Object(0)) {
                    return Woken::Object(0);
                }
            }
            Awake::TimeUp => {
                if deadline <= until {
                    if wait.claim_own(Woken::Deadline) {
                        // We are awake: nobody owes us an unpark.
                        return Woken::Deadline;
                    }
                    deadline = Moment::NEVER;
                }
            }
        }
    }
    wait.woken().unwrap_or_else(|| unreachable!("INVARIANT: an unpark comes after the claim"))
}
