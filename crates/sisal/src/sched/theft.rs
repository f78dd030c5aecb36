//! Taking fresh work from other workers: how long it is left to them, and who takes it when.
//!
//! Fresh fibers can be shared, and once started they can't. Idle workers take what has waited for a moment; busy ones help too, now and then.
//! What is oldest at another worker is looked at twice, so that short fibers are not taken from one who is about to run them.

use super::search::{MANY, fiber};
use super::worker::{Sighting, Worker};
use crate::fiber::header::FiberRef;
use crate::prim::atomic::{Ordering, full_fence};
use crate::queue::ring::{Glimpse, Stolen};

/// How long fresh fibers are left to their own worker, which mostly takes them at once, before a thief does: in nanoseconds.
/// Running a fiber elsewhere costs some hundred nanoseconds in cache misses, which short ones are not worth (`spawn-100`).
const LEAVE_TO_OWNER: u64 = 5_000;

/// How often it is left to a worker all the same. Either that is about to wake somebody for it: most likely us, and the system lets us run in its
/// place. Or it is a few, and they become fewer: it is about to have started all. Fibers that were spawned together belong together more often than
/// not (`pingpong-2`, `chan-4-4`).
const MOST_LEFT: u32 = 4;

/// How long fresh work is left to a worker by one that is busy itself and has as many fibers as that will have: it would undo what the theft
/// of fresh work is for. Perhaps the other has only been kept from its processor for a moment (`yield-1000`).
const LEAVE_TO_LESS_LOADED: u64 = 10_000_000;

/// How long a fiber placed with a worker is left to it, in nanoseconds: that worker may have to be woken for it. A thief on which more fibers
/// live than there leaves it for longer, as above: it would undo what the placement is for.
const LEAVE_LANE_TO_OWNER: u64 = 100_000;

/// How often a worker that counts its forks is asked for jobs, in nanoseconds. It looks by itself before, unless its forks have become slow; and
/// each time what it counts by goes to another processor and back (`tree-10`).
const ASK_EVERY: u64 = 20_000;

impl Worker {
    /// Takes fresh work from others.
    pub(super) fn foreign_fresh(&self) -> Option<FiberRef> {
        if let Some(fiber) = self.injected() {
            return Some(fiber);
        }
        let workers = self.shared.remotes.len();
        let start = self.random.borrow_mut().usize(0..workers);
        let others = (0..workers).map(|offset| (start + offset) % workers).filter(|&victim| victim != self.index);
        for victim in others {
            if let Some(fiber) = self.steal_from(victim, LEAVE_TO_OWNER).or_else(|| self.steal_from_lane(victim)) {
                return Some(fiber);
            }
        }
        None
    }

    /// A worker that has no fresh work itself helps one that does not get round to its own, even if it is busy with ready
    /// fibers: fresh ones can be shared, and once started they can't.
    pub(super) fn relieve_another(&self) {
        if self.remote().ring.is_empty() && self.takes_fresh() {
            let victim = self.random.borrow_mut().usize(0..self.shared.remotes.len());
            let remote = &self.shared.remotes[victim];
            if victim == self.index || !remote.has_fresh() {
                return;
            }
            let is_worse_off = remote.load() > self.remote().load();
            let patience = if is_worse_off { LEAVE_TO_OWNER } else { LEAVE_TO_LESS_LOADED };
            if let Some(fiber) = self.steal_from(victim, patience) {
                self.keep(fiber);
            } else if let Some(placed) = self.steal_from_lane(victim) {
                if placed.flags.is_hog() {
                    // From the own deque anybody might take it, also one on whom others wait.
                    self.shared.enqueue_hog(placed);
                } else {
                    self.keep(placed);
                }
            }
            // For a moment they were in nobody's queue, or a claim that was refused hid them, and somebody may have fallen asleep
            // over that.
            // ORDERING: sched/README, waking for fresh work.
            full_fence();
            self.shared.announce_fresh_left();
        }
    }

    /// Takes half of what is in another's deque, if it has waited for so many nanoseconds.
    fn steal_from(&self, victim: usize, patience: u64) -> Option<FiberRef> {
        let ring = &self.shared.remotes[victim].ring;
        let glimpse = ring.glimpse();
        if glimpse.is_none() {
            self.ask_for_jobs(victim);
        }
        let waited = glimpse.is_some_and(|glimpse| self.has_waited(victim, glimpse, patience));
        if waited && let Stolen::First(header) = ring.steal(|header| self.keep(fiber(header))) {
            self.forget_glimpse(victim);
            self.remote().shown.activity.steals.tally(1);
            let first = fiber(header);
            if self.recording.get() {
                self.record_steal(first, victim);
            }
            return Some(first);
        }
        None
    }

    /// Has another worker look at its next fork who is hungry.
    fn ask_for_jobs(&self, victim: usize) {
        let forks_to_look = &self.shared.remotes[victim].told.forks_to_look;
        let sighting = self.sightings[victim].get();
        let now = self.now.get();
        if forks_to_look.is_calm() || now.0 >= sighting.asked.0 + ASK_EVERY {
            self.sightings[victim].set(Sighting { asked: now, ..sighting });
            forks_to_look.end();
        }
    }

    /// Takes what was placed with another worker, if that one does not come for it.
    fn steal_from_lane(&self, victim: usize) -> Option<FiberRef> {
        let lane = &self.shared.remotes[victim].lane;
        if lane.is_empty() {
            return None;
        }
        let sighting = self.sightings[victim].get();
        let now = self.now.get();
        if sighting.lane_takes != Some(lane.takes()) {
            self.sightings[victim].set(Sighting { lane_takes: Some(lane.takes()), lane_since: now, ..sighting });
            return None;
        }
        let homed = |worker: usize| self.shared.remotes[worker].presence.homed();
        let patience = if homed(self.index) > homed(victim) { LEAVE_TO_LESS_LOADED } else { LEAVE_LANE_TO_OWNER };
        if now.0 < sighting.lane_since.0 + patience {
            return None;
        }
        self.take_from_lane(victim).inspect(|&taken| {
            self.remote().shown.activity.steals.tally(1);
            if self.recording.get() {
                self.record_steal(taken, victim);
            }
        })
    }

    /// Whether what is oldest at `victim` was there so many nanoseconds ago already.
    fn has_waited(&self, victim: usize, glimpse: Glimpse, patience: u64) -> bool {
        let sighting = self.sightings[victim].get();
        let now = self.now.get();
        if sighting.glimpse.is_none_or(|earlier| !glimpse.has_aged_since(earlier)) {
            self.sightings[victim].set(Sighting { glimpse: Some(glimpse), since: now, left: 0, ..sighting });
            return false;
        }
        if now.0 < sighting.since.0 + patience {
            return false;
        }
        let is_waking = self.shared.remotes[victim].shown.is_waking.load(Ordering::Relaxed) != 0;
        // One who is busy looks too seldom for that.
        let is_at_it = self.searching.get()
            && glimpse.len() < MANY
            && sighting.glimpse.is_some_and(|earlier| glimpse.lacks_newest_of(earlier));
        if (is_waking || is_at_it) && sighting.left < MOST_LEFT {
            let left = sighting.left + 1;
            self.sightings[victim].set(Sighting { glimpse: Some(glimpse), since: now, left, ..sighting });
            if is_waking {
                self.is_in_the_way.set(true);
            }
            return false;
        }
        true
    }

    /// What is left at another worker is left to it for a while again.
    fn forget_glimpse(&self, victim: usize) {
        let sighting = self.sightings[victim].get();
        self.sightings[victim].set(Sighting { glimpse: None, ..sighting });
    }
}
