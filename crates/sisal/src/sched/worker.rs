//! What belongs to one worker alone: plain memory in cells, touched by its thread only.
//!
//! Fibers run in the middle of the worker's functions, so no borrow of its state may be held across a call of a fiber or a
//! switch. Cells are set and read in one step; the `RefCell`s inside queues are borrowed for one operation.
#![allow(unsafe_code, reason = "the thread-local points to the worker in its thread's root frame")]

use super::alarm::Alarm;
use super::driver::Driver;
use super::jobs::Looks;
use super::linger::Lingers;
use super::offers::Offers;
use super::record::Recorder;
use super::remote::Remote;
use super::search::{FreshDue, Polls, Siblings};
use super::shared::{ID_BLOCK, Shared};
use super::stacks::Stacks;
use crate::fiber::current::{self, Current};
use crate::fiber::header::{FiberRef, Header};
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::thread_number::{self, ThreadNumber};
use crate::queue::list::List;
use crate::queue::ring::Glimpse;
use crate::queue::timers::Timers;
use sisal_context::stack::{Stack, ThreadStack};
use sisal_context::switch::Suspended;
use std::cell::{Cell, OnceCell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    /// The number of its thread.
    pub(super) thread: ThreadNumber,
    /// INVARIANT: this worker's own in `shared`.
    remote: NonNull<Remote>,
    /// INVARIANT: that of its thread.
    current: NonNull<Current>,
    /// Fibers that can go on, in their order.
    pub(super) ready: List<Header>,
    /// The fiber woken last by the one that runs: it goes first, on the rest of its waker's turn.
    pub(super) run_next: Cell<Option<FiberRef>>,
    /// How often in a row `run_next` went first.
    pub(super) run_next_streak: Cell<u32>,
    /// Fresh fibers that must start here.
    pub(super) pinned: List<Header>,
    /// A fresh fiber is to get its turn before the next ready one.
    pub(super) fresh_due: Cell<FreshDue>,
    /// For how many more of the own deque that may be so for now, after others that wait for the first time.
    pub(super) siblings: Cell<Siblings>,
    /// Whether events are recorded.
    pub(super) recording: Cell<bool>,
    pub(super) recorder: Recorder,
    /// Counts turns, from where the last worker in this place left off.
    pub(super) tick: Cell<u64>,
    /// From which turn on a fiber that becomes ready is to be timed.
    pub(super) sample_at: Cell<u64>,
    pub(super) polls: Cell<Polls>,
    pub(super) looks: Cell<Looks>,
    pub(super) offers: Offers,
    pub(super) lingers: Cell<Lingers>,
    /// How many of its fibers wait for something outside of the runtime.
    pub(super) outside_waits: Cell<usize>,
    /// What is due when.
    pub(super) timers: Timers<Alarm>,
    /// The clock as it was last read.
    pub(super) now: Cell<Moment>,
    pub(super) driver: OnceCell<Box<dyn Driver>>,
    /// Whether things come from outside so fast that it is hardly worth to sleep.
    pub(super) rushed: Cell<bool>,
    /// When the driver last had a turn.
    pub(super) heard_at: Cell<Moment>,
    /// When it was last seen to that fresh work gets its turn, and which of its sources is looked at first the next time.
    pub(super) fresh_seen_at: Cell<Moment>,
    pub(super) fresh_turns: Cell<usize>,
    /// A fiber that has accepted a connection: what it spawns next is for that, and is spread over the workers.
    pub(super) accepted: Cell<Option<FiberRef>>,
    pub(super) stacks: Stacks,
    /// The stack we run on; none on the thread's own.
    pub(super) stack: Cell<Option<Stack>>,
    /// That own, if fibers run on it: the main fiber of `run`.
    pub(super) thread_stack: Cell<Option<ThreadStack>>,
    /// The stack we came from, if nothing is left on it: whoever arrives puts it back.
    pub(super) abandoned: Cell<Option<Stack>>,
    /// Where the thread's root frame goes on when the loop ends.
    pub(super) root: Cell<Suspended>,
    /// Whether the waits of homed fibers have been cancelled by the stop.
    pub(super) swept: Cell<bool>,
    /// When the loop is to end even though fibers elsewhere are not done.
    pub(super) leave_at: Cell<Moment>,
    /// Since when fresh fibers wait here because no stack is to be had.
    pub(super) hungry_since: Cell<Moment>,
    pub(super) searching: Cell<bool>,
    /// For how long to look for work before sleeping, in nanoseconds.
    pub(super) patience: Cell<u64>,
    /// Whether another worker is perhaps kept from its processor by this one.
    pub(super) is_in_the_way: Cell<bool>,
    ids: Cell<(u64, u64)>,
    /// What is left for operations that need not wait, until the next yield.
    pub(super) fuel: Cell<u32>,
    /// A fiber on its way to a stack of its own.
    pub(super) starting: Cell<Option<FiberRef>>,
    /// The last recall of memory this worker has followed.
    pub(super) recall: Cell<u32>,
    /// What was last seen at each worker.
    pub(super) sightings: Box<[Cell<Sighting>]>,
    pub(super) random: RefCell<fastrand::Rng>,
    pub(super) unwinding: Cell<Unwinding>,
    /// A scratch place for contexts that are never resumed.
    pub(super) nowhere: Cell<Suspended>,
}

