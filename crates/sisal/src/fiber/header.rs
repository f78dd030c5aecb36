//! The control block of a fiber: what the scheduler needs to know of it, before the closure and the outcome, which are
//! [`body`](super::body)'s.
//!
//! The block is one piece of memory. It is freed by the later of the fiber's end and its handle's drop ([`end`](super::end)).
#![allow(unsafe_code, reason = "fibers are reached by pointer from queues, stacks and handles")]

use super::ambient::Scope;
use super::body::VTable;
use super::end::EndWord;
use super::flags::Flags;
use super::job::Job;
use super::local::Locals;
use super::poke_word::PokeWord;
use super::state::State;
use super::wait_note::WaitNote;
use super::waiter::Wait;
use super::who::Who;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cancel::Cause;
use crate::prim::id::{FiberId, MaybeFiberId};
use crate::prim::object::{Sight, Watched};
use crate::prim::reason::Place;
use crate::prim::thread_number::ThreadNumber;
use crate::queue::link::{Link, Linked};
use sisal_context::stack::{SizeClass, Stack};
use sisal_context::switch::Suspended;
use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;

/// See the [module](self).
///
/// Laid out by cache lines: a fiber that runs to its end without waiting touches the second and the third, where the closure
/// and the outcome follow; one that gives way and is resumed touches the first two.
///
/// INVARIANT: the cells are touched by whoever makes the fiber, and from its first run by its home worker alone.
#[repr(C, align(64))]
pub(crate) struct Header {
    // First line: waiting.
    /// Where it goes on when it is resumed.
    pub(crate) context: Cell<Suspended>,
    /// The stack it runs or waits on; none before it first waits, and for the main fiber of `run`.
    pub(crate) stack: Cell<Option<Stack>>,
    /// What it waits by, if it is parked.
    pub(crate) parked_by: Cell<Option<NonNull<Wait<Who>>>>,
    pub(crate) wait: WaitNote,

    // Second line: running.
    pub(crate) poke: PokeWord,
    /// The index of the worker it runs on, from its first run to its end.
    home: AtomicU32,
    /// The number of that worker's thread.
    thread: AtomicU32,
    pub(crate) state: State,
    /// Which stacks it can run on.
    pub(crate) class: SizeClass,
    pub(crate) flags: Flags,
    /// Stands in its worker's list of homed fibers.
    pub(crate) is_homed: Cell<bool>,
    link: Link<Header>,
    /// Whoever waits for its end.
    pub(crate) end: EndWord<Who>,
    pub(crate) vtable: &'static VTable,
    /// The runtime it belongs to, as the scheduler knows it. Valid until the fiber is done.
    pub(crate) runtime: *const (),
    pub(crate) id: FiberId,
    pub(crate) spawned_at: Place,

    // Third line: seldom used, and the body behind it.
    pub(crate) locals: OnceCell<Box<Locals>>,
    /// The innermost scope it is inside.
    pub(crate) scope: Cell<Option<NonNull<Scope>>>,
    pub(crate) name: Option<Box<str>>,
    /// The fiber that has spawned it.
    pub(crate) spawned_by: MaybeFiberId,
    /// Neighbours in the list of all fibers that have waited on one worker.
    pub(crate) previous_homed: Cell<Option<FiberRef>>,
    pub(crate) next_homed: Cell<Option<FiberRef>>,
    /// The newest of its jobs that are put aside; all others hang on it.
    pub(crate) jobs: Cell<Option<NonNull<Job>>>,
}

const _: () = assert!(std::mem::offset_of!(Header, poke) == 64 && std::mem::offset_of!(Header, locals) == 128);

/// What is known of a fiber when it is made.
pub(crate) struct Birth {
    pub(crate) id: FiberId,
    pub(crate) runtime: *const (),
    pub(crate) class: SizeClass,
    pub(crate) pinned: bool,
    pub(crate) spawned_at: Place,
    pub(crate) name: Option<Box<str>>,
    pub(crate) spawned_by: Option<FiberId>,
}

