//! A descriptor that fibers and threads wait for.
//!
//! What is to be done is tried first, and only what would block waits: see [`slot`] for how no event is missed. Fibers hear of events by their worker's
//! epoll, plain threads by `poll`, tasks of futures by the epoll of the worker they are polled on or else of the [reactor].
//!
//! A source that is [closed](Source::close) while others use it keeps its number until it is dropped, so that a number in use never becomes
//! another descriptor's; but the file behind it is closed at once: a dead one takes its place.
#![allow(
    unsafe_code,
    reason = "waiters are linked by pointer, slots that live for ever kept as one, and a file is closed behind its number"
)]

use super::epoll::{Epoll, EpollDriver};
use super::pauses::Pauses;
use super::slot::{Edges, Enlisted, Slot};
use super::{error, reactor, slots};
use crate::fiber::in_fiber;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::prim::clock::Moment;
use crate::prim::fork;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::prim::wake_timer::wake_at;
use crate::sched::worker;
use rustix::event::epoll::CreateFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long to wait when there is no descriptor left to hear of events by.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(5);

/// What is waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What is to be done with a descriptor.
#[derive(Copy, Clone)]
pub(crate) struct Request {
    pub(crate) direction: Direction,
    pub(crate) reason: Reason,
    pub(crate) place: Place,
    pub(crate) deadline: Option<Moment>,
}

/// See the [module](self).
pub(crate) struct Source {
    /// Taken when the source goes.
    fd: Option<OwnedFd>,
    /// Null as long as nobody has waited.
    slot: AtomicPtr<Slot>,
    closed: AtomicU32,
}