/// The fibers of a worker that are perhaps suspended in the middle of their unwinding from a panic.
#[derive(Copy, Clone, Default)]
pub(super) struct Unwinding {
    pub(super) fibers: usize,
    /// Changes when the thread is seen not to be panicking: then none of them was.
    pub(super) spell: usize,
}

impl Unwinding {
    pub(super) fn over(self) -> Unwinding {
        Unwinding { fibers: 0, spell: self.spell.wrapping_add(1) }
    }
}

/// Fresh work seen at another worker, and when it was first seen.
#[derive(Copy, Clone, Default)]
pub(super) struct Sighting {
    pub(super) glimpse: Option<Glimpse>,
    pub(super) since: Moment,
    /// How often it was left there all the same.
    pub(super) left: u32,
    /// How often something had been taken from its lane when something was first seen there.
    pub(super) lane_takes: Option<usize>,
    pub(super) lane_since: Moment,
    /// When it was last asked for jobs.
    pub(super) asked: Moment,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, index: usize, first_stack: Option<Stack>) -> Worker {
        let shown = &shared.remotes[index].shown;
        shown.cpu_clock.set_to_this_thread();
        shown.thread.set_to_this_thread();
        let tick = shown.heartbeat.load(Ordering::Relaxed);
        Worker {
            index,
            thread: thread_number::current(),
            remote: NonNull::from(&shared.remotes[index]),
            current: current::with(|current| NonNull::from(current)),
            ready: List::new(),
            run_next: Cell::new(None),
            run_next_streak: Cell::new(0),
            pinned: List::new(),
            fresh_due: Cell::new(FreshDue::No),
            siblings: Cell::new(Siblings::new()),
            recording: Cell::new(false),
            recorder: Recorder::new(),
            tick: Cell::new(tick),
            sample_at: Cell::new(tick),
            polls: Cell::new(Polls::new(tick)),
            looks: Cell::new(Looks::new()),
            offers: Offers::default(),
            lingers: Cell::new(Lingers::new()),
            outside_waits: Cell::new(0),
            timers: Timers::new(),
            now: Cell::new(Moment::now()),
            driver: OnceCell::new(),
            rushed: Cell::new(false),
            heard_at: Cell::new(Moment(0)),
            fresh_seen_at: Cell::new(Moment(0)),
            fresh_turns: Cell::new(0),
            accepted: Cell::new(None),
            stacks: Stacks::new(shared.config.class, first_stack),
            stack: Cell::new(None),
            thread_stack: Cell::new(None),
            abandoned: Cell::new(None),
            root: Cell::new(Suspended::NONE),
            swept: Cell::new(false),
            leave_at: Cell::new(Moment::NEVER),
            hungry_since: Cell::new(Moment::NEVER),
            searching: Cell::new(false),
            patience: Cell::new(super::rest::PATIENCE_AT_FIRST),
            is_in_the_way: Cell::new(false),
            ids: Cell::new((0, 0)),
            fuel: Cell::new(super::fuel::FUEL),
            starting: Cell::new(None),
            recall: Cell::new(shared.recall.load(Ordering::Relaxed)),
            sightings: (0..shared.remotes.len()).map(|_| Cell::new(Sighting::default())).collect(),
            random: RefCell::new(fastrand::Rng::new()),
            // A thread that unwinds when it becomes a worker, in a destructor that calls `run`, says nothing about its fibers.
            unwinding: Cell::new(Unwinding { fibers: usize::from(std::thread::panicking()), spell: 0 }),
            nowhere: Cell::new(Suspended::NONE),
            shared,
        }
    }

    /// That of its thread.
    #[inline(always)]
    pub(crate) fn thread_number(&self) -> ThreadNumber {
        self.thread
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[inline]
    pub(crate) fn remote(&self) -> &Remote {
        // SAFETY: it lives in a box of `shared`, which we hold.
        unsafe { self.remote.as_ref() }
    }

    /// What the thread knows of itself. To ask the thread is a call, as the compiler sees it, before which registers have to be saved (`pingpong-1`).
    #[inline(always)]
    pub(super) fn current(&self) -> &Current {
        // SAFETY: it lies in the memory of this very thread, which a worker does not leave, nor outlive.
        unsafe { self.current.as_ref() }
    }

    /// Runs `f` with this worker as the thread's own.
    pub(super) fn install<R>(&self, f: impl FnOnce() -> R) -> R {
        current::with(|current| {
            debug_assert!(current.worker.get().is_null(), "INVARIANT: one worker a thread");
            current.worker.set(ptr::from_ref(self).cast());
            current.runtime.set(self.shared.number);
        });
        let _uninstall = Uninstall;
        f()
    }

    /// A number for a new fiber.
    #[inline]
    pub(crate) fn next_id(&self) -> FiberId {
        let (mut next, mut end) = self.ids.get();
        if next == end {
            next = self.shared.take_ids(ID_BLOCK).get();
            end = next + ID_BLOCK;
        }
        self.ids.set((next + 1, end));
        FiberId(next)
    }

    /// Reads the clock.
    pub(crate) fn read_clock(&self) -> Moment {
        let now = Moment::now();
        self.now.set(now);
        now
    }

    /// The clock as it was last read: good enough to say since when something waits.
    #[inline]
    pub(crate) fn coarse_now(&self) -> Moment {
        self.now.get()
    }
}

