//! Fuel: what a fiber may do without a wait before others have their turn, and where it gives way.

use super::worker::{self, Worker};
#[cfg(feature = "tokio")]
use crate::fiber::current;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::Ordering;
use crate::prim::reason::Place;

/// What fibers have for operations that need not wait between two yields; most cost one. Few enough that fibers that wait behind do
/// not wait long, and many enough that nobody notices (`spawn-10k` does with 128).
pub(super) const FUEL: u32 = 512;

/// What a call into the system costs: it takes so many times as long as what stays in memory, and lets others wait for as long.
pub(crate) const SYSTEM_CALL: u32 = 16;

/// Called by operations that need not wait: gives way to others after so many of them, or if the monitor has asked for it.
#[inline]
pub(crate) fn pay_fuel(place: Place) {
    pay(1, place);
}

/// As [`pay_fuel`], for operations that call into the system.
#[inline]
pub(crate) fn pay_fuel_for_system_call(place: Place) {
    pay(SYSTEM_CALL, place);
}

#[inline(always)]
fn pay(cost: u32, place: Place) {
    if spend(cost) {
        give_way_now(place);
    }
}

/// The first half of [`pay_fuel`]: true if the fiber has to [give way](give_way_now) before it goes on.
#[inline(always)]
pub(crate) fn spend_fuel() -> bool {
    spend(1)
}

#[inline(always)]
fn spend(cost: u32) -> bool {
    worker::with_fiber(|running| {
        let Some((worker, _)) = running else { return false };
        worker.spend(cost)
    })
}

/// The second half: lets others have their turn.
#[cold]
#[inline(never)]
pub(crate) fn give_way_now(place: Place) {
    worker::with_fiber(|running| {
        if let Some((worker, me)) = running {
            worker.fuel.set(FUEL);
            worker.give_way(me, place);
        }
    });
}

/// Calls `f`, in which the fiber holds something of its thread: it does not give way by itself there, only where it waits.
#[cfg(feature = "tokio")]
pub(crate) fn without_giving_way<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(FiberRef, bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.flags.set_stays(self.1);
        }
    }
    let _restore = current::fiber().map(|fiber| {
        let before = fiber.flags.stays();
        fiber.flags.set_stays(true);
        Restore(fiber, before)
    });
    f()
}

/// Called by futures that need not wait and cost so much: true if after so many of them others are to have a turn. A future can't give
/// way itself, since whoever polls it may hold something that is not to be held across that. It says that it is not ready; the next who pays gives way.
#[inline]
pub(crate) fn burn_fuel(cost: u32) -> bool {
    worker::with_fiber(|running| {
        let Some((worker, _)) = running else { return false };
        let fuel = worker.fuel.get();
        if fuel >= cost {
            worker.fuel.set(fuel - cost);
            return false;
        }
        // So that it is ready the next time, also if nobody pays.
        worker.fuel.set(FUEL);
        worker.remote().told.must_yield.store(1, Ordering::Relaxed);
        true
    })
}

impl Worker {
    /// The running fiber has done something that costs so much: true if it has to [give way](give_way_now) before it goes on.
    #[inline(always)]
    pub(crate) fn spend(&self, cost: u32) -> bool {
        let fuel = self.fuel.get();
        self.fuel.set(fuel.wrapping_sub(cost));
        fuel < cost || self.remote().told.must_yield.load(Ordering::Relaxed) != 0
    }

    /// Lets others have a turn, if the fiber may be left here; else at its next call where it may.
    #[cold]
    pub(super) fn give_way(&self, me: FiberRef, place: Place) {
        if me.flags.stays() {
            self.remote().told.must_yield.store(1, Ordering::Relaxed);
        } else {
            self.yield_now(me, place);
        }
    }
}
