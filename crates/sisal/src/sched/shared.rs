//! What all workers of a runtime have in common.

use super::blockers::Naming;
use super::countdown::Calm;
use super::counts::Counts;
use super::events::Events;
use super::hogs::Hogs;
use super::idle::{Bed, Idle};
use super::limit::Limit;
use super::monitor::Watch;
use super::remote::{Life, Remote};
use super::stillness::{OnDeadlock, Stillness};
use crate::fiber::header::Header;
use crate::fiber::unseen::UnseenPanics;
use crate::prim::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::queue::injector::Injector;
use crossbeam_utils::CachePadded;
use sisal_context::stack::{Depot, SizeClass};
use std::any::Any;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a runtime is to be, as the scheduler needs to know it.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) max_workers: usize,
    pub(crate) class: SizeClass,
    pub(crate) max_fibers: Option<usize>,
    pub(crate) max_stacks: Option<usize>,
    pub(crate) max_blocking_threads: usize,
    pub(crate) name: String,
    pub(crate) verbose: bool,
    pub(crate) stats: bool,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) on_deadlock: OnDeadlock,
    pub(crate) naming: Naming,
    /// The file that a trace is written to at the end.
    pub(crate) trace: Option<PathBuf>,
}

/// How far the runtime is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum Phase {
    Running = 0,
    /// Fresh fibers end as cancelled, cancellable waits end, the rest is waited for.
    Stopping = 1,
    /// No fiber is left: the workers go.
    Ended = 2,
}

/// See the [module](self).
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// One for each worker there may be; those that exist have a [`Life`].
    pub(crate) remotes: Box<[Remote]>,
    pub(crate) idle: Idle,
    pub(crate) injector: CachePadded<Injector<Header>>,
    pub(crate) hogs: Hogs,
    pub(crate) depot: Depot,
    /// Stacks of other size classes, and those of `stack::grow`. They are not limited: whoever calls `grow` holds another stack
    /// already, and if it waited for one, so might all.
    pub(crate) others: Depot,
    /// Changes when workers are to give back what they keep at hand, stacks and control blocks, so that the arenas and slabs these are in can be
    /// released.
    pub(crate) recall: AtomicU32,
    /// Whether some fork without counting.
    pub(super) calm: CachePadded<Calm>,
    /// How many workers sleep for want of a stack.
    pub(crate) starved: AtomicUsize,
    /// How many of these have no timer that is due soon either: what they wait for can only come from others.
    pub(crate) stuck: AtomicUsize,
    pub(crate) limit: Option<Limit>,
    /// What threads outside of the runtime have done. Several writers.
    pub(crate) outside: CachePadded<Counts>,
    pub(crate) unseen_panics: Arc<UnseenPanics>,
    pub(crate) watch: Watch,
    pub(crate) events: Events,
    /// 1 while the main fiber of `run` has not ended: it is not counted like the others.
    pub(crate) main: AtomicU32,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// The threads for calls that block, from the first such call on. The pool comes above the scheduler, which only keeps a place for
    /// it: see `blocking`. (Handles of a runtime are unwind safe, and so is what it holds.)
    pub(crate) blocking: OnceLock<Box<dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe>>,
    /// A futex: whoever waits for the end sleeps on it.
    pub(crate) phase: AtomicU32,
    pub(crate) stillness: Stillness,
    /// Tells it from all other runtimes of the process.
    pub(crate) number: u32,
    pub(crate) started: Moment,
    next_id: AtomicU64,
    /// How many ended waits whoever asks for the metrics has been told of.
    pub(crate) wakes_told: AtomicU64,
}

/// How many numbers a worker takes at a time.
pub(crate) const ID_BLOCK: u64 = 256;

fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Shared {
    pub(crate) fn new(config: Config) -> Shared {
        Shared {
            remotes: (0..config.max_workers).map(|_| Remote::new()).collect(),
            idle: Idle::new(config.workers, config.max_workers),
            injector: CachePadded::new(Injector::new()),
            hogs: Hogs::new(),
            depot: Depot::new(config.max_stacks),
            others: Depot::new(None),
            recall: AtomicU32::new(0),
            calm: CachePadded::new(Calm::new()),
            starved: AtomicUsize::new(0),
            stuck: AtomicUsize::new(0),
            limit: config.max_fibers.map(Limit::new),
            outside: CachePadded::new(Counts::new()),
            unseen_panics: Arc::default(),
            watch: Watch::new(),
            events: Events::new(config.max_workers),
            main: AtomicU32::new(0),
            threads: Mutex::new(Vec::new()),
            blocking: OnceLock::new(),
            phase: AtomicU32::new(Phase::Running as u32),
            // #0 is the main fiber of `run`.
            next_id: AtomicU64::new(1),
            wakes_told: AtomicU64::new(0),
            stillness: Stillness::new(),
            number: next_number(),
            started: Moment::now(),
            config,
        }
    }

    pub(crate) fn bed(&self, worker: usize) -> &Bed {
        &self.remotes[worker].bed
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // ORDERING: Acquire pairs with the exchanges in `shutdown`.
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Running,
            1 => Phase::Stopping,
            _ => Phase::Ended,
        }
    }

    /// Takes `count` numbers that nobody else gets; returns the first.
    pub(crate) fn take_ids(&self, count: u64) -> FiberId {
        FiberId(self.next_id.fetch_add(count, Ordering::Relaxed))
    }

    /// How many workers there are right now.
    pub(crate) fn workers(&self) -> usize {
        self.remotes.iter().filter(|remote| remote.life() != Life::Absent).count()
    }

    /// Whether fresh work waits anywhere that any worker may take.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.injector.is_empty() || self.remotes.iter().any(Remote::has_fresh)
    }

    /// Whether any worker does not sleep.
    pub(super) fn has_busy(&self) -> bool {
        let mut remotes = self.remotes.iter().enumerate();
        remotes.any(|(worker, remote)| remote.life() != Life::Absent && !self.idle.is_sleeping(worker))
    }

    /// As [`announce_fresh`](Self::announce_fresh), if there is fresh work anywhere: for one who does not take it although others may
    /// rely on that.
    pub(crate) fn announce_fresh_left(&self) {
        if self.has_fresh() {
            self.tell_of_fresh();
        }
    }

    /// Fresh work was published, and a full fence came after: wakes a worker for it, or if all are busy, sees to it that the
    /// monitor watches them.
    #[inline]
    pub(crate) fn announce_fresh(&self) {
        self.tell_of_fresh();
        self.wake_stuck_if_any();
    }

    /// As [`announce_fresh`](Self::announce_fresh), of what a worker has in its own deque: it shows that it is kept from that while it wakes somebody.
    #[inline]
    pub(super) fn announce_fresh_of(&self, worker: &Remote) {
        let is_waking = &worker.shown.is_waking;
        let bed = |sleeper| {
            is_waking.store(1, Ordering::Relaxed);
            self.bed(sleeper)
        };
        if self.idle.wake_for_fresh(bed) {
            is_waking.store(0, Ordering::Relaxed);
        }
        self.watch_if_all_busy();
        self.wake_stuck_if_any();
    }

    #[inline]
    fn tell_of_fresh(&self) {
        self.idle.wake_for_fresh(|worker| self.bed(worker));
        self.watch_if_all_busy();
    }

    #[inline]
    fn wake_stuck_if_any(&self) {
        if self.stuck.load(Ordering::Relaxed) > 0 {
            self.wake_stuck();
        }
    }

    #[inline]
    fn watch_if_all_busy(&self) {
        if self.watch.is_asleep() && self.idle.all_busy() {
            self.watch.wake();
        }
    }
}
