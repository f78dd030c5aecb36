//! What is known of a descriptor that is waited for, and how events find it.
//!
//! [Slots](slots) are made once and never freed, only used again: an event that comes late may look at one that serves another descriptor now.
//! The generation tells. Each direction of a slot has a word, its *edges*, which counts the events there were, and a list of those who
//! wait.
//!
//! # Protocol
//! *To do something*, e.g. to read: load the edges; try. If that would block: take the slot's lock; if the edges are as they were
//! loaded, stand in the list, and see that the descriptor is registered with the own worker; else try again. So an event between the try and the wait is
//! never missed: it has changed the edges, or finds the one who waits. Registering a descriptor that is ready makes an event.
//!
//! *An event*, under the lock: if the generation is right, count an edge for each direction it is about, and claim the first who waits there, of
//! the own worker if there is one: others may be busy for long, and hear of it themselves.
//! There may be enough for more than one: whoever has waited and then done something wakes the next, who tries as well. An event that says that
//! the other end is gone or that there is an error claims all, and marks the direction *open-ended*: there may be no other event, so from
//! then on everybody tries before they wait.
//!
//! *Dry*: when a stream has given fewer bytes than it was asked for, or taken fewer, the next try would block, unless there was an event since. The
//! edges as they were loaded before that try are written down, and whoever finds them unchanged waits without trying. An event may have
//! happened that nobody has heard yet; it will be heard, and ends the wait. (Urgent data ends a read early, and so does nothing
//! else; its event marks the direction as open-ended.)
//!
//! *Close* claims all, and takes the descriptor off all epolls. A later wait sees under the lock that it is closed. Some wait for what no event tells
//! of, with a [pause](super::pauses): they stand in a list of their own, which only a close claims.
#![allow(unsafe_code, reason = "waiters are linked into lists by pointer")]

#[cfg(test)]
mod tests;

use super::epoll::Epoll;
use super::slots;
use super::source::Direction;
use super::tasks::{self, Tasks};
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{ClaimToken, Waiter};
use crate::fiber::who::Who;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::object::{Sight, Watched};
use rustix::event::epoll::EventFlags;
use std::io;
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::Waker;

/// Which slot, and of which generation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    pub(super) fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(super) fn from_u64(number: u64) -> Key {
        Key { index: number as u32, generation: (number >> 32) as u32 }
    }
}

/// The edges of a direction as they were at some time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Edges(u32);

impl Edges {
    /// Before there is a slot there was no event.
    pub(super) const NONE: Edges = Edges(0);
    const OPEN_ENDED: u32 = 1;
    const ONE: u32 = 2;
}

/// See the [module](self).
#[repr(align(64))]
pub(super) struct Slot {
    pub(super) index: u32,
    read: Words,
    write: Words,
    state: Lock<State>,
}

/// What is read of a direction without the lock.
struct Words {
    edges: AtomicU32,
    /// The edges before a try that showed that the next would block.
    dry: AtomicU32,
}

/// No edges that are not open-ended are this.
const NOT_DRY: u32 = u32::MAX;

struct State {
    generation: u32,
    closed: bool,
    /// Where the descriptor is registered: mostly with one worker.
    registered: Option<Arc<Epoll>>,
    also_registered: Vec<Arc<Epoll>>,
    readers: Line,
    writers: Line,
    pausing: Pausing,
}

/// Those whom no event concerns, but the close does.
struct Pausing(WaitList<Who>);

// SAFETY: waiters are reached under the lock only.
unsafe impl Send for Pausing {}

/// Who waits for one direction.
struct Line {
    waiters: WaitList<Who>,
    tasks: Tasks,
}

// SAFETY: waiters are reached under the lock only.
unsafe impl Send for Line {}

impl Line {
    const fn new() -> Line {
        Line { waiters: WaitList::new(), tasks: Tasks::new() }
    }
}

impl Words {
    fn new() -> Words {
        Words { edges: AtomicU32::new(Edges::NONE.0), dry: AtomicU32::new(NOT_DRY) }
    }

    /// Under the lock.
    fn count(&self, open_ended: bool) {
        let edges = self.edges.load(Ordering::Relaxed).wrapping_add(Edges::ONE);
        let edges = if open_ended { edges | Edges::OPEN_ENDED } else { edges };
        // ORDERING: Release pairs with the Acquire in `Slot::edges`.
        self.edges.store(edges, Ordering::Release);
    }
}

impl State {
    fn line(&mut self, direction: Direction) -> &mut Line {
        match direction {
            Direction::Read => &mut self.readers,
            Direction::Write => &mut self.writers,
        }
    }