impl Source {
    /// Takes a descriptor over, and makes it one that does not block.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Source> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Source::nonblocking(fd))
    }

    /// Takes over a descriptor that does not block.
    pub(crate) fn nonblocking(fd: OwnedFd) -> Source {
        Source { fd: Some(fd), slot: AtomicPtr::new(ptr::null_mut()), closed: AtomicU32::new(0) }
    }

    /// Gives the descriptor back, as one that does not block.
    pub(crate) fn into_fd(mut self) -> OwnedFd {
        self.release_slot();
        self.fd.take().unwrap_or_else(|| unreachable!("INVARIANT: taken when the source goes"))
    }

    /// Ends all waits for it, now and later. The number is free when the source is dropped.
    pub(crate) fn close(&self) {
        // ORDERING: AcqRel: one closes; pairs with the Acquire in `is_closed`.
        if self.closed.swap(1, Ordering::AcqRel) != 0 {
            return;
        }
        if !fork::is_child() {
            // So that one who is about to wait sees it under the lock.
            self.slot().close(self.as_fd(), park::unpark);
        }
        bury(self.as_fd());
    }

    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the exchange in `close`.
        self.closed.load(Ordering::Acquire) != 0
    }

    /// Does `op`, and whenever that would block, waits and does it again.
    pub(crate) fn perform<T>(
        &self,
        request: &Request,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.drive(request, op, |_| false)
    }

    /// As [`perform`](Self::perform) for the bytes of a TCP stream, where less than the `wanted` count means that no more are there, or
    /// that there is no room for more.
    #[inline]
    pub(crate) fn transfer(
        &self,
        request: &Request,
        wanted: usize,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if wanted == 0 && request.direction == Direction::Write && !self.is_closed() {
            // Needs no room.
            return op(self.as_fd());
        }
        self.drive(request, op, |&done| done != 0 && done < wanted)
    }

    /// `shows_dry` tells from a result whether the next try would block.
    #[inline]
    fn drive<T>(
        &self,
        request: &Request,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
        shows_dry: impl FnOnce(&T) -> bool,
    ) -> io::Result<T> {
        let direction = request.direction;
        let mut baton: Option<Baton> = None;
        let mut in_vain = InVain::new();
        let result = loop {
            if self.is_closed() {
                break Err(error::closed());
            }
            let slot = self.existing_slot();
            let edges = slot.map_or(Edges::NONE, |slot| slot.edges(direction));
            let is_dry = baton.is_none() && slot.is_some_and(|slot| slot.is_dry(direction, edges));
            let result = if is_dry { Err(io::ErrorKind::WouldBlock.into()) } else { op(self.as_fd()) };
            match &result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Some(baton) = baton.take() {
                        baton.drop_it();
                        if in_vain.is_over_and_over(self.as_fd(), direction) {
                            match self.pause(in_vain.pauses(request)) {
                                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                                    break self.try_late(error, op);
                                }
                                Err(error) => break Err(error),
                                Ok(()) => continue,
                            }
                        }
                    }
                    in_vain.begin_wait();
                    match self.wait(request, edges) {
                        Ok(()) => baton = Some(Baton { slot: self.slot(), direction }),
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => break self.try_late(error, op),
                        Err(error) => break Err(error),
                    }
                    continue;
                }
                Err(_) if self.is_closed() => break Err(error::closed()),
                Ok(done) if shows_dry(done) => {
                    if let Some(slot) = slot {
                        slot.note_dry(direction, edges);
                    }
                }
                _ => {}
            }
            break result;
        };
        if baton.is_none() {
            park::pay_fuel_for_system_call(request.place);
        }
        result
    }

    /// The time for `op` is up. But a worker that was busy may hear of that before it hears of what has come in time.
    #[cold]
    fn try_late<T>(&self, timed_out: io::Error, mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>) -> io::Result<T> {
        match op(self.as_fd()) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(timed_out)
            }
            result => result,
        }
    }

    /// Waits until something may be done, unless that has happened since `seen`.
    fn wait(&self, request: &Request, seen: Edges) -> io::Result<()> {
        let Request { direction, reason, place, deadline } = *request;
        let slot = self.slot();
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        let enlisted = with_epoll(|epoll| {
            let hearer = epoll.filter(|_| matches!(wait.who(), Who::Fiber(_)));
            // SAFETY: both stay in this frame, and are taken off below if the wait was ended by something else than the slot.
            unsafe { slot.enlist(direction, seen, &waiter, self.as_fd(), hearer) }
        });
        let enlisted = match enlisted {
            Err(error) if error::is_shortage(&error) => return pause(&wait, request),
            other => other?,
        };
        match enlisted {
            Enlisted::TryAgain => return Ok(()),
            Enlisted::Closed => return Err(error::closed()),
            Enlisted::Waiting => {}
        }
        let object = Object::of(slot);
        let waiting = Waiting { reason, object, place, deadline, cancellable: true };
        let woken = park::park_for_descriptor(&wait, &waiting, self.as_fd(), direction == Direction::Write);
        if wait.woken() != Some(Woken::Object(0)) || matches!(wait.who(), Who::Thread(_)) {
            slot.remove(direction, &waiter);
        }
        if self.is_closed() {
            return Err(error::closed());
        }
        match woken {
            Woken::Object(_) => Ok(()),
            Woken::Deadline => Err(error::timed_out()),
            Woken::Cancelled(cause) => Err(error::cancelled(cause)),
        }
    }

    /// Waits for what no event tells of, for the next of some pauses; if the source is closed, that ends it, with an error.
    pub(crate) fn pause(&self, pauses: &mut Pauses) -> io::Result<()> {
        match self.park_until_closed(&pauses.next()?)? {
            Woken::Deadline => Ok(()),
            Woken::Cancelled(cause) => Err(error::cancelled(cause)),
            Woken::Object(_) => Err(error::closed()),
        }
    }

    /// Waits until something that `waiting` names ends that, or the source is closed, which claims the wait as its object. An error if it is closed
    /// already.
    fn park_until_closed(&self, waiting: &Waiting) -> io::Result<Woken> {
        let slot = self.slot();
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: both stay in this frame, and are taken off below if the wait was ended by something else than the slot.
        if !unsafe { slot.enlist_pausing(&waiter) } {
            return Err(error::closed());
        }
        let waiting = Waiting { object: Object::of(slot), ..*waiting };
        Ok(park::park_or_leave(&wait, &waiting, || slot.remove_pausing(&waiter)))
    }

    /// Does `op` with some bytes of a stream; if that would block, the task of `context` is woken when it may not any more. Of a TCP stream, less than the
    /// `wanted` count means the same as in [`transfer`](Self::transfer); of others, which want nothing, no count means anything.
    #[cfg_attr(
        not(any(feature = "futures", feature = "hyper", feature = "tokio")),
        allow(dead_code, reason = "for futures")
    )]
    pub(crate) fn poll(
        &self,
        direction: Direction,
        wanted: usize,
        context: &mut Context<'_>,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.is_closed() {
                return Poll::Ready(Err(error::closed()));
            }
            let slot = self.slot();
            let edges = slot.edges(direction);
            let is_dry = wanted != 0 && slot.is_dry(direction, edges);
            let result = if is_dry { Err(io::ErrorKind::WouldBlock.into()) } else { op(self.as_fd()) };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.is_closed() => {}
                Err(_) if self.is_closed() => return Poll::Ready(Err(error::closed())),
                result => {
                    if result.as_ref().is_ok_and(|&done| done != 0 && done < wanted) {
                        slot.note_dry(direction, edges);
                    }
                    return Poll::Ready(result);
                }
            }
            let enlisted = with_epoll(|epoll| match epoll {
                Some(epoll) => slot.enlist_task(direction, edges, context.waker(), self.as_fd(), epoll),
                None => slot.enlist_task(direction, edges, context.waker(), self.as_fd(), reactor::epoll()?),
            });
            match enlisted {
                Ok(Enlisted::Waiting) => return Poll::Pending,
                Ok(Enlisted::TryAgain) => {}
                Ok(Enlisted::Closed) => return Poll::Ready(Err(error::closed())),
                // As a fiber that waits: it tries again after a while.
                Err(error) if error::is_shortage(&error) => {
                    let soon = Moment::now().after(SHORTAGE_PAUSE);
                    return match wake_at(soon, context.waker().clone()) {
                        Ok(()) => Poll::Pending,
                        Err(_) => Poll::Ready(Err(error)),
                    };
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    #[inline]
    fn existing_slot(&self) -> Option<&'static Slot> {
        // ORDERING: Acquire pairs with the exchange in `slot`.
        let slot = self.slot.load(Ordering::Acquire);
        // SAFETY: null, or from a reference that lives for ever.
        unsafe { slot.as_ref() }
    }

    fn slot(&self) -> &'static Slot {
        if let Some(slot) = self.existing_slot() {
            return slot;
        }
        let mine = slots::allocate();
        let pointer = ptr::from_ref(mine).cast_mut();
        // ORDERING: Release pairs with the Acquire in `existing_slot`.
        match self.slot.compare_exchange(ptr::null_mut(), pointer, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => mine,
            Err(_) => {
                mine.release(self.as_fd());
                self.slot()
            }
        }
    }

    fn release_slot(&mut self) {
        if let Some(slot) = self.existing_slot() {
            if !fork::is_child() {
                // An epoll is shared with the child of a fork: what is taken out there would be out here.
                slot.release(self.as_fd());
            }
            self.slot = AtomicPtr::new(ptr::null_mut());
        }
    }
}