/// Makes the thread an ordinary one again.
struct Uninstall;

impl Drop for Uninstall {
    fn drop(&mut self) {
        current::with(|current| {
            if let Some(pool) = current.pool() {
                pool.release();
            }
            current.worker.set(ptr::null());
            current.fiber.set(None);
        });
    }
}

/// Calls `f` with the worker of this thread, if it is one.
#[inline(always)]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    let worker = current::both().0.cast::<Worker>();
    // SAFETY: set by `install` to a worker that outlives everything that runs on its thread meanwhile, and cleared after.
    f(unsafe { worker.as_ref() })
}

/// Calls `f` with the worker of this thread and the fiber it runs, if it runs one.
#[inline(always)]
pub(crate) fn with_fiber<R>(f: impl FnOnce(Option<(&Worker, FiberRef)>) -> R) -> R {
    let (worker, fiber) = current::both();
    match fiber {
        // SAFETY: as in `with_current`; a fiber runs on a worker.
        Some(fiber) => f(Some((unsafe { &*worker.cast::<Worker>() }, fiber))),
        None => f(None),
    }
}

/// As [`with_fiber`], for what takes less time than to pass a closure through memory. The fiber comes first: that it is none says it all.
///
/// # Safety
/// The reference is used by the fiber that runs alone, which does not keep it beyond its own frames.
#[inline(always)]
pub(crate) unsafe fn here<'w>() -> Option<(FiberRef, &'w Worker)> {
    let (worker, fiber) = current::both();
    // SAFETY: as in `with_current`; a fiber runs on a worker.
    fiber.map(|fiber| (fiber, unsafe { &*worker.cast::<Worker>() }))
}

/// Forgets the worker of this thread: called in the child of a `fork`.
pub(super) extern "C" fn forget_current() {
    current::with(|current| {
        current.worker.set(ptr::null());
        current.fiber.set(None);
    });
}
