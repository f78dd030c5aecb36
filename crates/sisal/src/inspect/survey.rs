//! Looking at everything: how a [`Snapshot`] comes about.
//!
//! Workers are kept out for some of their fibers at a time ([`presence`](crate::sched::presence)); what is seen then is copied, and made
//! sense of afterwards.
#![allow(unsafe_code, reason = "objects are looked at while their waiters are held")]

use super::graph;
use super::snapshot::{
    FiberCounts, FiberInfo, FiberState, FreshInfo, ObjectInfo, Snapshot, ThreadInfo, WaitInfo, WorkerInfo, WorkerState,
};
use super::state::state_of;
use super::traces::Traces;
use crate::fiber::ambient::Scope;
use crate::fiber::cancel_node::CancelNode;
use crate::fiber::flags::Outlook;
use crate::fiber::header::Header;
use crate::fiber::wait_note::Noted;
use crate::park::waiting_threads;
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::object::{Object, Owner, Sight};
use crate::prim::reason::Reason;
use crate::sched::presence::Sighted;
use crate::sched::remote::Life;
use crate::sched::shared::Shared;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// All that was seen, and what is not for everybody.
pub(super) struct Survey {
    pub(super) snapshot: Snapshot,
    /// One for each fiber of the snapshot.
    pub(super) waits: Vec<Seen>,
}

/// What was seen of a fiber's wait.
pub(super) struct Seen {
    pub(super) reason: Reason,
    pub(super) since: Moment,
    /// What it waits for, and how. Several if the first of them counts.
    pub(super) awaited: Vec<(Reason, usize)>,
    pub(super) outlook: Outlook,
    /// Whether something outside of the runtime can end it.
    pub(super) is_outside: bool,
    /// Whether it ends by itself, or by a timeout around it.
    pub(super) is_limited: bool,
    /// Whether a cancellation would end it, and somebody may ask for one: who has the handle of the fiber, a token, or the runtime itself.
    pub(super) is_cancellable: bool,
    /// Whether somebody has been given a token for that, as far as can be known.
    pub(super) has_token: bool,
    /// Whether the fiber may have given away what it has locked.
    pub(super) lends: bool,
    /// The nursery that it has opened and waits for.
    pub(super) opened: Option<usize>,
}

/// Objects by their numbers.
type Objects = BTreeMap<usize, ObjectInfo>;

/// How closely to look.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// At what fibers wait for.
    Waits,
    /// Also at those that have not started, and at how much of their stacks was used.
    Fibers,
    /// Also at the stack of the fiber with this number.
    #[cfg_attr(not(feature = "serve"), allow(dead_code, reason = "only the live view asks for one"))]
    StackOf(u64),
    /// Also at all stacks.
    Stacks,
}

/// Looks at the runtime.
///
/// Fibers are seen one after the other: what looks like a cycle may be made of waits that were not there at the same time. So a second
/// look is taken then, and only those are believed in which the same fibers still wait for one another, and have done so since before the
/// first look.
pub(super) fn survey(shared: &Shared, depth: Depth) -> Survey {
    let mut first = look(shared, depth);
    if !first.snapshot.cycles.is_empty() {
        let second = look(shared, Depth::Waits);
        let begun = |survey: &Survey| -> HashMap<FiberId, Moment> {
            let waits = survey.waits.iter().map(|seen| seen.since);
            survey.snapshot.fibers.iter().map(|fiber| fiber.id).zip(waits).collect()
        };
        let (before, after) = (begun(&first), begun(&second));
        let seen_again: HashSet<_> = second.snapshot.cycles.into_iter().collect();
        first
            .snapshot
            .cycles
            .retain(|cycle| seen_again.contains(cycle) && cycle.iter().all(|id| before.get(id) == after.get(id)));
    }
    first
}

