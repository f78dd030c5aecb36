//! The monitor: a thread that watches the workers while there is something to watch, and otherwise sleeps.
//!
//! While fresh work waits and a worker has not begun a new turn for [`STUCK_AFTER`], it adds workers, half as many as there
//! are at a time, up to `max_workers`. (A fiber that says that it blocks its worker makes it stuck at once.) When no fresh work has waited for [`RETIRE_AFTER`], added workers retire: they take
//! nothing fresh, and go when nothing is homed on them; if they are needed again first, they stay. A fiber that has held its
//! worker for [`SLICE`] is asked to yield at its next call into the runtime; one that holds it for longer than is
//! [allowed](super::blockers) is named, once for each place it was spawned at. And it gives back [memory](super::upkeep) that is no longer
//! used.
//!
//! # When it sleeps
//! There is something to watch while fresh work waits and all workers are busy, while mail waits for a busy worker, while one is busy
//! on which others wait, while fibers that compute for long want a worker, and while there are added workers that may have to retire; and
//! while any is busy, if it was asked for that those who block them be named. While the
//! depot has stacks to trim, or control blocks have been spilled, it wakes up for that from time to time, and while a worker is busy, to look for fibers that wait for one another. Whoever makes one of these so says it after a fence and wakes the monitor if it is asleep; the
//! monitor says that it sleeps, fences, and looks once more. It touches nothing that belongs to a worker alone.

#[cfg(test)]
mod tests;

use super::blockers::{Blocker, Reports};
use super::remote::Life;
use super::shared::{Phase, Shared};
use super::stillness::{Patrol, Vigil};
use super::threads;
use super::upkeep::Upkeep;
use crate::prim::atomic::{AtomicU32, Ordering, fence};
use crate::prim::clock::Moment;
use crate::prim::futex;
use crate::prim::reason::Place;
use crate::prim::say::say;
use sisal_context::stack::Depot;
use std::sync::Arc;
use std::time::Duration;

/// How often it looks while there is something to watch.
const TICK: Duration = Duration::from_millis(1);
/// How often it looks while fibers only might be delayed.
const SLOW_TICK: Duration = Duration::from_millis(5);
/// A worker is stuck when it has not begun a turn for so long.
const STUCK_AFTER: Duration = Duration::from_millis(5);
/// A fiber's time, before it is asked to yield.
const SLICE: Duration = Duration::from_millis(10);
/// A worker that has been at one turn for so long is shown as stuck.
const SHOWN_STUCK_AFTER: Duration = Duration::from_millis(100);
/// When no fresh work has waited for so long, added workers are not needed.
const RETIRE_AFTER: Duration = Duration::from_millis(50);
/// How long it goes on looking when there is nothing to see, and how long it looks away while all workers sleep: what comes every now and then
/// does not have to wake it each time.
const LINGER: Duration = Duration::from_millis(10);

const AWAKE: u32 = 0;
/// Sleeps until it is woken.
const ASLEEP: u32 = 1;
/// Sleeps until it is woken, or until it is time to trim.
const NAPPING: u32 = 2;

/// What others know of the monitor.
pub(crate) struct Watch {
    word: AtomicU32,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch { word: AtomicU32::new(AWAKE) }
    }

    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.word.load(Ordering::Relaxed) != AWAKE
    }

    #[cold]
    pub(crate) fn wake(&self) {
        if self.word.swap(AWAKE, Ordering::Relaxed) != AWAKE {
            futex::wake_one(&self.word);
        }
    }

    /// A worker that slept is busy again.
    pub(super) fn note_busy(&self) {
        // ORDERING: pairs with the fence in `Monitor::sleep`: the worker is not among the sleepers when we look whether it sleeps.
        fence(Ordering::SeqCst);
        if self.is_asleep() {
            self.wake();
        }
    }

    /// Lets it look now, whether it sleeps or not.
    pub(super) fn nudge(&self) {
        self.word.store(AWAKE, Ordering::Relaxed);
        futex::wake_one(&self.word);
    }

    /// There is something to trim: if it sleeps and does not know, it is told.
    pub(super) fn ask_to_trim(&self) {
        // ORDERING: pairs with the fence in `Monitor::sleep`: what is to be trimmed is there before we look whether it sleeps.
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) == ASLEEP {
            self.wake();
        }
    }

    /// Stacks were given to a depot.
    pub(super) fn note_dirty(&self, depot: &Depot, from: usize) {
        if depot.dirty() >= from {
            self.ask_to_trim();
        }
    }
}

