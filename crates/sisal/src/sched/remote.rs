//! The part of a worker that other threads reach.

use super::countdown::Countdown;
use super::counts::{Activity, Counts};
use super::idle::Bed;
use super::poke::Pokes;
use super::presence::Presence;
use crate::fiber::header::Header;
use crate::fiber::info::Fiber;
use crate::prim::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use crate::prim::cpu_clock::CpuClock;
use crate::prim::os_thread::OsThread;
use crate::queue::inbox::Inbox;
use crate::queue::injector::Injector;
use crate::queue::ring::Ring;
use crossbeam_utils::CachePadded;

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
    pub(crate) presence: CachePadded<Presence>,
    pub(crate) shown: CachePadded<Shown>,
}

/// What others tell a worker.
pub(crate) struct Told {
    life: AtomicU8,
    /// The fiber that runs has used up its time: let it yield at its next call.
    pub(crate) must_yield: AtomicU8,
    /// How many forks to go until it looks around. Counted down by itself, ended by whoever wants it to look.
    pub(super) forks_to_look: Countdown,
    /// It waits for a stack, and sleeps. Set by itself.
    pub(crate) starved: AtomicU8,
}

/// What a worker shows to others.
pub(crate) struct Shown {
    /// Counts turns, and so changes with every fiber that gets one.
    pub(crate) heartbeat: AtomicU64,
    /// The turn in which the running fiber has said that it will block the worker.
    pub(crate) blocked_turn: AtomicU64,
    /// Whether, when it fell asleep, it expected something that is neither a fiber nor a thread to wake it.
    pub(crate) expects: AtomicU8,
    /// What the waits of fibers here come to, as parts of cycles.
    pub(crate) bonds: AtomicUsize,
    /// Whether the monitor has seen it at one turn for long.
    pub(crate) is_stuck: AtomicU8,
    /// Whether it is about to wake another for fresh work.
    pub(super) is_waking: AtomicU8,
    pub(crate) counts: Counts,
    pub(crate) activity: Activity,
    /// Of its thread.
    pub(crate) cpu_clock: CpuClock,
    /// Its thread.
    pub(crate) thread: OsThread,
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
                forks_to_look: Countdown::new(),
                starved: AtomicU8::new(0),
            }),
            presence: CachePadded::new(Presence::new()),
            shown: CachePadded::new(Shown {
                heartbeat: AtomicU64::new(0),
                blocked_turn: AtomicU64::new(NO_TURN),
                expects: AtomicU8::new(0),
                bonds: AtomicUsize::new(0),
                is_stuck: AtomicU8::new(0),
                is_waking: AtomicU8::new(0),
                counts: Counts::new(),
                activity: Activity::new(),
                cpu_clock: CpuClock::new(),
                thread: OsThread::new(),
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

    /// What runs in this turn, if the worker is still at it.
    pub(super) fn running_in(&self, turn: u64) -> Option<Fiber> {
        let fiber = self.presence.running()?;
        // ORDERING: Relaxed: a worker begins a turn before it shows, inside the gate, who has it, and that gate has just been held. So if what
        // was found there has a later turn, that one is read here.
        (self.shown.heartbeat.load(Ordering::Relaxed) == turn).then_some(fiber)
    }

    /// How many fibers live here, or wait here for their start.
    pub(crate) fn load(&self) -> usize {
        self.presence.homed() + self.ring.len() + self.lane.len()
    }

    /// Whether fresh work waits here that others may take.
    #[inline]
    pub(crate) fn has_fresh(&self) -> bool {
        !self.ring.is_empty() || !self.lane.is_empty()
    }
}

impl Shown {
    /// Whether the fiber that runs there has said that it blocks the worker.
    pub(crate) fn is_declared_blocked(&self) -> bool {
        self.blocked_turn.load(Ordering::Relaxed) == self.heartbeat.load(Ordering::Relaxed)
    }
}
