//! In which order a worker looks for work.
//!
//! 1. what the running fiber woke last, on the rest of its turn, unless that waited for any of several things
//! 2. ready fibers, in their order; then the inbox, which becomes the ready list
//! 3. fresh fibers that must start here; the own deque, newest first; the own lane; the injector
//! 4. timers; what comes from outside
//! 5. other workers' deques and lanes, from a random one on, half of what is there ([`theft`](super::theft))
//! 6. all of it again for a little while; then sleep
//!
//! A fiber that waits, when 1 and 2 come to nothing, may stay where it is for a moment before the rest ([`linger`](super::linger)).
//!
//! Nothing starves: every [`POLL_EVERY`]th turn, and more often if turns are long, the inbox, the timers and the driver are looked at
//! whatever else there is. If fresh work waits then, one fresh fiber goes before the ready ones every [`POLL_EVERY`]th turn, and every
//! [`FRESH_EVERY`] if turns are long, or others are to take it: by turns the oldest of the deque, the injector's, the lane's and the
//! pinned. After one that waits for the first time the newest of a few in the own deque goes before the ready ones, too, in half of the turns at
//! most, and for [`SIBLINGS_FOR`]. What one fiber wakes goes first only [`MOST_IN_A_ROW`] times in a row.
#![allow(unsafe_code, reason = "fibers are taken from intrusive queues")]

use super::remote::Life;
use super::worker::Worker;
use crate::fiber::header::{FiberRef, Header};
use crate::prim::atomic::{Ordering, spin_loop};
use crate::prim::clock::Moment;
use std::ptr::NonNull;
use std::time::Duration;

/// Every so many turns a worker looks at everything. A prime, so that no pattern of its work falls in step with it.
const POLL_EVERY: u64 = 61;

/// How long a worker that always has something to do may go without looking at its timers, its inbox and what comes from outside, in
/// nanoseconds. Where turns are long, it looks more often than every so many turns.
pub(super) const LISTEN_EVERY: u64 = 50_000;

/// How long fresh work waits, in nanoseconds, before one fiber of it goes before the ready ones, where turns are long or others are to take it.
const FRESH_EVERY: u64 = 1_000_000;

/// How many fresh fibers are worth to be left to others. Few may well belong together with those that have started here (`chan-4-4`).
pub(super) const MANY: usize = 32;

/// After how many turns for each fresh fiber that there was more of them may go before the ready ones. To start one takes two (`chan-4-4`).
const TURNS_A_SIBLING: u64 = 4;

/// For how long, in nanoseconds, siblings go before the ready ones: no longer than others that are fresh are kept waiting.
const SIBLINGS_FOR: u64 = FRESH_EVERY;

/// How often in a row the fiber woken last may go before all others.
const MOST_IN_A_ROW: u32 = 32;

/// How many pauses between two looks at others' deques. Every look takes a cache line away from its owner (`spawn-100`: 58 ns with
/// 64 pauses, 78 with 16).
const PAUSES: u32 = 96;

/// For how long a worker leaves its processor to another that it is perhaps in the way of. The system makes it some tens of microseconds more.
const MAKE_WAY: Duration = Duration::from_micros(10);

/// The most that is taken from the injector at once.
const MOST_INJECTED: usize = 64;

/// What a worker does next.
pub(super) enum Next {
    Fresh(FiberRef),
    Ready(FiberRef),
    /// The worker's loop ends.
    Leave,
}

/// When a worker next looks at everything, in turns.
#[derive(Copy, Clone)]
pub(super) struct Polls {
    at: u64,
    /// How many turns that is after the last time.
    gap: u64,
    last: Moment,
}

impl Polls {
    /// For a worker that has had `tick` turns.
    pub(super) fn new(tick: u64) -> Polls {
        Polls { at: tick + 1, gap: 1, last: Moment(0) }
    }

    /// It looks now, in the turn `tick`: the next time is after [`LISTEN_EVERY`] if turns stay as long as they were, and no later than
    /// after `most` turns or with the next multiple of [`POLL_EVERY`].
    fn next(self, tick: u64, now: Moment, most: u64) -> Polls {
        let elapsed = now.0.saturating_sub(self.last.0);
        let gap = match elapsed {
            0..LISTEN_EVERY => (self.gap * 2).min(POLL_EVERY),
            _ => (self.gap * LISTEN_EVERY / elapsed).max(1),
        };
        Polls { at: tick + gap.min(most).min(POLL_EVERY - tick % POLL_EVERY), gap: gap.min(most), last: now }
    }
}