    /// Takes off the epolls that nobody hears any more; true if there were any.
    fn forget_deaf(&mut self) -> bool {
        let before = usize::from(self.registered.is_some()) + self.also_registered.len();
        self.registered.take_if(|epoll| epoll.is_deaf());
        self.also_registered.retain(|epoll| !epoll.is_deaf());
        usize::from(self.registered.is_some()) + self.also_registered.len() < before
    }

    fn is_registered_with(&self, epoll: &Arc<Epoll>) -> bool {
        self.registered.iter().chain(&self.also_registered).any(|other| Arc::ptr_eq(other, epoll))
    }
}

/// What came of the wish to wait.
#[must_use]
pub(super) enum Enlisted {
    /// The caller stands in the list.
    Waiting,
    /// There was an event since the edges were loaded.
    TryAgain,
    Closed,
}

impl Watched for Slot {
    fn sight(&self) -> Sight {
        Sight { is_outside: true, ..Sight::new("descriptor") }
    }
}

impl Slot {
    pub(super) fn new(index: u32) -> Slot {
        let state = State {
            generation: 0,
            closed: false,
            registered: None,
            also_registered: Vec::new(),
            readers: Line::new(),
            writers: Line::new(),
            pausing: Pausing(WaitList::new()),
        };
        Slot { index, read: Words::new(), write: Words::new(), state: Lock::new(state) }
    }

