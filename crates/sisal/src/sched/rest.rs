//! What a worker does when there is nothing to do: it listens to the outside, and sleeps. The protocol is that of [`idle`](super::idle).

use super::events::Kind;
use super::idle::Epoch;
use super::worker::Worker;
use crate::fiber::pool;
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use std::time::Duration;

/// For how long a worker looks for work before it sleeps, in nanoseconds. Waking a sleeping thread takes 30-80 us, and costs the
/// waker 7-19 us: a worker that was woken after a nap shorter than [`SHORT_NAP`] should have gone on looking, and is twice as
/// patient the next time; one that slept longer is half as patient.
pub(super) const PATIENCE_AT_FIRST: u64 = 10_000;
const MOST_PATIENCE: u64 = 100_000;
const LEAST_PATIENCE: u64 = 2_000;
const SHORT_NAP: u64 = 200_000;

/// A worker that hears from outside sooner than this after it lay down had better not have lain down, in nanoseconds.
const RUSH: u64 = 50_000;

impl Worker {
    /// Nothing is left to do here: whether something has come from outside.
    pub(super) fn listen(&self) -> bool {
        if self.rushed.get() {
            // More will have come when others of this processor have run, among them those whom we have just answered: to sleep and be woken for
            // every few is most of the work (`echo-100`). Where little comes, one who sleeps is woken sooner.
            std::thread::yield_now();
            return self.look_outside();
        }
        // One that has no patience goes to sleep in its driver right away, which says the same.
        self.patience.get() > 0 && self.look_outside()
    }

    /// Sleeps until there may be something to do; true if the worker is to go instead.
    pub(super) fn rest(&self) -> bool {
        if pool::has_spilled() {
            self.shared.watch.ask_to_trim();
        }
        if self.may_leave() {
            // If this was the last one that had a fiber, nobody else will see that none is left.
            self.shared.end_if_quiescent();
            return true;
        }
        let (idle, bed) = (&self.shared.idle, &self.remote().bed);
        let takes_fresh = self.takes_fresh();
        self.show_prospects();
        self.show_descriptors();
        bed.choose(self.awaited_driver().is_some());
        let epoch = idle.announce(self.index, bed, self.searching.take(), !takes_fresh);
        if takes_fresh {
            self.shared.rouse_forkers();
        }
        // Not before: one that starves from now on finds us asleep, and wakes us.
        if self.shared.starved.load(Ordering::Relaxed) > 0 {
            self.stacks.give_all(&self.shared);
        }
        if !takes_fresh && self.shared.has_fresh() {
            // Somebody may have relied on us, before we were told to take nothing fresh.
            self.shared.announce_fresh();
        }
        // Looked at again: one that is to take fresh work after all must not sleep as one that is not woken for it.
        if self.has_own_work() || self.takes_fresh() != takes_fresh {
            let granted = idle.withdraw(self.index, bed, epoch);
            // Somebody may have relied on our search, which ends here: others have to be told of what was not found by it.
            self.searching.set(granted || (takes_fresh && self.shared.has_fresh() && idle.try_search_again()));
        } else if takes_fresh && self.shared.has_fresh() && idle.try_search_again() {
            if idle.withdraw(self.index, bed, epoch) {
                // A waker has counted us as searching too: once is enough.
                idle.leave_search();
            }
            self.searching.set(true);
        } else if self.shared.end_if_quiescent() {
            self.searching.set(idle.withdraw(self.index, bed, epoch));
        } else {
            self.ask_about_stillness();
            self.nap(epoch, Moment::NEVER);
            let granted = idle.withdraw(self.index, bed, epoch);
            // Woken for what was placed here: if something else comes first, others have to be told of it.
            self.searching.set(granted || (!self.remote().lane.is_empty() && idle.try_search_again()));
        }
        // Somebody has to see whether those who wait here are delayed by the one that goes on.
        if self.shared.config.naming.watches_all() || self.remote().presence.homed() > 1 {
            self.shared.watch.note_busy();
        }
        false
    }

    /// Sleeps, at most until then, and learns from it how patient to be.
    pub(super) fn nap(&self, epoch: Epoch, until: Moment) {
        let lay_down = self.read_clock();
        self.heed_tracers(lay_down);
        self.note(Kind::Sleep);
        let timeout = self.time_to_sleep(until);
        match self.driver.get().filter(|_| self.remote().bed.is_in_driver()) {
            Some(driver) if self.hear(driver.as_ref(), timeout) => {
                self.rushed.set(self.wake_up().0 - lay_down.0 < RUSH);
                // What comes from outside does not come sooner if one looks for it all the time.
                return self.patience.set(self.patience.get() / 2);
            }
            Some(_) => self.rushed.set(false),
            None => self.remote().bed.sleep(epoch, timeout),
        }
        let slept = self.wake_up().0 - lay_down.0;
        let patience = self.patience.get();
        self.patience.set(if slept < SHORT_NAP {
            (patience * 2).clamp(LEAST_PATIENCE, MOST_PATIENCE)
        } else {
            (patience / 2).max(LEAST_PATIENCE)
        });
    }

    fn wake_up(&self) -> Moment {
        let now = self.read_clock();
        self.heed_tracers(now);
        self.note(Kind::Awake);
        now
    }

    fn time_to_sleep(&self, until: Moment) -> Option<Duration> {
        let now = self.now.get();
        // Past that moment the worker leaves as soon as it can, which no clock tells.
        let leave_at = if self.leave_at.get() > now { self.leave_at.get() } else { Moment::NEVER };
        let until = Moment(self.timers.earliest()).min(leave_at).min(until);
        (until != Moment::NEVER).then(|| until.since(now))
    }
}