fn look(shared: &Shared, depth: Depth) -> Survey {
    let begun = Moment::now();
    let mut traces = Traces::new(depth);
    let mut fibers = Vec::new();
    let mut waits = Vec::new();
    let mut objects = Objects::new();
    let mut workers = Vec::new();
    for (index, remote) in shared.remotes.iter().enumerate() {
        if remote.life() == Life::Absent {
            continue;
        }
        let mut running = None;
        // Room for them is made beforehand: not while the worker waits.
        let homed = remote.presence.homed() + 1;
        fibers.reserve(homed);
        waits.reserve(homed);
        traces.reserve(homed);
        remote.presence.look(|sighted| {
            if sighted.runs {
                running = Some(sighted.fiber.id);
            }
            let (fiber, seen) = see(&sighted, index, begun, depth, shared, &mut objects);
            fibers.push(fiber);
            waits.push(seen);
            traces.add(&sighted);
        });
        traces.add_running(remote, running);
        let state = match running {
            _ if shared.idle.is_sleeping(index) => WorkerState::Sleeping,
            Some(_) if remote.shown.is_declared_blocked() => WorkerState::Blocked,
            Some(_) if remote.shown.is_stuck.load(Ordering::Relaxed) != 0 => WorkerState::Stuck,
            Some(_) => WorkerState::Running,
            None => WorkerState::Searching,
        };
        workers.push(WorkerInfo {
            index,
            state,
            added: remote.life() != Life::Base,
            running,
            homed: remote.presence.homed(),
            queued: remote.ring.len() + remote.lane.len(),
            ready: remote.shown.activity.ready.load(Ordering::Relaxed) + remote.inbox.about(),
        });
    }
    traces.resolve(&mut fibers);
    let (fresh, not_started) = if depth >= Depth::Fibers { fresh_by_place(shared) } else { (Vec::new(), 0) };
    let threads = see_threads(begun, shared, &mut objects);
    let count = |state| fibers.iter().filter(|fiber: &&FiberInfo| fiber.state == state).count();
    let counts = FiberCounts {
        finished: shared.finished(),
        spawned: shared.spawned(),
        running: count(FiberState::Running),
        ready: count(FiberState::Ready),
        parked: count(FiberState::Parked),
        fresh: not_started,
    };
    for (fiber, seen) in fibers.iter().zip(&waits) {
        for (reason, number) in &seen.awaited {
            if let Some(object) = objects.get_mut(number) {
                match reason {
                    Reason::Send => object.senders.push(fiber.id),
                    Reason::Receive => object.receivers.push(fiber.id),
                    _ => object.waiting.push(fiber.id),
                }
            }
        }
    }
    let mut snapshot = Snapshot {
        runtime: shared.config.name.clone(),
        uptime: begun.since(shared.started),
        taken: Moment::now().since(begun),
        workers,
        injected: shared.injector.len(),
        counts,
        fibers,
        fresh,
        threads,
        objects: objects.into_values().collect(),
        cycles: Vec::new(),
    };
    snapshot.cycles = graph::cycles(&snapshot, &waits);
    Survey { snapshot, waits }
}

/// One fiber, whose worker is kept out.
fn see(
    sighted: &Sighted<'_>,
    worker: usize,
    now: Moment,
    depth: Depth,
    shared: &Shared,
    objects: &mut Objects,
) -> (FiberInfo, Seen) {
    let fiber = sighted.fiber;
    let noted = fiber.wait.read().filter(|_| !sighted.runs);
    let reason = noted.map_or(Reason::None, |noted| noted.reason);
    let state = state_of(sighted);
    let mut seen = Seen {
        reason,
        since: noted.map_or(now, |noted| noted.since),
        awaited: Vec::new(),
        outlook: if sighted.runs { Outlook::Inside } else { fiber.flags.outlook() },
        is_outside: reason.is_outside(),
        is_limited: !sighted.runs && is_limited(fiber),
        is_cancellable: !sighted.runs && fiber.flags.is_cancellable() && may_be_asked_to_end(fiber, shared),
        has_token: !sighted.runs && fiber.flags.is_cancellable() && is_open(fiber),
        lends: sighted.runs || fiber.flags.lends(),
        opened: None,
    };
    if state == FiberState::Parked {
        see_object(fiber, reason, shared, &mut seen, objects);
    }
    let stack = (!sighted.runs).then(|| fiber.stack.get()).flatten();
    let info = FiberInfo {
        id: fiber.id,
        name: fiber.name.as_deref().map(str::to_owned),
        state,
        worker,
        wait: noted.map(|noted| wait_info(noted, now, seen.awaited.first().map(|&(_, number)| number))),
        spawned_at: fiber.spawned_at,
        spawned_by: fiber.spawned_by.get(),
        stack_size: match sighted.runs {
            true => (fiber.id != FiberId::MAIN).then(|| fiber.class.usable()),
            false => stack.map(|stack| stack.usable().len()),
        },
        stack_used: stack.filter(|_| depth >= Depth::Fibers).and_then(|stack| stack.high_water()),
        trace: None,
        nursery: if sighted.runs { None } else { nursery_of(fiber) },
    };
    (info, seen)
}

/// See [`Seen::is_limited`], for a fiber that is still.
fn is_limited(fiber: &Header) -> bool {
    let around = || fiber.scopes().next().and_then(|scope| scope.node.as_ref()).is_some_and(CancelNode::is_limited);
    fiber.flags.is_limited() || (fiber.flags.is_cancellable() && around())
}

/// Whether somebody could ask a fiber, which is still, to end. (Of a runtime that has a main fiber, nobody has more than a handle to stop it by; few
/// programs do that, and what a main fiber waits for is the likeliest to be told.)
fn may_be_asked_to_end(fiber: &Header, shared: &Shared) -> bool {
    let has_handle = fiber.id != FiberId::MAIN && !fiber.end.is_detached();
    has_handle || !shared.has_main() || is_open(fiber)
}

/// See [`Seen::has_token`], for a fiber that is still. What is outside of a shield does not reach it.
fn is_open(fiber: &Header) -> bool {
    fiber.scopes().take_while(|scope| scope.node.is_some()).any(Scope::is_open)
}