/// Which fresh fiber is to get its turn before the next ready one, if one is.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum FreshDue {
    No,
    /// The newest of the own deque, after one that waits for the first time.
    Sibling,
    /// One of each source by turns. It takes the place of a sibling, not the reverse.
    ByTurns,
}

impl FreshDue {
    fn by_turns_if(is_due: bool) -> FreshDue {
        if is_due { FreshDue::ByTurns } else { FreshDue::No }
    }
}

/// How many more siblings may go before those that are ready, and how long; and until which turn no others may.
#[derive(Copy, Clone)]
pub(super) struct Siblings {
    left: u64,
    by: Moment,
    until: u64,
}

impl Siblings {
    pub(super) fn new() -> Siblings {
        Siblings { left: 0, by: Moment(0), until: 0 }
    }
}

pub(super) fn fiber(header: NonNull<Header>) -> FiberRef {
    // SAFETY: the queues hold unfinished fibers only, and whoever takes one out runs it to its end.
    unsafe { FiberRef::new(header) }
}

/// Brings the memory near that resuming a fiber will touch.
#[inline]
fn prefetch(header: &Header) {
    let frame = header.context.get().address();
    prefetch_line(frame);
    prefetch_line(frame.wrapping_add(64));
}

#[inline]
pub(super) fn prefetch_line(address: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Worker {
    /// A turn begins.
    #[inline]
    pub(super) fn begin_turn(&self) {
        let tick = self.tick.get() + 1;
        self.tick.set(tick);
        self.remote().shown.heartbeat.store(tick, Ordering::Relaxed);
        if tick == self.polls.get().at {
            self.poll();
        }
    }

    /// Looks at what would otherwise be looked at only when the rest is empty.
    #[cold]
    fn poll(&self) {
        self.drain_inbox();
        let now = self.read_clock();
        self.heed_tracers(now);
        self.fire_timers(now);
        if now.0 >= self.heard_at.get().0 + LISTEN_EVERY {
            self.look_outside();
        }
        self.polls.set(self.polls.get().next(self.tick.get(), now, self.turns_to_wait()));
        let is_time = now.0 >= self.fresh_seen_at.get().0 + FRESH_EVERY;
        if is_time || self.tick.get().is_multiple_of(POLL_EVERY) {
            self.see_to_fresh(now, is_time);
        }
    }

    /// How many turns may pass before the next look. If something may come that is not looked at otherwise: at most one for each fiber that is
    /// ready, since a few that give way again and again may take any time for their turns.
    fn turns_to_wait(&self) -> u64 {
        if self.timers.earliest() != Moment::NEVER.0 || self.awaited_driver().is_some() {
            (self.ready.len() as u64).clamp(1, POLL_EVERY)
        } else {
            POLL_EVERY
        }
    }

    /// Sees to it that fresh work gets its turn, here and elsewhere. If there is much in the own deque, that is left to those who search, or were
    /// woken for it and are on their way, until it is time: what is started here stays here, and they would find nothing (`yield-1000`).
    fn see_to_fresh(&self, now: Moment, is_time: bool) {
        self.relieve_another();
        let remote = self.remote();
        let others_search = || self.shared.idle.searchers() > usize::from(self.searching.get());
        let is_left_to_others = !is_time && remote.ring.len() >= MANY && others_search();
        let from_elsewhere = !self.pinned.is_empty() || !remote.lane.is_empty() || !self.shared.injector.is_empty();
        if is_left_to_others {
            // A turn that is due already stays so.
            if from_elsewhere {
                self.fresh_due.set(FreshDue::ByTurns);
            }
        } else {
            self.fresh_due.set(FreshDue::by_turns_if(from_elsewhere || !remote.ring.is_empty()));
            self.fresh_seen_at.set(now);
        }
        self.heed_calls();
    }

    /// A fiber waits for the first time. If a few are fresh still, they were most likely spawned together with it, and are what it waits for, or wait for
    /// it. They start first, or others would take them while those who are ready already keep this worker from them (`chan-4-4`). No more of them than
    /// there are now, whoever has spawned them, and not for long: the ready ones are to have their turn.
    pub(super) fn go_on_starting(&self) {
        let fresh = self.remote().ring.len();
        if !(1..MANY).contains(&fresh) || self.fresh_due.get() != FreshDue::No {
            return;
        }
        let (tick, siblings) = (self.tick.get(), self.siblings.get());
        if tick < siblings.until && siblings.left == 0 {
            return;
        }
        let now = self.read_clock();
        let Siblings { left, by, until } = if tick < siblings.until {
            siblings
        } else {
            let left = fresh as u64;
            Siblings { left, by: Moment(now.0 + SIBLINGS_FOR), until: tick + left * TURNS_A_SIBLING }
        };
        if now < by {
            self.siblings.set(Siblings { left: left - 1, by, until });
            self.fresh_due.set(FreshDue::Sibling);
        }
    }

    /// For a fiber that waits or yields: the ready fiber to go to, or none if a loop has to look further.
    #[inline]
    pub(super) fn pick(&self) -> Option<FiberRef> {
        self.begin_turn();
        if self.fresh_due.get() == FreshDue::No { self.pop_ready() } else { None }
    }

    /// Whether no fiber of this worker is ready.
    pub(super) fn nothing_to_resume(&self) -> bool {
        self.run_next.get().is_none() && self.ready.is_empty() && self.remote().inbox.is_empty()
    }

    /// For a fiber that wants to yield: whether there is no one to yield to.
    pub(super) fn nothing_else_to_do(&self) -> bool {
        if self.run_next.get().is_some() || !self.ready.is_empty() {
            return false;
        }
        // Fresh fibers, and the mail, get their turn now. A turn without others still counts as one, for the timers' sake.
        let idle = self.pinned.is_empty() && self.remote().ring.is_empty() && self.remote().inbox.is_empty() && {
            self.begin_turn();
            let has_fresh = self.remote().has_fresh() || !self.shared.injector.is_empty();
            !has_fresh && self.pinned.is_empty() && self.ready.is_empty()
        };
        self.fresh_due.set(FreshDue::by_turns_if(!idle));
        idle
    }

    #[inline(always)]
    pub(super) fn pop_ready(&self) -> Option<FiberRef> {
        if let Some(next) = self.run_next.get() {
            let streak = self.run_next_streak.get();
            if streak < MOST_IN_A_ROW {
                self.run_next.set(None);
                self.run_next_streak.set(streak + 1);
                self.show_ready(0);
                return Some(next);
            }
        }
        self.pop_in_turn()
    }

    /// The first of the list. One that was to go first has done so too often, and goes to the end.
    #[inline(never)]
    fn pop_in_turn(&self) -> Option<FiberRef> {
        if let Some(last) = self.run_next.take() {
            // SAFETY: a ready fiber, out of its queue just now.
            unsafe { self.ready.push(last.as_ptr()) };
        }
        self.run_next_streak.set(0);
        if self.ready.is_empty() {
            self.drain_inbox();
        }
        let next = self.ready.pop(prefetch).map(fiber);
        self.show_ready(0);
        next
    }

    /// Lets others see how many fibers are ready here, with `more` that are not in the list.
    #[inline]
    pub(super) fn show_ready(&self, more: usize) {
        self.remote().shown.activity.ready.store(self.ready.len() + more, Ordering::Relaxed);
    }

    fn drain_inbox(&self) {
        for header in self.remote().inbox.take_all() {
            let list = if fiber(header).state.is_fresh() { &self.pinned } else { &self.ready };
            // SAFETY: out of the inbox just now.
            unsafe { list.push(header) };
        }
    }

    /// Finds the next fiber; sleeps while there is none.
    pub(super) fn next(&self) -> Next {
        let next = self.find();
        if self.searching.take() {
            self.shared.idle.leave_search();
            self.shared.announce_fresh_left();
        }
        next
    }

    fn find(&self) -> Next {
        loop {
            self.begin_turn();
            let due = match self.fresh_due.replace(FreshDue::No) {
                FreshDue::No => None,
                FreshDue::Sibling => self.remote().ring.pop_newest().map(fiber),
                FreshDue::ByTurns => self.fresh_by_turns(),
            };
            if let Some(fiber) = due {
                return Next::Fresh(fiber);
            }
            if let Some(fiber) = self.pop_ready() {
                return Next::Ready(fiber);
            }
            if let Some(fiber) = self.own_fresh() {
                return Next::Fresh(fiber);
            }
            if self.heed_calls() || self.fire_timers(self.read_clock()) {
                continue;
            }
            if self.listen() {
                continue;
            }
            if let Some(fiber) = self.search() {
                // Its turn, which others clock, begins now, however long the search has taken.
                self.begin_turn();
                return Next::Fresh(fiber);
            }
            if !self.remote().inbox.is_empty() {
                continue;
            }
            if self.rest() {
                return Next::Leave;
            }
        }
    }

    /// A worker that retires takes no fresh work from others.
    pub(super) fn takes_fresh(&self) -> bool {
        self.remote().life() != Life::Retiring
    }

    fn own_fresh(&self) -> Option<FiberRef> {
        let header = self.pinned.pop(|_| ()).or_else(|| self.remote().ring.pop_newest());
        match header {
            Some(header) => Some(fiber(header)),
            None if self.takes_fresh() => self.take_from_lane(self.index).or_else(|| self.injected()),
            None => None,
        }
    }

    /// One fresh fiber, from each source by turns, so that none waits for ever behind another.
    fn fresh_by_turns(&self) -> Option<FiberRef> {
        let first = self.fresh_turns.get();
        self.fresh_turns.set(first.wrapping_add(1));
        (0..4).find_map(|offset| match first.wrapping_add(offset) % 4 {
            0 => self.remote().ring.pop_oldest().map(fiber),
            1 if self.takes_fresh() => self.injected(),
            2 if self.takes_fresh() => self.take_from_lane(self.index),
            3 => self.pinned.pop(|_| ()).map(fiber),
            _ => None,
        })
    }

    pub(super) fn injected(&self) -> Option<FiberRef> {
        let sharers = self.shared.config.workers;
        // What does not fit into the own deque would have to go back, under the same lock.
        let most = MOST_INJECTED.min(self.remote().ring.room());
        let header = self.shared.injector.take_share(sharers, most, |header| {
            // Taking it has brought its second line near; it was made some time ago.
            prefetch_line(header.as_ptr().cast());
            prefetch_line(header.as_ptr().wrapping_byte_add(128).cast());
            self.keep(fiber(header));
        });
        // Whoever traces from before it was given to us is to see it.
        header.map(fiber).inspect(|_| self.heed_tracers(self.now.get()))
    }

    /// What was placed with a worker. If that would delay those who wait here, it is placed anew.
    pub(super) fn take_from_lane(&self, worker: usize) -> Option<FiberRef> {
        let fiber = self.shared.remotes[worker].lane.take_share(1, 1, |_| ()).map(fiber)?;
        self.shared.may_start_on(self.remote(), fiber).then_some(fiber)
    }

    /// Looks beyond the own queues for a while; if too many others do, only at the own ones. Mail from a worker that is about to look
    /// for work itself comes within that time, and then nobody has to be woken (`pingpong-cross`).
    fn search(&self) -> Option<FiberRef> {
        let started = self.now.get();
        loop {
            // What a busy worker has seen of others is of no concern here.
            self.is_in_the_way.set(false);
            if self.may_search()
                && let Some(fiber) = self.foreign_fresh()
            {
                return Some(fiber);
            }
            if self.has_own_work() {
                return None;
            }
            if self.is_in_the_way.get() {
                // Others of this processor run then for certain, which is not so if it is only offered to them. However impatient one is: who has
                // seen fresh work does not sleep over it, but comes back here.
                std::thread::sleep(MAKE_WAY);
            }
            let now = self.read_clock();
            self.heed_tracers(now);
            if now.0 >= started.0 + self.patience.get() || now.0 >= self.timers.earliest() {
                break;
            }
            if self.pause() {
                // Whoever is to bring work may be waiting for this processor.
                std::thread::yield_now();
            }
        }
        None
    }

    /// Whether this worker may take from others; it then counts as one that searches.
    fn may_search(&self) -> bool {
        if !self.searching.get() && self.takes_fresh() && self.shared.idle.try_search() {
            self.searching.set(true);
        }
        self.searching.get()
    }

    /// Lets a moment pass between two looks, but not for mail; true if none came.
    fn pause(&self) -> bool {
        (0..PAUSES).all(|_| {
            spin_loop();
            self.remote().inbox.is_empty()
        })
    }

    pub(super) fn has_own_work(&self) -> bool {
        let remote = self.remote();
        !remote.inbox.is_empty()
            || !self.pinned.is_empty()
            || !remote.ring.is_empty()
            || (self.takes_fresh() && !remote.lane.is_empty())
            || self.is_called()
    }
}
