//! What happens when a time has come: a wait ends, or a scope does.
#![allow(unsafe_code, reason = "waits and scopes in the frames of their fibers are reached by pointer")]

use super::poke::poke;
use super::search::prefetch_line;
use super::worker::Worker;
use crate::fiber::ambient::Scope;
use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::atomic::Ordering;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::task_parker::later;
use crate::queue::timers::{Ahead, Timer};
use std::ptr::NonNull;

/// What a timer is for. It stays in its fiber's frame together with the timer.
#[derive(Copy, Clone)]
pub(crate) enum Alarm {
    /// The deadline of a wait.
    Wait(NonNull<Wait<Who>>),
    /// The end of a scope's time.
    Scope(NonNull<Scope>),
}

/// Brings the memory near that firing a timer will touch: its wait, in the same frame, and then its fiber.
#[inline]
fn prefetch_timer(ahead: Ahead<'_, Alarm>) {
    match ahead {
        Ahead::Node(timer) => prefetch_line(timer.as_ptr().cast()),
        Ahead::Owner(timer) => {
            let Alarm::Wait(wait) = timer.payload else { return };
            // SAFETY: a timer and the wait it belongs to stay in their waiter's frame until the waiter has been woken.
            if let Who::Fiber(fiber) = unsafe { wait.as_ref() }.who() {
                prefetch_line(fiber.as_ptr().as_ptr().cast());
                prefetch_line(fiber.as_ptr().as_ptr().wrapping_byte_add(64).cast());
            }
        }
    }
}

impl Worker {
    /// Sets a timer for `due`.
    ///
    /// # Safety
    /// The timer stays where it is until it is [disarmed](Self::disarm), or the fiber that it is for has been woken.
    pub(crate) unsafe fn arm(&self, timer: &Timer<Alarm>, due: Moment, now: Moment) {
        // SAFETY: the caller's promise.
        unsafe { self.timers.insert(NonNull::from(timer), due.0, now.0) };
        self.show_timers();
    }

    /// Takes a timer off, if its time has not come.
    pub(crate) fn disarm(&self, timer: &Timer<Alarm>) {
        self.timers.remove(timer);
        self.show_timers();
    }

    fn show_timers(&self) {
        self.remote().shown.activity.timers.store(self.timers.len(), Ordering::Relaxed);
    }

    /// Wakes the fibers whose time has come; true if there were any timers due.
    pub(super) fn fire_timers(&self, now: Moment) -> bool {
        if self.timers.earliest() > now.0 {
            return false;
        }
        self.as_nobody(|| later(|| self.fire_due(now)));
        self.show_timers();
        true
    }

    /// Nothing that is called here may look at the timers: hence later.
    fn fire_due(&self, now: Moment) {
        self.timers.pop_due(now.0, prefetch_timer, |timer| {
            // SAFETY: a timer stays in its fiber's frame until that fiber, which runs on this very thread, takes it out.
            match unsafe { timer.as_ref() }.payload {
                Alarm::Wait(wait) => {
                    // SAFETY: as the timer.
                    if let Some(token) = unsafe { wait.as_ref() }.claim(Woken::Deadline) {
                        self.unpark_to_the_end(token);
                    }
                }
                Alarm::Scope(scope) => {
                    // SAFETY: as the timer.
                    if let Some(node) = &unsafe { scope.as_ref() }.node {
                        node.cancel(Cause::Deadline, &poke);
                    }
                }
            }
        });
    }
}