impl Header {
    #[inline(always)]
    pub(super) fn new(birth: Birth, state: State, vtable: &'static VTable) -> Header {
        Header {
            context: Cell::new(Suspended::NONE),
            stack: Cell::new(None),
            parked_by: Cell::new(None),
            wait: WaitNote::new(),
            poke: PokeWord::new(),
            home: AtomicU32::new(u32::MAX),
            thread: AtomicU32::new(0),
            state,
            class: birth.class,
            flags: Flags::new(birth.pinned),
            is_homed: Cell::new(false),
            link: Link::new(),
            end: EndWord::new(),
            vtable,
            runtime: birth.runtime,
            id: birth.id,
            spawned_at: birth.spawned_at,
            locals: OnceCell::new(),
            scope: Cell::new(None),
            name: birth.name,
            spawned_by: MaybeFiberId::new(birth.spawned_by),
            previous_homed: Cell::new(None),
            next_homed: Cell::new(None),
            jobs: Cell::new(None),
        }
    }

    /// The wait that a cancellation may end. For the home worker, while the fiber is parked.
    pub(crate) fn cancellable_wait(&self) -> Option<&Wait<Who>> {
        self.parked_wait().filter(|_| self.flags.is_cancellable())
    }

    /// The wait it is parked by. For the home worker, or while that is kept out.
    pub(crate) fn parked_wait(&self) -> Option<&Wait<Who>> {
        // SAFETY: set by the fiber to a wait in its frame, and cleared before it leaves that frame.
        self.parked_by.get().map(|wait| unsafe { wait.as_ref() })
    }

    /// The scopes it is inside, from the innermost outwards. For the home worker.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &Scope> {
        // SAFETY: scopes lie in the fiber's frames, and are taken off before these are left.
        std::iter::successors(self.scope.get(), |scope| unsafe { scope.as_ref() }.outer)
            .map(|scope| unsafe { &*scope.as_ptr().cast_const() })
    }

    /// Whether a shield keeps off what comes from outside. For the home worker.
    pub(crate) fn is_inside_shield(&self) -> bool {
        // SAFETY: as in `scopes`.
        self.scope.get().is_some_and(|innermost| unsafe { innermost.as_ref() }.is_shielded())
    }

    /// What ends every cancellable wait of this fiber, if a request or a scope does. For the home worker.
    pub(crate) fn cancel_cause(&self) -> Option<Cause> {
        let scoped = match self.scopes().next() {
            Some(innermost) => innermost.node.as_ref()?.cause(),
            None => None,
        };
        let requested = || self.poke.is_requested() && self.scopes().all(|scope| scope.node.is_some());
        scoped.or_else(|| requested().then_some(Cause::Request))
    }

    #[inline]
    pub(crate) fn home(&self) -> usize {
        // ORDERING: Relaxed; whoever unparks a fiber has it from a wait record, which came later and with a lock.
        self.home.load(Ordering::Relaxed) as usize
    }

    /// The number of the thread it runs on.
    #[inline]
    pub(crate) fn thread(&self) -> ThreadNumber {
        // ORDERING: as for `home`.
        self.thread.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set_home(&self, worker: usize, thread: ThreadNumber) {
        self.home.store(worker as u32, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
    }
}

impl Watched for Header {
    fn sight(&self) -> Sight {
        Sight { fiber: Some((self.runtime.addr(), self.id)), ..Sight::new("fiber") }
    }
}

impl Linked for Header {
    #[inline]
    fn link(&self) -> &Link<Header> {
        &self.link
    }
}

// SAFETY: the cells belong to one thread at a time (see the type), all else is atomic, locked or never changed.
unsafe impl Sync for Header {}
// SAFETY: as above; a fresh fiber's closure is `Send`, or the fiber is pinned to the worker it was made on.
unsafe impl Send for Header {}

/// A fiber, by pointer.
///
/// Whoever keeps one sees to it that the block is alive when it is used: by having it from a queue (which owns an
/// unfinished fiber), by being the fiber, by a claim on its wait, or by holding its handle.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct FiberRef(NonNull<Header>);

impl FiberRef {
    /// # Safety
    /// The block is alive for as long as the result, or a copy of it, is used.
    #[inline]
    pub(crate) unsafe fn new(header: NonNull<Header>) -> FiberRef {
        FiberRef(header)
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> NonNull<Header> {
        self.0
    }
}

impl std::ops::Deref for FiberRef {
    type Target = Header;

    #[inline]
    fn deref(&self) -> &Header {
        // SAFETY: alive, by the promise made to `new`.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a pointer to something `Sync`.
unsafe impl Send for FiberRef {}
// SAFETY: as above.
unsafe impl Sync for FiberRef {}
