//! What all ways to spawn have in common: a place under `max_fibers`, the block, the queue.
#![allow(unsafe_code, reason = "the first handle of a fiber is made here")]

use super::error::{SpawnError, SpawnErrorKind};
use crate::fiber::body;
use crate::fiber::current;
use crate::fiber::header::{Birth, FiberRef};
use crate::fiber::spans::Origin;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::join::JoinHandle;
use crate::park::{self, Waiting};
use crate::prim::fork;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::sched::fuel::pay_fuel;
use crate::sched::limit::{Admission, Limit};
use crate::sched::place::Placement;
use crate::sched::shared::Shared;
use crate::sched::worker::{self, Worker};
use sisal_context::stack::SizeClass;
use std::ptr;
use std::sync::Arc;

/// How a fiber is to be.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Box<str>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) start: Start,
    pub(crate) entry: Entry,
    /// Whether it is part of what a fiber computes, and runs also in a runtime that stops.
    pub(crate) is_part: bool,
}

/// How a fiber comes to a place under `max_fibers`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Its spawner waits for one.
    #[default]
    Waits,
    /// It is not spawned if there is none.
    AtOnce,
    /// It has one: see [`SpawnToken`](super::token::SpawnToken).
    Granted,
}

/// Where a fiber is to start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Start {
    /// On any worker.
    #[default]
    Anywhere,
    /// On any worker, but rather the one that homes fewest.
    Spread,
    /// On any worker, but rather one that homes none.
    Alone,
    /// On the worker that spawns it.
    Here,
    /// On this worker.
    On(usize),
}

/// Makes a fiber of `f` and queues it, in the given runtime or else the caller's.
///
/// # Safety
/// `F` and `T` may go to another thread, unless the start is [`Here`](Start::Here). Both outlive the fiber.
#[inline]
pub(crate) unsafe fn launch<F: FnOnce() -> T, T>(
    runtime: Option<&Arc<Shared>>,
    options: Options,
    place: Place,
    f: F,
) -> Result<JoinHandle<T>, SpawnError<F>> {
    worker::with_current(|worker| {
        // First: a subscriber is foreign code, and may panic.
        let origin = Origin::here();
        let (launching, birth) = match Launching::begin(runtime, worker, options, place) {
            Ok(begun) => begun,
            Err(kind) => return Err(SpawnError::new(kind, f)),
        };
        let fiber = body::allocate(birth, move || origin.call(f));
        // SAFETY: made with this `T` just now.
        let handle = unsafe { JoinHandle::new(fiber) };
        launching.enqueue(fiber, place);
        Ok(handle)
    })
}

/// All of a launch that does not depend on the type of the closure. Inlined all the same: called, it would pass the birth of the fiber through
/// memory, which takes a third of a spawn. What it calls is not compiled for each closure.
struct Launching<'a> {
    shared: &'a Arc<Shared>,
    /// The caller's worker, if that is one of the same runtime.
    inside: Option<&'a Worker>,
    start: Start,
    is_part: bool,
}

impl<'a> Launching<'a> {
    /// What comes before there is a fiber.
    #[inline(always)]
    fn begin(
        runtime: Option<&'a Arc<Shared>>,
        worker: Option<&'a Worker>,
        options: Options,
        place: Place,
    ) -> Result<(Launching<'a>, Birth), SpawnErrorKind> {
        let inside = worker.filter(|worker| runtime.is_none_or(|runtime| ptr::eq(&**runtime, &**worker.shared())));
        if inside.is_none() {
            fork::refuse_in_child();
        }
        let shared = inside.map(|worker| worker.shared()).or(runtime).ok_or(SpawnErrorKind::NoRuntime)?;
        let class = check(shared, inside, &options, place)?;
        let birth = Birth {
            id: inside.map_or_else(|| shared.take_ids(1), Worker::next_id),
            runtime: Arc::as_ptr(shared).cast(),
            class,
            pinned: matches!(options.start, Start::Here | Start::On(_)),
            spawned_at: place,
            name: options.name,
            spawned_by: current::fiber().filter(|_| inside.is_some()).map(|fiber| fiber.id),
        };
        Ok((Launching { shared, inside, start: options.start, is_part: options.is_part }, birth))
    }

