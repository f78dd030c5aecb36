//! The part of a worker that other threads reach.

use super::counts::{Activity, Counts};
use super::idle::Bed;
use super::poke::Pokes;
use crate::fiber::header::{FiberRef, Header};
use crate::fiber::info::Fiber;
use crate::prim::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::prim::cpu_clock::CpuClock;
use crate::prim::id::FiberId;
use crate::queue::inbox::Inbox;
use crate::queue::injector::Injector;
use crate::queue::link::as_ptr;
use crate::queue::ring::Ring;
use crossbeam_utils::CachePadded;
use std::panic::Location;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Whether a worker exists, and what for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Life {
    /// There is no thread.
    Absent = 0,
    /// One of the workers there always are.
    Base = 1,
    /// Added by the monitor while others were stuck.
    Added = 2,
    /// Added, and no longer needed: takes no fresh work, and goes when nothing is homed on it.
    Retiring = 3,
}

/// Stands for none.
pub(super) const NO_TURN: u64 = u64::MAX;

/// See the [module](self). Fields that different threads write stand on different cache lines.
pub(crate) struct Remote {
    /// What only this worker can run, from everybody.
    pub(crate) inbox: CachePadded<Inbox<Header>>,
    /// Its fresh fibers; others steal them.
    pub(crate) ring: CachePadded<Ring<Header>>,
    /// Fresh fibers placed here by others; still to be stolen.
    pub(crate) lane: CachePadded<Injector<Header>>,
    pub(crate) bed: CachePadded<Bed>,
    /// Its fibers whose waits are perhaps to end.
    pub(crate) pokes: CachePadded<Pokes>,
    pub(crate) told: CachePadded<Told>,
    pub(crate) shown: CachePadded<Shown>,
}

/// What others tell a worker.
pub(crate) struct Told {
    life: AtomicU8,
    /// The fiber that runs has used up its time: let it yield at its next call.
    pub(crate) must_yield: AtomicU8,
    /// How many forks to go until it looks around. Counted down by itself, set to 0 by whoever wants it to look.
    pub(crate) forks_to_look: AtomicU32,
    /// It waits for a stack, and sleeps. Set by itself.
    pub(crate) starved: AtomicU8,
    /// It does so with fresh fibers that must start there. Set by itself.
    pub(crate) starved_with_pinned: AtomicU8,
}

/// What a worker shows to others.
pub(crate) struct Shown {
    /// Counts turns, and so changes with every fiber that gets one.
    pub(crate) heartbeat: AtomicU64,
    /// The turn in which the running fiber has said that it will block the worker.
    pub(crate) blocked_turn: AtomicU64,
    /// How many started, unfinished fibers that have waited here there are.
    pub(crate) homed: AtomicUsize,
    pub(crate) counts: Counts,
    pub(crate) activity: Activity,
    /// Of its thread.
    pub(crate) cpu_clock: CpuClock,
    running: Running,
}

/// The fiber that a worker runs, so that others can say its name.
struct Running {
    /// Whether it is counted in `homed`.
    is_homed: AtomicU8,
    id: AtomicU64,
    spawned_at: AtomicPtr<Location<'static>>,
    /// The fiber, if it has a name. To be read under the lock only: a named fiber takes itself out under it before it ends.
    named: AtomicPtr<Header>,
    lock: Mutex<()>,
}

impl Remote {
    pub(crate) fn new() -> Remote {
        Remote {
            inbox: CachePadded::new(Inbox::new()),
            ring: CachePadded::new(Ring::new()),
            lane: CachePadded::new(Injector::new()),
            bed: CachePadded::new(Bed::new()),
            pokes: CachePadded::new(Pokes::new()),
            told: CachePadded::new(Told {
                life: AtomicU8::new(Life::Absent as u8),
                must_yield: AtomicU8::new(0),
                forks_to_look: AtomicU32::new(0),
                starved: AtomicU8::new(0),
                starved_with_pinned: AtomicU8::new(0),
            }),
            shown: CachePadded::new(Shown {
                heartbeat: AtomicU64::new(0),
                blocked_turn: AtomicU64::new(NO_TURN),
                homed: AtomicUsize::new(0),
                counts: Counts::new(),
                activity: Activity::new(),
                cpu_clock: CpuClock::new(),
                running: Running {
                    is_homed: AtomicU8::new(0),
                    id: AtomicU64::new(0),
                    spawned_at: AtomicPtr::new(ptr::null_mut()),
                    named: AtomicPtr::new(ptr::null_mut()),
                    lock: Mutex::new(()),
                },
            }),
        }
    }

