//! Fibers that compute for long, and where they start.
//!
//! A started fiber stays on its worker, so one that computes for long without a call into the runtime delays all that wait there. Fibers
//! that are said to be like that start where nobody waits: on a worker that has nothing to do and homes none, or on one that the monitor adds
//! for it, as long as there may be more. If there may not, they start anywhere, like all others. One that is found in a lane by a
//! worker on which others wait is placed anew.
//!
//! Fibers are said to be like that by whoever spawns them, or because of the place they were spawned at: the monitor keeps the places of
//! those that it has seen hold a worker for long. So the second time nobody suffers. But a program may spawn all its fibers at one place, and to
//! start them like this takes a hundred times as long: when [`FORGIVEN`] of a place have started, and none of them was seen to do that again, it
//! counts for nothing, until one is.
#![allow(unsafe_code, reason = "fibers are put into intrusive queues, and places kept as pointers")]

#[cfg(test)]
mod tests;

use super::remote::{Life, Remote};
use super::shared::{Phase, Shared};
use super::threads;
use crate::fiber::header::{FiberRef, Header};
use crate::prim::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use crate::prim::reason::Place;
use crate::queue::injector::Injector;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

/// How many places are kept. A program has a few; who has more gets no worse than without.
const PLACES: usize = 64;

/// How many fibers of a place may start without one that computes for long before others of it start as all do. More than can start before the
/// first is seen.
const FORGIVEN: usize = 1_000;

/// A place where a fiber that computed for long was spawned.
struct Known {
    place: AtomicPtr<Location<'static>>,
    /// How many of it have started since the last that did.
    started: AtomicUsize,
}

impl Known {
    const fn new() -> Known {
        Known { place: AtomicPtr::new(ptr::null_mut()), started: AtomicUsize::new(0) }
    }
}

/// See the [module](self).
pub(crate) struct Hogs {
    /// The first `known` are set, and stay.
    places: [Known; PLACES],
    known: AtomicUsize,
    /// Those for whom the monitor is to find a worker.
    waiting: Injector<Header>,
}

impl Hogs {
    pub(super) fn new() -> Hogs {
        Hogs { places: [const { Known::new() }; PLACES], known: AtomicUsize::new(0), waiting: Injector::new() }
    }

    /// Whether fibers spawned at `place` have been seen to compute for long, and not too many since that did not.
    #[inline]
    pub(crate) fn are_spawned_at(&self, place: Place) -> bool {
        self.find(place).is_some_and(|known| known.started.load(Ordering::Relaxed) < FORGIVEN)
    }

    #[inline]
    fn find(&self, place: Place) -> Option<&Known> {
        // ORDERING: Relaxed: a pointer to something that never changes.
        let known = self.known.load(Ordering::Relaxed);
        if known == 0 {
            return None;
        }
        self.places[..known].iter().find(|known| ptr::eq(known.place.load(Ordering::Relaxed), place))
    }

    /// Remembers a place. For the monitor alone.
    pub(super) fn remember(&self, place: Place) {
        let known = self.known.load(Ordering::Relaxed);
        if let Some(known) = self.find(place) {
            known.started.store(0, Ordering::Relaxed);
        } else if known < PLACES {
            self.places[known].place.store(ptr::from_ref(place).cast_mut(), Ordering::Relaxed);
            self.known.store(known + 1, Ordering::Relaxed);
        }
    }

    /// One of `place` starts.
    fn note_start(&self, place: Place) {
        if let Some(known) = self.find(place) {
            known.started.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Shared {
    /// Queues a fresh fiber that will compute for long.
    pub(crate) fn enqueue_hog(&self, fiber: FiberRef) {
        fiber.flags.set_hog();
        if let Some(worker) = self.lonely().find(|worker| self.idle.is_sleeping(*worker)) {
            return self.push_to_lane(worker, fiber);
        }
        // SAFETY: fresh from its allocation, or out of a queue just now.
        unsafe { self.hogs.waiting.push([fiber.as_ptr()]) };
        // ORDERING: pairs with the fence in `Monitor::sleep`: queued before we look whether it sleeps.
        fence(Ordering::SeqCst);
        self.watch.nudge();
    }

    /// A worker has taken `fiber` from a lane: false if it would delay those who wait there, and is placed anew.
    pub(super) fn may_start_on(&self, remote: &Remote, fiber: FiberRef) -> bool {
        let may_start = !fiber.flags.is_hog() || remote.presence.is_empty();
        if !may_start {
            self.enqueue_hog(fiber);
        }
        may_start
    }

    /// One that was said or seen to compute for long starts.
    #[cold]
    pub(super) fn start_hog(&self, fiber: FiberRef) {
        fiber.flags.unset_hog();
        self.hogs.note_start(fiber.spawned_at);
    }

    /// Workers that have nothing to do, could start something, and on which nobody would be delayed. Those that are awake may be about to
    /// find something.
    fn lonely(&self) -> impl Iterator<Item = usize> {
        (0..self.remotes.len()).filter(|&worker| {
            let remote = &self.remotes[worker];
            let exists = matches!(remote.life(), Life::Base | Life::Added);
            let is_able = exists && remote.told.starved.load(Ordering::Relaxed) == 0;
            is_able && remote.presence.is_empty() && !remote.presence.runs_one() && !remote.has_fresh()
        })
    }

    /// Finds workers for those who wait for one; true if there were any. For the monitor alone.
    pub(super) fn place_hogs(self: &Arc<Shared>) -> bool {
        let mut placed = false;
        while let Some(header) = self.hogs.waiting.take_share(1, 1, |_| ()) {
            placed = true;
            // SAFETY: out of a queue just now, so it is not done.
            let fiber = unsafe { FiberRef::new(header) };
            let running = self.phase() == Phase::Running;
            let asleep = self.lonely().find(|worker| self.idle.is_sleeping(*worker));
            let added = || running.then(|| self.add_lonely()).flatten();
            match asleep.or_else(added).or_else(|| self.lonely().next()) {
                Some(worker) => self.push_to_lane(worker, fiber),
                None => {
                    // SAFETY: as above.
                    unsafe { self.injector.push([header]) };
                    // ORDERING: sched/README, waking for fresh work.
                    fence(Ordering::SeqCst);
                    self.announce_fresh();
                }
            }
        }
        placed
    }

    /// One more worker: one that was about to go and homes nobody, or a new one.
    fn add_lonely(self: &Arc<Shared>) -> Option<usize> {
        let workers = || 0..self.remotes.len();
        workers()
            .find(|&worker| {
                let remote = &self.remotes[worker];
                remote.presence.is_empty() && remote.lane.is_empty() && remote.change_life(Life::Retiring, Life::Added)
            })
            .or_else(|| {
                let absent = workers().find(|&worker| self.remotes[worker].life() == Life::Absent)?;
                threads::start_added(self, absent).then_some(absent)
            })
    }
}
