//! Noticing that nothing runs any more and nothing is known that will change that.
//!
//! A runtime is *still* when all its workers sleep, no fiber is ready or fresh, no timer is armed, no fiber waits for something outside,
//! and yet there are fibers. A worker says before it announces its sleep whether it *expects* something; the last one to fall asleep
//! sees that of all others, as for the end of a runtime ([`shutdown`](super::shutdown)). If the runtime is still, it asks the monitor
//! to examine it.
//!
//! The monitor waits for a while: a thread outside may be about to do something. If nobody has had a turn meanwhile, it calls the
//! *examiner*, which was installed by a layer above and looks at the fibers.

use super::remote::Life;
use super::shared::{Phase, Shared};
use super::worker::Worker;
use crate::prim::atomic::{AtomicU8, AtomicU32, Ordering, fence};
use crate::prim::clock::Moment;
use crate::prim::reason::Reason;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// For how long nothing may happen before it is looked into.
const GRACE: Duration = Duration::from_millis(100);

/// What to do when no fiber can ever run again.
///
/// ```
/// use sisal::inspect::OnDeadlock;
///
/// let ended = sisal::Runtime::builder().on_deadlock(OnDeadlock::Cancel).run(|| {
///     let (_sender, receiver) = sisal::chan::oneshot::<u32>();
///     receiver.recv()
/// });
/// assert!(ended.unwrap().is_err());
/// assert_eq!(OnDeadlock::default(), OnDeadlock::Exit);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDeadlock {
    /// Report it, and end the process with exit code 124.
    #[default]
    Exit,
    /// Report it, and stop the runtime: all waits that can be cancelled are. If that does not help (a lock is waited for in any case), the
    /// process ends with exit code 124.
    Cancel,
    /// Report it.
    Report,
    /// Don't look for it.
    Ignore,
}

/// Called by the monitor when the runtime has been still for as long as is said. Returns after how long in all it wants to look again, if
/// it does.
pub(crate) type Examiner = fn(&Arc<Shared>, Duration) -> Option<Duration>;

/// What the scheduler keeps for it.
pub(crate) struct Stillness {
    /// Called by the monitor now and then while fibers run: some may wait for one another.
    pub(crate) patrol: OnceLock<fn(&Shared)>,
    /// 1 when a possible deadlock was reported, 2 when a certain one was.
    pub(crate) reported: AtomicU8,
    /// 1 when all waits were cancelled because of one.
    pub(crate) cancelled: AtomicU8,
    /// 1 while a worker wants the runtime to be examined.
    asked: AtomicU32,
    pub(crate) examiner: OnceLock<Examiner>,
}

impl Stillness {
    pub(crate) fn new() -> Stillness {
        Stillness {
            patrol: OnceLock::new(),
            reported: AtomicU8::new(0),
            cancelled: AtomicU8::new(0),
            asked: AtomicU32::new(0),
            examiner: OnceLock::new(),
        }
    }
}

impl Worker {
    /// A fiber of this worker is about to wait for a [counted](Reason::is_counted) reason.
    #[inline]
    pub(crate) fn count_wait(&self, reason: Reason) {
        if reason.is_outside() {
            self.outside_waits.set(self.outside_waits.get() + 1);
        } else {
            let bonds = &self.remote().shown.bonds;
            bonds.store(bonds.load(Ordering::Relaxed) + reason.bond(), Ordering::Relaxed);
        }
    }

    /// It has waited.
    #[inline]
    pub(crate) fn count_end_of_wait(&self, reason: Reason) {
        if reason.is_outside() {
            self.outside_waits.set(self.outside_waits.get() - 1);
        } else {
            let bonds = &self.remote().shown.bonds;
            bonds.store(bonds.load(Ordering::Relaxed) - reason.bond(), Ordering::Relaxed);
        }
    }

    /// Before it announces that it sleeps: says whether something will wake it that is neither a fiber nor a thread.
    pub(super) fn show_prospects(&self) {
        let expects = self.outside_waits.get() > 0 || self.timers.earliest() != Moment::NEVER.0;
        self.remote().shown.expects.store(expects.into(), Ordering::Relaxed);
    }

    /// After it has announced that it sleeps.
    pub(super) fn ask_about_stillness(&self) {
        self.shared.ask_about_stillness();
    }
}

impl Shared {
    /// A worker has fallen asleep, or gone: if nothing is left that runs, that is to be looked into.
    pub(super) fn ask_about_stillness(&self) {
        let still = &self.stillness;
        if still.examiner.get().is_some() && still.asked.load(Ordering::Relaxed) == 0 && self.is_still() {
            still.asked.store(1, Ordering::Relaxed);
            // ORDERING: pairs with the fences in `Monitor::sleep` and `Vigil::end`: the monitor sees that it was asked, or we see that it
            // sleeps.
            fence(Ordering::SeqCst);
            self.watch.wake();
        }
    }