    /// What comes when there is one.
    #[inline(always)]
    fn enqueue(&self, fiber: FiberRef, place: Place) {
        if self.is_part {
            fiber.flags.set_job();
        }
        let start = self.start.or_what_is_known(self.shared, self.inside, place);
        match self.inside {
            Some(worker) => enqueue_inside(worker, fiber, start, place),
            None => {
                self.shared.enqueue_outside(fiber, start.seen_from_outside());
                // The caller may be a fiber of another runtime.
                pay_fuel(place);
            }
        }
    }
}

/// Checks what can be wrong, and takes a place under `max_fibers`. Nothing is lost if it says no.
#[inline]
fn check(
    shared: &Arc<Shared>,
    inside: Option<&Worker>,
    options: &Options,
    place: Place,
) -> Result<SizeClass, SpawnErrorKind> {
    let class = match options.stack_size {
        None => shared.config.class,
        Some(asked) => SizeClass::for_usable(asked).map_err(|_| SpawnErrorKind::StackSize { asked })?,
    };
    match options.start {
        Start::On(asked) if asked >= shared.config.workers => {
            return Err(SpawnErrorKind::NoSuchWorker { asked, workers: shared.config.workers });
        }
        Start::Here if inside.is_none() => return Err(SpawnErrorKind::NoRuntime),
        _ => {}
    }
    if let Some(limit) = &shared.limit {
        enter(limit, options.entry, place)?;
    }
    Ok(class)
}

#[cold]
fn enter(limit: &Limit, entry: Entry, place: Place) -> Result<(), SpawnErrorKind> {
    if entry == Entry::Granted || limit.try_enter() == Admission::Granted {
        return Ok(());
    }
    if entry == Entry::AtOnce {
        pay_fuel(place);
        return Err(SpawnErrorKind::LimitReached { max_fibers: limit.most() });
    }
    let object = Object::of(limit);
    let woken = wait_to_enter(
        limit,
        &Waiting { reason: Reason::SpawnLimit, object, place, deadline: None, cancellable: false },
    );
    debug_assert!(matches!(woken, Woken::Object(_)), "INVARIANT: only the limit ends this wait");
    Ok(())
}

/// Waits for a place: there is one if the limit ended the wait.
pub(super) fn wait_to_enter(limit: &Limit, waiting: &Waiting) -> Woken {
    let wait = Wait::new(park::me());
    let waiter = Waiter::solo(&wait);
    // SAFETY: the record stays in this frame until the limit has claimed and unparked it, or it gives up below.
    if unsafe { limit.enter_or_enlist(&waiter) } == Admission::Granted {
        return Woken::Object(0);
    }
    park::park_or_leave(&wait, waiting, || limit.give_up(&waiter))
}

#[inline]
fn enqueue_inside(worker: &Worker, fiber: FiberRef, start: Start, place: Place) {
    worker.note_spawn(fiber);
    match start {
        Start::Anywhere => worker.enqueue_fresh(fiber),
        Start::Spread => worker.enqueue_spread(fiber),
        Start::Alone => worker.enqueue_hog(fiber),
        Start::Here => {
            fiber.flags.set_lends();
            if let Some(spawner) = current::fiber() {
                spawner.flags.set_lends();
            }
            worker.enqueue_pinned(fiber);
        }
        Start::On(index) => worker.enqueue_on(index, fiber),
    }
    pay_fuel(place);
}

impl Start {
    /// If nothing was said: what is known of the spawner, and of those that were spawned at the same place. An accepted connection is
    /// served by one who will wait, whatever others did.
    #[inline]
    fn or_what_is_known(self, shared: &Shared, inside: Option<&Worker>, place: Place) -> Start {
        match self {
            Start::Anywhere if inside.is_some_and(Worker::spawns_for_accepted) => Start::Spread,
            Start::Anywhere if shared.hogs.are_spawned_at(place) => Start::Alone,
            said => said,
        }
    }

    fn seen_from_outside(self) -> Placement {
        match self {
            Start::Anywhere => Placement::Anywhere,
            Start::Spread => Placement::Spread,
            Start::Alone => Placement::Alone,
            Start::On(worker) => Placement::Worker(worker),
            Start::Here => unreachable!("INVARIANT: refused by `check`"),
        }
    }
}