/// Held by one who has waited: there may be enough for another, who is woken when this goes, also by a panic.
struct Baton {
    slot: &'static Slot,
    direction: Direction,
}

impl Baton {
    /// There is nothing for others.
    fn drop_it(self) {
        mem::forget(self);
    }
}

impl Drop for Baton {
    fn drop(&mut self) {
        if let Some(token) = self.slot.claim_next(self.direction) {
            park::unpark(token);
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if self.fd.is_some() {
            self.release_slot();
        }
    }
}

impl AsFd for Source {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().unwrap_or_else(|| unreachable!("INVARIANT: taken when the source goes")).as_fd()
    }
}

/// So often in a row a thread is told at once that something may be done which may not.
const MOST_IN_VAIN: u32 = 8;
/// A wait that ends sooner was none.
const AT_ONCE: Duration = Duration::from_micros(100);

/// How often a thread has waited in vain. It asks the kernel, which says that a descriptor is readable also for what no read takes away: an error
/// that somebody has asked to have kept. (A fiber is told once, when that comes.)
struct InVain {
    began: Moment,
    times: u32,
    pauses: Option<Pauses>,
}

impl InVain {
    fn new() -> InVain {
        InVain { began: Moment::NEVER, times: 0, pauses: None }
    }

    fn begin_wait(&mut self) {
        self.began = if in_fiber() { Moment::NEVER } else { Moment::now() };
    }