    fn words(&self, direction: Direction) -> &Words {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    #[inline]
    pub(super) fn edges(&self, direction: Direction) -> Edges {
        // ORDERING: Acquire keeps the try after it, and pairs with the Release in `count`.
        Edges(self.words(direction).edges.load(Ordering::Acquire))
    }

    /// Whether to try would block for sure, or until an event comes that has not been heard.
    #[inline]
    pub(super) fn is_dry(&self, direction: Direction, edges: Edges) -> bool {
        edges.0 & Edges::OPEN_ENDED == 0 && self.words(direction).dry.load(Ordering::Relaxed) == edges.0
    }

    /// A try, before which the edges were these, has shown that the next would block.
    #[inline]
    pub(super) fn note_dry(&self, direction: Direction, edges: Edges) {
        if edges.0 & Edges::OPEN_ENDED == 0 {
            self.words(direction).dry.store(edges.0, Ordering::Relaxed);
        }
    }

    /// Adds a waiter, unless there was an event since `seen`.
    ///
    /// # Safety
    /// As for [`WaitList::push`]: it stays until it was [removed](Self::remove), or claimed and unparked.
    pub(super) unsafe fn enlist(
        &self,
        direction: Direction,
        seen: Edges,
        waiter: &Waiter<Who>,
        fd: BorrowedFd<'_>,
        hearer: Option<&Arc<Epoll>>,
    ) -> io::Result<Enlisted> {
        self.enter(direction, seen, fd, hearer, |line| {
            // SAFETY: the caller's promise.
            unsafe { line.waiters.push(waiter) };
        })
    }

    /// Has a task woken by the next event, unless there was one since `seen`.
    pub(super) fn enlist_task(
        &self,
        direction: Direction,
        seen: Edges,
        task: &Waker,
        fd: BorrowedFd<'_>,
        hearer: &Arc<Epoll>,
    ) -> io::Result<Enlisted> {
        // Cloned and woken outside of the lock, since that is somebody else's code.
        let mut mine = Some(task.clone());
        let mut crowd = Vec::new();
        let enlisted = self.enter(direction, seen, fd, Some(hearer), |line| {
            if !line.tasks.has(task) {
                crowd = line.tasks.take_crowd(Moment::now);
                mine.take().into_iter().for_each(|task| line.tasks.add(task));
            }
        });
        crowd.into_iter().for_each(tasks::wake);
        enlisted
    }

    fn enter(
        &self,
        direction: Direction,
        seen: Edges,
        fd: BorrowedFd<'_>,
        hearer: Option<&Arc<Epoll>>,
        add: impl FnOnce(&mut Line),
    ) -> io::Result<Enlisted> {
        let mut state = self.state.lock();
        if state.closed {
            return Ok(Enlisted::Closed);
        }
        if self.edges(direction) != seen {
            return Ok(Enlisted::TryAgain);
        }
        if let Some(epoll) = hearer
            && !state.is_registered_with(epoll)
        {
            epoll.add(fd, Key { index: self.index, generation: state.generation })?;
            match &mut state.registered {
                none @ None => *none = Some(Arc::clone(epoll)),
                Some(_) => state.also_registered.push(Arc::clone(epoll)),
            }
        }
        add(state.line(direction));
        Ok(Enlisted::Waiting)
    }

    /// Takes off a waiter whose wait was ended by something else.
    pub(super) fn remove(&self, direction: Direction, waiter: &Waiter<Who>) {
        self.state.lock().line(direction).waiters.remove(waiter);
    }

    /// Adds a waiter whom only the close of the descriptor claims; false if it is closed.
    ///
    /// # Safety
    /// As for [`WaitList::push`]: it stays until it was [removed](Self::remove_pausing), or claimed and unparked.
    #[must_use]
    pub(super) unsafe fn enlist_pausing(&self, waiter: &Waiter<Who>) -> bool {
        let mut state = self.state.lock();
        if !state.closed {
            // SAFETY: the caller's promise.
            unsafe { state.pausing.0.push(waiter) };
        }
        !state.closed
    }

    /// Takes off such a waiter, whose wait was ended by something else.
    pub(super) fn remove_pausing(&self, waiter: &Waiter<Who>) {
        self.state.lock().pausing.0.remove(waiter);
    }

    /// Claims the next who waits: for one who has waited and done something.
    pub(super) fn claim_next(&self, direction: Direction) -> Option<ClaimToken<Who>> {
        let mut state = self.state.lock();
        state.line(direction).waiters.claim_first().map(|claimed| claimed.into_token())
    }

    /// Ends all waits, now and later, and takes the descriptor off all epolls.
    pub(super) fn close(&self, fd: BorrowedFd<'_>, mut wake: impl FnMut(ClaimToken<Who>)) {
        let mut state = self.state.lock();
        state.closed = true;
        let (registered, also) = (state.registered.take(), mem::take(&mut state.also_registered));
        let claimed =
            [state.readers.waiters.claim_all(), state.writers.waiters.claim_all(), state.pausing.0.claim_all()];
        let tasks = [state.readers.tasks.take(), state.writers.tasks.take()];
        drop(state);
        registered.iter().chain(&also).for_each(|epoll| epoll.delete(fd));
        claimed.into_iter().flatten().for_each(&mut wake);
        tasks.into_iter().flatten().for_each(tasks::wake);
    }

    /// Gives the slot back, when nobody waits any more and the descriptor is about to go.
    pub(super) fn release(&'static self, fd: BorrowedFd<'_>) {
        self.close(fd, |_| unreachable!("INVARIANT: nobody waits for what nobody holds"));
        self.renew();
        slots::give_back(self);
    }

    /// Begins a generation: events of the last one, which may be under way, are about a descriptor that is closed.
    fn renew(&self) {
        let mut state = self.state.lock();
        state.generation = state.generation.wrapping_add(1);
        state.closed = false;
        for words in [&self.read, &self.write] {
            words.edges.store(Edges::NONE.0, Ordering::Relaxed);
            words.dry.store(NOT_DRY, Ordering::Relaxed);
        }
    }

    fn on_event(&self, generation: u32, flags: EventFlags, wake: &mut dyn FnMut(ClaimToken<Who>)) {
        let at_end = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let readable = at_end || flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::PRI);
        let writable = at_end || flags.intersects(EventFlags::OUT);
        let mut state = self.state.lock();
        if state.generation != generation {
            return;
        }
        let mut tasks = [Vec::new(), Vec::new()];
        let mut claimed = [None, None];
        if readable {
            self.read.count(at_end || flags.intersects(EventFlags::RDHUP | EventFlags::PRI));
            claimed[0] = state.readers.waiters.claim_near();
            tasks[0] = state.readers.tasks.take();
        }
        if writable {
            self.write.count(at_end);
            claimed[1] = state.writers.waiters.claim_near();
            tasks[1] = state.writers.tasks.take();
        }
        let others = at_end.then(|| [state.readers.waiters.claim_all(), state.writers.waiters.claim_all()]);
        drop(state);
        claimed.into_iter().flatten().for_each(|claimed| wake(claimed.into_token()));
        others.into_iter().flatten().flatten().for_each(wake);
        tasks.into_iter().flatten().for_each(tasks::wake);
    }
}

/// An event was heard for `key`.
pub(super) fn on_event(key: Key, flags: EventFlags, wake: &mut dyn FnMut(ClaimToken<Who>)) {
    if let Some(slot) = slots::get(key.index) {
        slot.on_event(key.generation, flags, wake);
    }
}

/// Takes off all epolls that nobody hears any more. The tasks that may have waited for these are woken, and look again.
pub(super) fn forget_deaf() {
    for slot in slots::all() {
        let mut state = slot.state.lock();
        if state.forget_deaf() {
            let tasks = [state.readers.tasks.take(), state.writers.tasks.take()];
            drop(state);
            tasks.into_iter().flatten().for_each(tasks::wake);
        }
    }
}
