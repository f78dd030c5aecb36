//! Jobs: the halves of forks that their owner has put aside for later, and others may run meanwhile.
//!
//! The open jobs of a fiber form a list in its own frames, the newest first. Nobody else sees it, so a job is put there and taken back by a
//! few plain stores. Jobs are *exposed*, the oldest first, since that is mostly the biggest,
//! - when somebody is hungry: every so many forks the fiber looks, at once when a worker that searches asks, and at an outermost fork if that may be
//!   worth it (see [`offers`](super::offers)); while all are busy and nothing else can come, it waits to be told (see
//!   [`countdown`](super::countdown));
//! - all of them when the fiber waits or gives way: its first half may wait for what is in the second.
//!
//! An exposed job is a fresh fiber like any other: others steal it, it may wait, and if it is not stolen its own worker runs it. It takes
//! the job by its [claim cell](crate::fiber::claim_cell), or finds that it comes too late.
#![allow(unsafe_code, reason = "jobs lie in the frames of their owners")]

use super::poke::poke;
use super::search::LISTEN_EVERY;
use super::shared::Shared;
use super::worker::Worker;
use crate::fiber::body;
use crate::fiber::end::Freeing;
use crate::fiber::header::{Birth, FiberRef};
use crate::fiber::job::{Exposed, Job};
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use sisal_context::stack::{SizeClass, Stack};
use std::ptr::NonNull;
use std::sync::Arc;

/// How many forks there are at most between two looks at who is hungry and what has come, if all have the same number in the
/// [countdown](super::countdown), and several times as many if not. A look costs about as much as twenty forks.
const LOOK_EVERY: u32 = 128;

/// How many fresh fibers there may be at most in the worker's ring when another job is offered, whatever their worth. Those who come for them may be kept
/// from their processors, and each counts as a fiber.
const MOST_IN_RING: usize = 64;

/// How often a fiber that forks looks around.
#[derive(Copy, Clone)]
pub(super) struct Looks {
    last: Moment,
    /// How many forks of one number there are between two looks.
    gap: u32,
}

impl Looks {
    pub(super) fn new() -> Looks {
        Looks { last: Moment(0), gap: 1 }
    }

    /// One looks now. The next time is after [`LISTEN_EVERY`], if forks stay as far apart as they were.
    fn next(self, now: Moment) -> Looks {
        let elapsed = now.0.saturating_sub(self.last.0);
        let gap = match elapsed {
            0..LISTEN_EVERY => (self.gap * 2).min(LOOK_EVERY),
            _ => (u64::from(self.gap) * LISTEN_EVERY / elapsed).max(1) as u32,
        };
        Looks { last: now, gap }
    }
}