/// What the monitor remembers of one worker.
#[derive(Clone)]
struct Seen {
    heartbeat: u64,
    since: Moment,
    /// When it was first seen at this turn, whatever was done about it.
    turn_since: Moment,
    /// What its thread had used of a processor when it was first seen to be at the same turn as before.
    used: Option<Duration>,
    named: bool,
    /// Whether the worker was taken for stuck because it said so.
    believed: bool,
}

impl Seen {
    fn at(heartbeat: u64, now: Moment) -> Seen {
        Seen { heartbeat, since: now, turn_since: now, used: None, named: false, believed: false }
    }
}

/// See the [module](self).
pub(super) struct Monitor {
    shared: Arc<Shared>,
    seen: Vec<Seen>,
    named_places: Vec<Place>,
    reports: Reports,
    now: Moment,
    /// When fresh work last waited.
    last_waiting: Moment,
    /// When there was last something to watch.
    last_busy: Moment,
    vigil: Vigil,
    patrol: Patrol,
    upkeep: Upkeep,
}

impl Monitor {
    pub(super) fn new(shared: Arc<Shared>) -> Monitor {
        let now = Moment::now();
        let seen = vec![Seen::at(0, now); shared.remotes.len()];
        Monitor {
            shared,
            seen,
            named_places: Vec::new(),
            reports: Reports::default(),
            now,
            last_waiting: now,
            last_busy: now,
            vigil: Vigil::default(),
            patrol: Patrol::new(now),
            upkeep: Upkeep::new(now),
        }
    }

    pub(super) fn run(mut self) {
        while self.shared.phase() != Phase::Ended {
            self.now = Moment::now();
            if self.shared.place_hogs() {
                self.last_waiting = self.now;
            }
            self.look_at_workers();
            self.upkeep.go(&self.shared, self.now);
            self.patrol.go(&self.shared, self.now);
            let vigil = self.vigil.keep(&self.shared, self.now);
            if self.workers_need_it() {
                self.last_busy = self.now;
            }
            if self.now.since(self.last_busy) <= LINGER {
                futex::wait(&self.shared.watch.word, AWAKE, Some(self.tick()));
            } else {
                self.sleep(vigil);
            }
        }
    }

    /// How long until the next look.
    fn tick(&self) -> Duration {
        if self.is_urgent() {
            TICK
        } else if self.shared.has_busy() {
            SLOW_TICK
        } else {
            LINGER
        }
    }

    /// How long each worker has been at its present turn; nothing for those that sleep.
    fn look_at_workers(&mut self) {
        let mut stuck = false;
        for worker in 0..self.seen.len() {
            let held = self.held_for(worker);
            let declared = self.shared.remotes[worker].shown.is_declared_blocked();
            let is_stuck = held >= SHOWN_STUCK_AFTER && !declared;
            self.shared.remotes[worker].shown.is_stuck.store(is_stuck.into(), Ordering::Relaxed);
            let believed = declared && !std::mem::replace(&mut self.seen[worker].believed, declared);
            stuck |= held >= STUCK_AFTER || believed;
            if held >= SLICE {
                self.hold_back(worker);
            }
            if !declared {
                self.name_if_due(worker);
            }
        }
        let waiting = self.shared.has_fresh();
        if waiting {
            self.last_waiting = self.now;
        }
        if waiting && stuck && self.shared.phase() == Phase::Running {
            self.add_workers();
        } else if self.now.since(self.last_waiting) >= RETIRE_AFTER {
            self.retire_added();
        }
    }

    fn held_for(&mut self, worker: usize) -> Duration {
        let remote = &self.shared.remotes[worker];
        let heartbeat = remote.shown.heartbeat.load(Ordering::Relaxed);
        let seen = &mut self.seen[worker];
        if heartbeat != seen.heartbeat || remote.life() == Life::Absent || self.shared.idle.is_sleeping(worker) {
            *seen = Seen::at(heartbeat, self.now);
        } else if seen.used.is_none() {
            seen.used = remote.shown.cpu_clock.read();
        }
        self.now.since(seen.since)
    }

    /// The fiber that runs on `worker` has had its time. If it has computed all the while, and never waited before, then so will others from
    /// the same place. One that has waited before has much to do just now, and a thread that is kept waiting for a processor says nothing
    /// about its fiber.
    fn hold_back(&self, worker: usize) {
        let remote = &self.shared.remotes[worker];
        remote.told.must_yield.store(1, Ordering::Relaxed);
        remote.told.forks_to_look.end();
        if remote.presence.running_has_waited() {
            return;
        }
        let used = remote.shown.cpu_clock.read().zip(self.seen[worker].used);
        if used.is_some_and(|(now, before)| now.saturating_sub(before) >= SLICE)
            && let Some(fiber) = remote.running_in(self.seen[worker].heartbeat)
        {
            self.shared.hogs.remember(fiber.spawned_at());
        }
    }