    /// Whether somebody wants it to be looked into.
    pub(super) fn is_asked_about_stillness(&self) -> bool {
        self.stillness.asked.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_still(&self) -> bool {
        let is_quiet = |(worker, remote): (usize, &super::remote::Remote)| {
            remote.life() == Life::Absent
                || (self.idle.is_sleeping(worker)
                    && remote.shown.expects.load(Ordering::Relaxed) == 0
                    && remote.inbox.is_empty()
                    && remote.pokes.is_empty())
        };
        // One that stops is not looked into, unless it was stopped so that a deadlock ends.
        (self.phase() == Phase::Running || self.stillness.cancelled.load(Ordering::Relaxed) != 0)
            && self.remotes.iter().enumerate().all(is_quiet)
            && !self.has_fresh()
            && !self.hogs.are_waiting()
            && !self.are_all_gone()
    }

    /// A number that changes whenever a fiber gets its turn.
    pub(crate) fn turns(&self) -> u64 {
        self.remotes.iter().fold(0, |sum, remote| sum.wrapping_add(remote.shown.heartbeat.load(Ordering::Relaxed)))
    }
}

/// When the monitor has looked for fibers that wait for one another while the others run, and when it will again.
pub(super) struct Patrol {
    due: Moment,
}

/// How often it looks at most.
const PATROL_EVERY: Duration = Duration::from_secs(1);
/// How much longer than a look the time between two is.
const PATROL_SHARE: u32 = 100;

impl Patrol {
    pub(super) fn new(now: Moment) -> Patrol {
        Patrol { due: now.after(PATROL_EVERY) }
    }

    /// How long until it is time again, while any fibers run.
    pub(super) fn time_left(&self, shared: &Shared) -> Option<Duration> {
        let wanted = shared.stillness.patrol.get().is_some() && shared.has_busy();
        wanted.then(|| self.due.since(Moment::now()))
    }

    /// Looks if it is time, and there is anything to see.
    pub(super) fn go(&mut self, shared: &Shared, now: Moment) {
        if now < self.due {
            return;
        }
        let bonds = shared.remotes.iter().map(|remote| remote.shown.bonds.load(Ordering::Relaxed)).sum::<usize>();
        if let Some(patrol) = shared.stillness.patrol.get().filter(|_| bonds >= 2) {
            patrol(shared);
        }
        let after = Moment::now();
        self.due = after.after(PATROL_EVERY.max(after.since(now) * PATROL_SHARE));
    }
}

/// What the monitor remembers of a runtime that is still.
#[derive(Default)]
pub(super) struct Vigil {
    /// Since when it is, how many turns there had been by then, and after how long to look.
    still: Option<(Moment, u64, Duration)>,
    /// How many turns there had been when it was last looked into, for good.
    examined: Option<u64>,
}

impl Vigil {
    /// Has the runtime examined if it is time. Returns how long to wait until then, if it will be.
    pub(super) fn keep(&mut self, shared: &Arc<Shared>, now: Moment) -> Option<Duration> {
        let asked = &shared.stillness.asked;
        if asked.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (since, turns, look_after) = *self.still.get_or_insert((now, shared.turns(), GRACE));
        let still_for = now.since(since);
        if !shared.is_still() {
            return self.end(shared, now);
        }
        if shared.turns() != turns {
            return self.begin(shared, now);
        }
        if still_for < look_after {
            return Some(look_after - still_for);
        }
        let again = shared.stillness.examiner.get().and_then(|examine| examine(shared, still_for));
        self.examined = again.is_none().then_some(turns);
        match again.filter(|&again| again > still_for) {
            Some(again) => {
                self.still = Some((since, turns, again));
                Some(again - still_for)
            }
            None => self.end(shared, now),
        }
    }

    /// It is still from now on, as far as is known.
    fn begin(&mut self, shared: &Shared, now: Moment) -> Option<Duration> {
        self.still = Some((now, shared.turns(), GRACE));
        Some(GRACE)
    }

    /// From now on workers ask again.
    fn end(&mut self, shared: &Shared, now: Moment) -> Option<Duration> {
        self.still = None;
        shared.stillness.asked.store(0, Ordering::Relaxed);
        // ORDERING: pairs with the fence by which a worker announces its sleep: it sees that it has to ask, or we see that it sleeps. What has
        // been looked into already is not looked into again.
        fence(Ordering::SeqCst);
        if self.examined != Some(shared.turns()) && shared.is_still() {
            shared.stillness.asked.store(1, Ordering::Relaxed);
            return self.begin(shared, now);
        }
        None
    }
}