impl Worker {
    /// Called before a fork of a fiber that has no other open: it looks around at once if it is worth it.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_to_fork(&self, place: Place) {
        if self.shared.idle.has_hungry() && self.offers.is_promising(place, self.coarse_now()) {
            self.look_at_next_fork();
        }
    }

    /// Called at every fork, which puts `job` aside: now and then, and when it is asked to, the worker looks around.
    #[inline]
    pub(crate) fn look_around(&self, me: FiberRef, job: NonNull<Job>, place: Place) {
        if self.remote().told.forks_to_look.count_down(job.addr().get()) {
            self.look_around_now(me, place);
        }
    }

    /// Makes the next fork look around.
    pub(crate) fn look_at_next_fork(&self) {
        self.remote().told.forks_to_look.end();
    }

    /// From now on something is to be expected here: forks count again.
    #[inline]
    pub(crate) fn expect_something(&self) {
        self.remote().told.forks_to_look.rouse();
    }

    #[cold]
    fn look_around_now(&self, me: FiberRef, place: Place) {
        let told = &self.remote().told;
        let now = self.read_clock();
        let looks = self.looks.get().next(now);
        self.looks.set(looks);
        told.forks_to_look.begin(looks.gap);
        let must_yield = told.must_yield.load(Ordering::Relaxed) != 0;
        if must_yield || now.0 >= self.heard_at.get().0 + LISTEN_EVERY {
            self.heard_at.set(now);
            self.fire_timers(now);
            self.heed_calls();
            self.look_outside();
            // Its time is over for fresh fibers too; until then they are left to those who have nothing to do, if those can have them.
            if must_yield || !self.pinned.is_empty() || !self.nothing_to_resume() {
                self.give_way(me, place);
            }
        }
        let hungry = self.shared.idle.hungry();
        if hungry == 0 {
            return self.be_calm(me);
        }
        let Some(oldest) = me.hidden().last() else { return };
        // SAFETY: a job in the list of the running fiber.
        let place = unsafe { oldest.as_ref() }.place;
        let in_ring = self.remote().ring.len();
        if in_ring < MOST_IN_RING && self.offers.worthwhile(in_ring) < hungry && self.offers.may_offer(place, now) {
            let is_promising = self.offers.is_promising(place, now);
            self.offers.offered(place, now);
            self.expose(me, oldest, now);
            if is_promising {
                // There may be more who are hungry, and few forks to come.
                self.look_at_next_fork();
            }
        }
    }

    /// A job that others have seen since then was taken by one of them, or by its owner.
    pub(crate) fn note_offer(&self, place: Place, since: Moment, was_taken: bool) {
        self.offers.ended(place, since, self.read_clock(), was_taken);
    }

    /// Nobody is hungry: if nothing else is to be expected here either, `me` need not look around before it is told to. The protocol is
    /// that of the [countdown](super::countdown).
    fn be_calm(&self, me: FiberRef) {
        let is_alone = self.remote().presence.homed() == usize::from(me.is_homed.get());
        if !is_alone || self.timers.len() > 0 || !self.pinned.is_empty() || self.awaited_driver().is_some() {
            return;
        }
        let told = &self.remote().told;
        self.shared.calm.begin(&told.forks_to_look, || {
            let must_yield = told.must_yield.load(Ordering::Relaxed) != 0;
            must_yield || self.is_called() || !self.nothing_to_resume() || self.shared.idle.has_hungry()
        });
    }

    /// The fiber is about to leave its stack.
    #[cold]
    pub(super) fn expose_all(&self, me: FiberRef) {
        let hidden: Vec<NonNull<Job>> = me.hidden().collect();
        if !hidden.is_empty() {
            let now = self.read_clock();
            hidden.into_iter().rev().for_each(|oldest| self.expose(me, oldest, now));
        }
    }

    /// Jobs have stacks no smaller than that of their owner, who may go as deep in them.
    fn class_for_jobs(&self) -> SizeClass {
        let usual = self.shared.config.class;
        self.stack.get().map(Stack::class).filter(|mine| mine.usable() > usual.usable()).unwrap_or(usual)
    }

    /// Lets others see a job of `me`, the running fiber.
    fn expose(&self, me: FiberRef, job: NonNull<Job>, now: Moment) {
        // SAFETY: a job in the list of the running fiber.
        let seen = unsafe { job.as_ref() };
        // It may be about to leave, and stand in a queue already: nothing may be done in its name.
        if let Some(scope) = seen.scope {
            // SAFETY: the scope is around the job's frame. What it follows has to reach whoever runs the job.
            self.as_nobody(|| unsafe { scope.as_ref().follow(&poke) });
        }
        let seen_by_all = Arc::clone(seen.expose(now));
        // From now on a request for the end of this fiber reaches what others run for it.
        me.poke.make_reachable();
        if me.poke.is_requested() {
            self.as_nobody(|| me.cancel_exposed(&poke));
        }
        if let Some(limit) = &self.shared.limit {
            limit.enter_beyond();
        }
        let birth = Birth {
            id: self.next_id(),
            runtime: me.runtime,
            class: self.class_for_jobs(),
            pinned: false,
            spawned_at: seen.place,
            name: None,
            spawned_by: Some(me.id),
        };
        let offer = Offer { job, exposed: seen_by_all };
        let fiber = body::allocate(birth, move || offer.run());
        fiber.flags.set_job();
        // Its owner may be inside of more by now, never of less.
        fiber.flags.set_outlook(me.flags.outlook());
        let freeing = fiber.end.detach(|_| unreachable!("INVARIANT: nobody awaits it"));
        debug_assert_eq!(freeing, Freeing::Theirs);
        self.note_spawn(fiber);
        self.enqueue_fresh(fiber);
    }
}

impl Shared {
    /// Something that concerns all who fork was published, and a full fence came after: who is calm looks around.
    pub(super) fn rouse_forkers(&self) {
        self.calm.rouse_all(self.remotes.iter().map(|remote| &remote.told.forks_to_look));
    }
}

/// What runs an exposed job, unless its owner has.
struct Offer {
    job: NonNull<Job>,
    exposed: Arc<Exposed>,
}

// SAFETY: the job is touched by whoever has taken it only, and what it runs may go to another thread.
unsafe impl Send for Offer {}

impl Offer {
    fn run(self) {
        // SAFETY: run when it was taken just now, so its owner waits for us in the frame where it lies.
        let owner = self.exposed.cell.steal(|| unsafe { self.job.as_ref().origin.call(|| Job::run(self.job)) });
        if let Some(token) = owner {
            super::unpark::unpark(token);
        }
    }
}