    /// The wait that has ended was for nothing, and so were those before; and the next would be. (Where many wait for little, others were quicker.)
    fn is_over_and_over(&mut self, fd: BorrowedFd<'_>, direction: Direction) -> bool {
        let is_at_once = self.began != Moment::NEVER && Moment::now().since(self.began) < AT_ONCE;
        self.times = if is_at_once { self.times + 1 } else { 0 };
        let is_in_vain = self.times >= MOST_IN_VAIN && is_said_to_be_ready(fd, direction);
        if !is_in_vain {
            self.pauses = None;
        }
        is_in_vain
    }

    fn pauses(&mut self, request: &Request) -> &mut Pauses {
        self.pauses.get_or_insert_with(|| Pauses::new(request.reason, request.deadline, request.place))
    }
}

fn is_said_to_be_ready(fd: BorrowedFd<'_>, direction: Direction) -> bool {
    let flags = if direction == Direction::Write { PollFlags::OUT } else { PollFlags::IN };
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(fd, flags)], Some(&at_once)).is_ok_and(|ready| ready != 0)
}

/// There is no way to hear of events now: waits for a moment.
fn pause(wait: &Wait<Who>, request: &Request) -> io::Result<()> {
    let soon = Moment::now().after(SHORTAGE_PAUSE);
    let deadline = request.deadline.filter(|&deadline| deadline <= soon);
    let waiting = Waiting {
        reason: request.reason,
        object: Object::NONE,
        place: request.place,
        deadline: Some(deadline.unwrap_or(soon)),
        cancellable: true,
    };
    match park::park(wait, &waiting) {
        Woken::Cancelled(cause) => Err(error::cancelled(cause)),
        Woken::Deadline if deadline.is_some() => Err(error::timed_out()),
        Woken::Deadline | Woken::Object(_) => Ok(()),
    }
}

/// Calls `f` with the epoll of this thread's worker, if it is one.
fn with_epoll<R>(f: impl FnOnce(Option<&Arc<Epoll>>) -> io::Result<R>) -> io::Result<R> {
    worker::with_current(|worker| match worker {
        None => f(None),
        Some(worker) => f(Some(&EpollDriver::of(worker)?.epoll)),
    })
}

/// Closes the file behind a descriptor, and leaves a dead one there. If there can't be one now, the file is closed with the source, and a
/// socket ends at least for its peer.
fn bury(fd: BorrowedFd<'_>) {
    static DEAD: OnceLock<OwnedFd> = OnceLock::new();
    let dead = DEAD.get().or_else(|| {
        // Nothing can be read from it or written to it, and it is never ready.
        let dead = rustix::event::epoll::create(CreateFlags::CLOEXEC).ok()?;
        Some(DEAD.get_or_init(|| dead))
    });
    match dead {
        // SAFETY: both are open, and the number stays open, with another file behind it.
        Some(dead) => _ = unsafe { libc::dup3(dead.as_raw_fd(), fd.as_raw_fd(), libc::O_CLOEXEC) },
        None => _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Both),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Source {
        /// Whether somebody waits here for what no event tells of.
        pub(crate) fn has_pausing(&self) -> bool {
            self.existing_slot().is_some_and(Slot::has_pausing)
        }
    }
}
