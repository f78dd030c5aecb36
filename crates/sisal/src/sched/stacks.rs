//! A worker's few hot stacks, in front of the depot.

use super::shared::Shared;
use super::upkeep::TRIM_FROM;
use crate::prim::atomic::{Ordering, fence};
use sisal_context::stack::{SizeClass, Stack};
use sisal_context::switch::sanitizer;
use std::cell::RefCell;

/// The most stacks a worker keeps for itself. Beyond that half of them go to the depot.
const MOST_HOT: usize = 64;

/// How many stacks are fetched at a time: half an arena.
const FETCH: usize = 32;

/// See the [module](self). Holds stacks of the runtime's own size class; others come from and go to a depot of their own.
pub(crate) struct Stacks {
    class: SizeClass,
    hot: RefCell<Vec<Stack>>,
}

#[allow(unsafe_code, reason = "a stack given back must be out of use")]
impl Stacks {
    pub(crate) fn new(class: SizeClass, first: Option<Stack>) -> Stacks {
        let mut hot = Vec::with_capacity(MOST_HOT + 1);
        hot.extend(first);
        Stacks { class, hot: RefCell::new(hot) }
    }

    /// A stack of the usual class; none if none can be had.
    #[inline]
    pub(crate) fn take(&self, shared: &Shared) -> Option<Stack> {
        let mut hot = self.hot.borrow_mut();
        if let Some(stack) = hot.pop() {
            return Some(stack);
        }
        let want = if shared.config.max_stacks.is_some() { 1 } else { FETCH };
        shared.depot.take(self.class, want, &mut hot);
        sanitizer::take_up();
        // Fetched lowest first, used from the end.
        hot.reverse();
        hot.pop()
    }

    /// A stack of another class; none if none can be had.
    pub(crate) fn take_class(&self, shared: &Shared, class: SizeClass) -> Option<Stack> {
        if class == self.class {
            return self.take(shared);
        }
        let mut one = Vec::with_capacity(1);
        shared.others.take(class, 1, &mut one);
        sanitizer::take_up();
        one.pop()
    }

    /// Takes a stack back.
    ///
    /// # Safety
    /// It came from [`take`](Self::take) or [`take_class`](Self::take_class) of this runtime, and nothing runs or is suspended on it.
    #[inline]
    pub(crate) unsafe fn put(&self, shared: &Shared, stack: Stack) {
        // A late waker that touches a frame on it is found, until it is used again or goes.
        sanitizer::close(stack);
        let mut hot = self.hot.borrow_mut();
        if stack.class() != self.class {
            sanitizer::let_go(stack);
            // SAFETY: the caller's promise.
            unsafe { shared.others.give(&[stack]) };
            return shared.watch.note_dirty(&shared.others, 1);
        }
        if hot.len() < MOST_HOT && shared.starved.load(Ordering::Relaxed) == 0 {
            return hot.push(stack);
        }
        if hot.len() >= MOST_HOT {
            // The oldest go: the newest are warm.
            let spilled: Vec<Stack> = hot.drain(..MOST_HOT / 2).collect();
            hot.push(stack);
            drop(hot);
            // SAFETY: all of them were free.
            unsafe { give(shared, &spilled) };
        } else {
            drop(hot);
            // SAFETY: the caller's promise.
            unsafe { give(shared, &[stack]) };
        }
    }

    /// Takes a stack back for the next [`take`](Self::take), whoever else may want one.
    ///
    /// # Safety
    /// As for [`put`](Self::put), and it is of the usual class.
    pub(super) unsafe fn keep(&self, stack: Stack) {
        self.hot.borrow_mut().push(stack);
    }

    /// Gives all hot stacks back: the worker goes, or another one needs them.
    pub(crate) fn give_all(&self, shared: &Shared) {
        let all: Vec<Stack> = self.hot.borrow_mut().drain(..).collect();
        if !all.is_empty() {
            // SAFETY: hot stacks are free.
            unsafe { give(shared, &all) };
        }
    }
}

/// Gives stacks to the depot and tells those who wait for one.
#[allow(unsafe_code, reason = "as for `Depot::give`")]
unsafe fn give(shared: &Shared, stacks: &[Stack]) {
    // Its memory may become something else there.
    stacks.iter().for_each(|&stack| sanitizer::let_go(stack));
    // SAFETY: the caller's promise.
    unsafe { shared.depot.give(stacks) };
    shared.watch.note_dirty(&shared.depot, TRIM_FROM);
    // ORDERING: pairs with the fence in `Idle::announce`: a starved worker raises its flag, fences, and looks at the depot
    // once more; we give, fence, and look at the flags.
    fence(Ordering::SeqCst);
    if shared.starved.load(Ordering::Relaxed) > 0 {
        shared.wake_starved();
    }
}

impl Shared {
    /// Lets those that have no stack look once more.
    #[cold]
    pub(super) fn wake_starved(&self) {
        for (index, remote) in self.remotes.iter().enumerate() {
            if remote.told.starved.load(Ordering::Relaxed) != 0 {
                self.idle.wake_worker(index, &remote.bed);
            }
        }
    }

    /// A worker is starved: others that sleep on hot stacks are woken to give them back.
    pub(super) fn ask_for_stacks(&self) {
        // ORDERING: pairs with the fence in `Idle::announce`: the count of the starved was raised before this, and those who rest look at it when
        // they have announced their sleep. So they see it there, or are seen here. Those who are awake look when they put a stack back.
        fence(Ordering::SeqCst);
        for (index, remote) in self.remotes.iter().enumerate() {
            if remote.told.starved.load(Ordering::Relaxed) == 0 {
                self.idle.wake_worker(index, &remote.bed);
            }
        }
    }
}