    #[inline]
    pub(crate) fn life(&self) -> Life {
        // ORDERING: Acquire pairs with the exchange in `change_life`: a new owner sees what the old one left.
        match self.told.life.load(Ordering::Acquire) {
            1 => Life::Base,
            2 => Life::Added,
            3 => Life::Retiring,
            _ => Life::Absent,
        }
    }

    pub(crate) fn set_life(&self, life: Life) {
        // ORDERING: Release pairs with the Acquire in `life`.
        self.told.life.store(life as u8, Ordering::Release);
    }

    /// Changes from one life to another, if it has not changed otherwise meanwhile.
    pub(crate) fn change_life(&self, from: Life, to: Life) -> bool {
        // ORDERING: AcqRel: what the worker did in its old life comes before what it does in the new.
        self.told.life.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Whether fresh work waits here that others may take.
    #[inline]
    pub(crate) fn has_fresh(&self) -> bool {
        !self.ring.is_empty() || !self.lane.is_empty()
    }
}

impl Shown {
    /// Whether the fiber that runs there has said that it blocks the worker.
    pub(super) fn is_declared_blocked(&self) -> bool {
        self.blocked_turn.load(Ordering::Relaxed) == self.heartbeat.load(Ordering::Relaxed)
    }
}

#[allow(unsafe_code, reason = "a named fiber is read through a pointer, under the lock that keeps it alive")]
impl Shown {
    /// The worker runs `fiber` now.
    #[inline]
    pub(crate) fn show(&self, fiber: FiberRef) {
        // ORDERING: Relaxed; a reader may mix two fibers' number and place, and says so only of one that stands still.
        self.running.is_homed.store(fiber.is_homed.get().into(), Ordering::Relaxed);
        self.running.id.store(fiber.id.get(), Ordering::Relaxed);
        self.running.spawned_at.store(ptr::from_ref(fiber.spawned_at).cast_mut(), Ordering::Relaxed);
        let named = fiber.has_name().then(|| fiber.as_ptr());
        // ORDERING: Release pairs with the Acquire in `running`: the name can be read.
        self.running.named.store(as_ptr(named), Ordering::Release);
    }

    /// The worker runs no fiber now.
    #[inline]
    pub(crate) fn show_none(&self) {
        self.running.is_homed.store(0, Ordering::Relaxed);
        self.running.spawned_at.store(ptr::null_mut(), Ordering::Relaxed);
        self.running.named.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// The fiber that ran is done.
    #[inline]
    pub(crate) fn show_ended(&self) {
        self.running.spawned_at.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// `fiber`, which runs, is about to end: nobody may read its name from here any more.
    #[inline]
    pub(crate) fn retract(&self, fiber: FiberRef) {
        if fiber.has_name() {
            let _guard = self.running.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.running.named.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// Whether the fiber that runs there has waited before.
    pub(crate) fn has_waited(&self) -> bool {
        self.running.is_homed.load(Ordering::Relaxed) != 0
    }

    /// Whether a fiber runs there, as far as can be seen, and whether that has waited before.
    pub(crate) fn runs_one(&self) -> Option<bool> {
        (!self.running.spawned_at.load(Ordering::Relaxed).is_null()).then(|| self.has_waited())
    }

    /// How many fibers live there besides the one that runs, as far as can be seen.
    pub(crate) fn homed_besides_running(&self) -> usize {
        let running = self.running.is_homed.load(Ordering::Relaxed);
        self.homed.load(Ordering::Relaxed).saturating_sub(running.into())
    }

    /// What runs there, as far as can be seen.
    pub(crate) fn running(&self) -> Option<Fiber> {
        let _guard = self.running.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // ORDERING: Acquire pairs with the Release in `show`.
        let named = self.running.named.load(Ordering::Acquire);
        // SAFETY: a named fiber retracts itself under the lock we hold before it ends, so it is alive.
        if let Some(header) = unsafe { named.as_ref() } {
            return Some(Fiber::of(header));
        }
        // SAFETY: null, or from a reference that lives for ever.
        let spawned_at = unsafe { self.running.spawned_at.load(Ordering::Relaxed).as_ref() }?;
        Some(Fiber::unnamed(FiberId(self.running.id.load(Ordering::Relaxed)), spawned_at))
    }
}
