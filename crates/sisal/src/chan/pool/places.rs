//! The places of a pool, and those who wait for one. The protocol is in the [module](super).
#![allow(unsafe_code, reason = "things are put into the frames of those who wait for them")]

use super::PoolTimeoutError;
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Waiting, me, park_or_leave, unpark};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::ptr;

/// A thing in a box of its own, so that what is idle can be listed without allocating under the lock.
pub(super) struct Thing<T> {
    pub(super) value: T,
    next: Option<Box<Thing<T>>>,
}

/// Makes a thing.
pub(super) type Create<T> = Box<dyn Fn() -> T + Send + Sync>;
/// Puts a thing in order that comes back.
pub(super) type Reset<T> = Box<dyn Fn(&mut T) + Send + Sync>;

/// What a taken place has: a thing, or none yet.
pub(super) type Content<T> = Option<Box<Thing<T>>>;

struct State<T> {
    /// The idle things, the one that came back last first.
    idle: Content<T>,
    idle_count: usize,
    /// How many places are taken.
    taken: usize,
    waiting: WaitList<Who>,
}

impl<T> Thing<T> {
    pub(super) fn new(value: T) -> Box<Thing<T>> {
        Box::new(Thing { value, next: None })
    }
}

impl<T> State<T> {
    fn push(&mut self, mut thing: Box<Thing<T>>) {
        thing.next = self.idle.take();
        self.idle = Some(thing);
        self.idle_count += 1;
    }

    fn pop(&mut self) -> Content<T> {
        let mut thing = self.idle.take()?;
        self.idle = thing.next.take();
        self.idle_count -= 1;
        Some(thing)
    }
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        // One by one: a long list that drops itself would be as many calls deep.
        while self.pop().is_some() {}
    }
}

/// What all handles of a pool have in common.
pub(super) struct Shared<T> {
    pub(super) create: Create<T>,
    pub(super) reset: Reset<T>,
    pub(super) places: usize,
    state: Lock<State<T>>,
}

impl<T> Watched for Shared<T> {
    fn sight(&self) -> Sight {
        Sight::new("pool")
    }
}

impl<T> Shared<T> {
    pub(super) fn new(create: Create<T>, reset: Reset<T>, places: usize) -> Shared<T> {
        let state = State { idle: None, idle_count: 0, taken: 0, waiting: WaitList::new() };
        Shared { create, reset, places, state: Lock::new(state) }
    }

    /// How many things are idle, and how many places are taken otherwise.
    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.idle_count, state.taken - state.idle_count)
    }

    /// Takes a place, if that needs no wait.
    #[inline]
    fn take(&self, state: &mut State<T>) -> Option<Content<T>> {
        if state.idle.is_some() {
            return Some(state.pop());
        }
        let is_free = state.taken < self.places;
        state.taken += usize::from(is_free);
        is_free.then_some(None)
    }

    pub(super) fn take_at_once(&self) -> Option<Content<T>> {
        self.take(&mut self.state.lock())
    }

    pub(super) fn take_by(&self, deadline: Option<Moment>, place: Place) -> Result<Content<T>, PoolTimeoutError> {
        let wait = Wait::new(me());
        let waiter = Waiter::solo(&wait);
        let mut handed: Content<T> = None;
        waiter.set_slot(ptr::from_mut(&mut handed).cast());
        // SAFETY: the waiter is claimed by the list and unparked, or gives up, below.
        if let Some(content) = unsafe { self.take_or_enlist(&waiter) } {
            return Ok(content);
        }
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Pool, object, place, deadline, cancellable: true };
        match park_or_leave(&wait, &waiting, || self.give_up(&waiter)) {
            Woken::Object(_) => Ok(handed),
            Woken::Deadline => Err(PoolTimeoutError::TimedOut),
            Woken::Cancelled(cause) => Err(PoolTimeoutError::Cancelled(Cancelled::by(cause))),
        }
    }

    /// Takes a place, or joins the list.
    ///
    /// # Safety
    /// Then the waiter and its slot, which has room for a content, stay where they are until it was claimed by the list and unparked, or
    /// has [given up](Self::give_up).
    pub(super) unsafe fn take_or_enlist(&self, waiter: &Waiter<Who>) -> Option<Content<T>> {
        let mut state = self.state.lock();
        let taken = self.take(&mut state);
        if taken.is_none() {
            // SAFETY: the caller's promise.
            unsafe { state.waiting.push(waiter) };
        }
        taken
    }

    pub(super) fn give_up(&self, waiter: &Waiter<Who>) {
        self.state.lock().waiting.remove(waiter);
    }

    /// Gives a taken place back.
    pub(super) fn give_back(&self, content: Content<T>) {
        let mut state = self.state.lock();
        if let Some(waiter) = state.waiting.claim_first() {
            drop(state);
            // SAFETY: the slot is a place for this in the waiter's frame, which stays until it is unparked. What stood there was nothing.
            unsafe { waiter.hand_over().cast::<Content<T>>().write(content) };
            unpark(waiter.into_token());
            return;
        }
        match content {
            Some(thing) => state.push(thing),
            None => state.taken -= 1,
        }
    }
}

/// A taken place without a thing. Gives it back when it goes.
pub(super) struct Vacancy<'a, T>(pub(super) &'a Shared<T>);

impl<T> Drop for Vacancy<'_, T> {
    fn drop(&mut self) {
        self.0.give_back(None);
    }
}