    /// Names the fiber that blocks `worker`, once for each place. If the turn has ended meanwhile, whoever runs now is not to blame; nor is one
    /// that only comes later in this turn, whose worker was kept from its processor before it had found anybody to run.
    fn name_if_due(&mut self, worker: usize) {
        let seen = &mut self.seen[worker];
        let held = self.now.since(seen.turn_since);
        if seen.named || !self.shared.config.naming.is_due(held) {
            return;
        }
        let Some(blocker) = Blocker::on(&self.shared, worker, seen.heartbeat, held) else {
            seen.turn_since = self.now;
            return;
        };
        seen.named = true;
        if !self.named_places.contains(&blocker.fiber.spawned_at()) {
            self.named_places.push(blocker.fiber.spawned_at());
            self.reports.add(&self.shared, blocker);
        }
    }

    /// Half as many again. Those that retire are kept first, then threads are started.
    fn add_workers(&mut self) {
        let wanted = (self.shared.workers() / 2).max(1);
        let remotes = self.shared.remotes.iter().enumerate();
        let kept =
            remotes.clone().filter(|(_, remote)| remote.change_life(Life::Retiring, Life::Added)).take(wanted).count();
        let absent: Vec<usize> = remotes
            .filter(|(_, remote)| remote.life() == Life::Absent)
            .map(|(worker, _)| worker)
            .take(wanted - kept)
            .collect();
        let started = absent.into_iter().filter(|&worker| threads::start_added(&self.shared, worker)).count();
        if kept + started == 0 {
            return;
        }
        self.shared.wake_all();
        // A new crew gets its time before it is judged.
        self.seen.iter_mut().for_each(|seen| seen.since = self.now);
        if self.shared.config.verbose {
            say(format_args!("sisal: fresh fibers wait behind busy workers: {} workers now\n", self.shared.workers()));
        }
    }

    fn retire_added(&self) {
        let retired =
            self.shared.remotes.iter().filter(|remote| remote.change_life(Life::Added, Life::Retiring)).count();
        if retired > 0 {
            self.shared.wake_all();
        }
    }

    fn workers_need_it(&self) -> bool {
        self.is_urgent()
            || (0..self.shared.remotes.len()).any(|worker| self.delays_others(worker))
            || (self.shared.config.naming.watches_all() && self.shared.has_busy())
    }

    /// Whether others wait on a worker that is busy.
    fn delays_others(&self, worker: usize) -> bool {
        self.shared.remotes[worker].presence.homed_besides_running() > 0 && !self.shared.idle.is_sleeping(worker)
    }

    fn is_urgent(&self) -> bool {
        let shared = &self.shared;
        shared.hogs.are_waiting()
            || (shared.has_fresh() && shared.idle.all_busy())
            || shared.remotes.iter().any(|remote| remote.life() == Life::Added)
            || (0..shared.remotes.len()).any(|worker| self.has_waiting_mail(worker))
    }

    fn has_waiting_mail(&self, worker: usize) -> bool {
        !self.shared.remotes[worker].inbox.is_empty() && !self.shared.idle.is_sleeping(worker)
    }

    /// Sleeps until somebody needs it, or until it is time to trim, or the `vigil` goes on.
    fn sleep(&mut self, vigil: Option<Duration>) {
        let word = &self.shared.watch.word;
        word.store(ASLEEP, Ordering::Relaxed);
        // ORDERING: pairs with the fences of those who make something to watch: they publish, fence, and read the word.
        fence(Ordering::SeqCst);
        let is_asked = vigil.is_none() && self.shared.is_asked_about_stillness();
        if !self.workers_need_it() && !is_asked && self.shared.phase() != Phase::Ended {
            let trim = self.upkeep.interval(&self.shared);
            let timeout = [vigil, trim, self.patrol.time_left(&self.shared)].into_iter().flatten().min();
            let kind = if trim.is_some() { NAPPING } else { ASLEEP };
            // It may have been woken by now, and must not forget that.
            let _ = word.compare_exchange(ASLEEP, kind, Ordering::Relaxed, Ordering::Relaxed);
            futex::wait(word, kind, timeout);
        }
        let now = Moment::now();
        self.last_waiting = now;
        // It has not looked meanwhile, so it knows nothing of how long they have been at their turns.
        self.seen.iter_mut().for_each(|seen| (seen.since, seen.turn_since, seen.used) = (now, now, None));
        if word.swap(AWAKE, Ordering::Relaxed) == AWAKE {
            // Somebody had a reason: stay for a while, so that the next does not have to wake it again.
            self.last_busy = now;
        }
    }
}