fn wait_info(noted: Noted, now: Moment, object: Option<usize>) -> WaitInfo {
    WaitInfo { reason: noted.reason.to_string(), place: noted.place, since: now.since(noted.since), object }
}

/// What a fiber that is still waits for.
fn see_object(fiber: &Header, reason: Reason, shared: &Shared, seen: &mut Seen, objects: &mut Objects) {
    let Some(object) = fiber.wait.object() else { return };
    // SAFETY: the fiber waits for it, and is still until we let its worker go on.
    let sight = unsafe { object.look() };
    if reason == Reason::Nursery {
        // Its children know it by the node that they follow, which is that of the scope the opener is in.
        seen.opened =
            fiber.scopes().next().and_then(|scope| scope.node.as_ref()).map(|node| std::ptr::from_ref(node).addr());
    }
    let number = seen.opened.unwrap_or(object.data.addr());
    note(reason, number, sight, shared, seen, objects);
}

/// Notes an object, or all its parts.
fn note(reason: Reason, number: usize, sight: Sight, shared: &Shared, seen: &mut Seen, objects: &mut Objects) {
    seen.is_outside |= sight.is_outside;
    for (reason, part) in sight.parts {
        // SAFETY: a part of something that is waited for.
        let sight = unsafe { Object::look(part) };
        note(reason, part.data.addr(), sight, shared, seen, objects);
    }
    if sight.kind.is_empty() || sight.kind == "select" {
        return;
    }
    seen.awaited.push((reason, number));
    let (owner, outsider) = match sight.owner {
        // Numbers are those of one runtime: fibers of others are none of ours.
        Some(Owner::Fiber { runtime, id }) if runtime == shared.number => (Some(id), None),
        Some(Owner::Fiber { .. }) => (None, Some("a fiber of another runtime")),
        Some(Owner::Thread(_)) => (None, Some("a plain thread")),
        None => (None, None),
    };
    if let Entry::Vacant(entry) = objects.entry(number) {
        entry.insert(ObjectInfo {
            id: number,
            kind: sight.kind,
            capacity: sight.capacity,
            length: sight.length,
            closed: sight.closed,
            owner,
            outsider,
            fiber: sight.fiber.and_then(|(runtime, id)| (runtime == std::ptr::from_ref(shared).addr()).then_some(id)),
            senders: Vec::new(),
            receivers: Vec::new(),
            waiting: Vec::new(),
            threads: 0,
        });
    }
}

/// Whether something outside of the runtime can end a wait for `object`, or for a part of it.
///
/// # Safety
/// Somebody waits for it, and goes on to until this returns.
pub(super) unsafe fn comes_from_outside(object: Object) -> bool {
    // SAFETY: the caller's promise.
    let sight = unsafe { object.look() };
    // SAFETY: whoever waits for an object waits for its parts.
    let part_does = |(_, part): (Reason, Object)| unsafe { comes_from_outside(part) };
    sight.is_outside || sight.parts.into_iter().any(part_does)
}

/// The nursery that a fiber, which is still, is a child of: the node that its outermost scope follows.
fn nursery_of(fiber: &Header) -> Option<usize> {
    fiber.scopes().last().and_then(|scope| scope.followed()).map(|node| node.as_ptr().addr())
}

fn see_threads(now: Moment, shared: &Shared, objects: &mut Objects) -> Vec<ThreadInfo> {
    let mut threads = Vec::new();
    waiting_threads::look(|thread| {
        let mut seen = Seen {
            reason: thread.reason,
            since: thread.since,
            awaited: Vec::new(),
            outlook: Outlook::Inside,
            is_outside: false,
            is_limited: thread.has_deadline,
            is_cancellable: false,
            has_token: false,
            lends: false,
            opened: None,
        };
        // SAFETY: the thread waits for it, until we have looked at it.
        let sight = unsafe { thread.object.look() };
        note(thread.reason, thread.object.data.addr(), sight, shared, &mut seen, objects);
        for (_, number) in &seen.awaited {
            objects.entry(*number).and_modify(|object| object.threads += 1);
        }
        let (since, object) = (now.since(thread.since), seen.awaited.first().map(|&(_, number)| number));
        let wait = WaitInfo { reason: thread.reason.to_string(), place: thread.place, since, object };
        threads.push(ThreadInfo { name: thread.name.clone(), wait });
    });
    threads
}

/// Those that have not started, and how many there are in all.
fn fresh_by_place(shared: &Shared) -> (Vec<FreshInfo>, usize) {
    let mut counts = BTreeMap::new();
    let all = shared.look_at_fresh(|fiber| *counts.entry(fiber.spawned_at).or_insert(0) += 1);
    let mut fresh: Vec<_> = counts.into_iter().map(|(spawned_at, count)| FreshInfo { spawned_at, count }).collect();
    fresh.sort_by_key(|fresh| std::cmp::Reverse(fresh.count));
    (fresh, all)
}
