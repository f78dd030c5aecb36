//! Saying when nothing can ever run again.
//!
//! The scheduler has found the runtime [still](crate::sched::stillness) for a while. Here its fibers are looked at:
//! - If something outside of the runtime can end one's wait (a descriptor, a call that blocks, a future, what [`external_wait`] says),
//!   that is no deadlock.
//! - Those inside [`no_deadlock_check`] are left out. If there are no others, that is none either.
//! - Otherwise it is *certain* if all wait in [cycles](super::graph), or for those who do, or if no thread of the process is left that could
//!   do anything; else it is *possible*. (So it is if a wait in the cycle can be cancelled, as joins can, by whoever has the handle of
//!   its fiber, a token, or the runtime.) If only some wait in a cycle, that is said of them, as it is while others run.
//!
//! A possible one is reported once, after a longer while, and only if somebody waits for the runtime: fibers that wait in the
//! background for what a thread will send are nothing unusual. It is looked at again after twice the time, and so on. While a signal would
//! cancel a nursery, none is claimed.

#![allow(unsafe_code, reason = "objects are looked at while threads wait for them")]

use super::graph;
use super::snapshot::{ById, FiberInfo, FiberState, Snapshot, WorkerState};
use super::survey::{Depth, Survey, comes_from_outside, survey};
use super::text::{Described, Roughly, write_cycle};
use crate::fiber::FiberId;
use crate::fiber::current;
use crate::fiber::flags::Outlook;
use crate::io;
use crate::park::waiting_threads;
use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use crate::prim::own_threads;
use crate::prim::reason::Reason;
use crate::prim::say::say;
use crate::prim::wake_timer;
use crate::sched::shared::Shared;
use crate::sched::stillness::OnDeadlock;
use crate::signal;
use crate::spawn::Stats;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The exit code of a process that ends because of a deadlock.
const EXIT_CODE: i32 = 124;

/// For how long nothing may happen before a possible deadlock is reported.
const POSSIBLE_AFTER: Duration = Duration::from_secs(1);

/// A runtime that nobody waits for is looked at no less often.
const LONGEST_WITHOUT_A_LOOK: Duration = Duration::from_secs(60);

/// Lets deadlocks be looked for in a runtime.
pub(super) fn watch(shared: &Shared) {
    if shared.config.on_deadlock != OnDeadlock::Ignore {
        let _ = shared.stillness.examiner.set(examine);
        let _ = shared.stillness.patrol.set(patrol);
    }
}

/// See [`Examiner`](crate::sched::stillness::Examiner).
fn examine(shared: &Arc<Shared>, still_for: Duration) -> Option<Duration> {
    if !shared.has_main() && !waiting_threads::are_there() {
        // Nobody waits for it yet. Whoever made it is about and could see to it, so it is worth no look.
        return Some(still_for + (still_for * 3).min(LONGEST_WITHOUT_A_LOOK));
    }
    let turns = shared.turns();
    // Before and after: whoever was gone before has done what it did, and the survey has seen it.
    let alone_before = is_alone(shared);
    let survey = survey(shared, Depth::Waits);
    if !is_stuck(&survey) || signal::is_cancelling() {
        return None;
    }
    let certain = are_all_doomed(&survey) || (alone_before && is_alone(shared));
    if !certain {
        report_cycles(shared, &survey.snapshot, "something may come from outside");
    }
    if !certain && still_for < POSSIBLE_AFTER {
        return Some(POSSIBLE_AFTER);
    }
    if !shared.is_still() || shared.turns() != turns {
        return None;
    }
    let gravity = 1 + u8::from(certain);
    let is_news = shared.stillness.reported.load(Ordering::Relaxed) < gravity;
    if is_news && (certain || is_awaited(shared, &survey.snapshot)) {
        shared.stillness.reported.store(gravity, Ordering::Relaxed);
        say(format_args!("sisal: {}", Report { snapshot: &survey.snapshot, certain }));
    }
    if !certain {
        // The threads that could see to it may go without doing so.
        return Some(still_for * 2);
    }
    match shared.config.on_deadlock {
        OnDeadlock::Exit => {
            say(format_args!(
                "sisal: exit code {EXIT_CODE} (RuntimeBuilder::on_deadlock or SISAL_ON_DEADLOCK say otherwise)\n"
            ));
            end_the_process(shared);
        }
        OnDeadlock::Cancel if shared.stillness.cancelled.load(Ordering::Relaxed) != 0 => {
            say(format_args!(
                "sisal: exit code {EXIT_CODE}: those who wait could not be cancelled (a lock, or a shielded wait)\n"
            ));
            end_the_process(shared);
        }
        OnDeadlock::Cancel => {
            shared.stillness.cancelled.store(1, Ordering::Relaxed);
            shared.request_stop();
            return Some(still_for * 2);
        }
        OnDeadlock::Report | OnDeadlock::Ignore => {}
    }
    None
}

/// With all that is printed and written when a program ends.
fn end_the_process(shared: &Shared) -> ! {
    if shared.config.stats {
        say(format_args!("sisal: {}\n", Stats::of(shared)));
    }
    super::trace::write_at_the_end(shared);
    std::process::exit(EXIT_CODE);
}

/// Reports fibers that wait for one another while others run.
fn patrol(shared: &Shared) {
    report_cycles(shared, &survey(shared, Depth::Waits).snapshot, "others run");
}

/// Reports each cycle once.
fn report_cycles(shared: &Shared, snapshot: &Snapshot, meanwhile: &str) {
    static REPORTED: Mutex<BTreeSet<(Moment, FiberId)>> = Mutex::new(BTreeSet::new());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let fibers = ById::of(snapshot);
    for cycle in &snapshot.cycles {
        // A fiber that waits in a cycle does so for ever. Numbers are those of one runtime, which is known by when it began.
        let known = cycle.iter().map(|&id| (shared.started, id)).collect::<Vec<_>>();
        if !known.iter().any(|fiber| reported.contains(fiber)) {
            say(format_args!("sisal: {}", Partial { snapshot, fibers: &fibers, cycle, meanwhile }));
            reported.extend(known);
        }
    }
}

/// What is printed of a cycle while other fibers are not stuck.
struct Partial<'a> {
    snapshot: &'a Snapshot,
    fibers: &'a ById<'a>,
    cycle: &'a [FiberId],
    /// What the others do.
    meanwhile: &'a str,
}

impl fmt::Display for Partial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cycle.len() {
            1 => writeln!(f, "deadlock: a fiber waits for itself, while {}", self.meanwhile)?,
            fibers => writeln!(f, "deadlock: {fibers} fibers wait for one another, while {}", self.meanwhile)?,
        }
        self.fibers.each(self.cycle).try_for_each(|fiber| write_fiber(f, self.snapshot, fiber))?;
        write!(f, "  ")?;
        write_cycle(f, self.fibers, self.cycle)
    }
}

/// Whether there are fibers that wait, and nothing that the runtime knows of will ever wake one.
fn is_stuck(survey: &Survey) -> bool {
    let mut any = false;
    let all = survey.snapshot.fibers.iter().zip(&survey.waits).all(|(fiber, seen)| {
        any |= seen.outlook == Outlook::Inside;
        fiber.state == FiberState::Parked && !seen.is_outside && seen.outlook != Outlook::External
    });
    all && any
}

/// Whether all that wait do so in a cycle, or for those who do. (Those that are meant to wait are left out.)
fn are_all_doomed(survey: &Survey) -> bool {
    let doomed = graph::doomed(&survey.snapshot, &survey.waits);
    (survey.waits.iter().zip(doomed)).all(|(seen, is_doomed)| is_doomed || seen.outlook != Outlook::Inside)
}

/// Whether no thread of the process is left that could do anything, and no task is left that time or a descriptor could wake: what becomes
/// of that is up to its executor, which may be made of fibers.
fn is_alone(shared: &Shared) -> bool {
    if wake_timer::are_there() || io::has_tasks() {
        return false;
    }
    let mut idle = Vec::new();
    waiting_threads::look(|thread| {
        // SAFETY: the thread waits for it, until we have looked at it.
        let from_outside = || thread.reason.is_outside() || unsafe { comes_from_outside(thread.object) };
        if !thread.has_deadline && !thread.is_woken() && !from_outside() {
            idle.push(thread.thread);
        }
    });
    own_threads::count_others(std::ptr::from_ref(shared).addr(), &idle) == Some(0)
}

/// Whether somebody waits for the runtime to get on: its main fiber, or a thread that waits for the end of a fiber.
fn is_awaited(shared: &Shared, snapshot: &Snapshot) -> bool {
    let mut awaited = shared.has_main();
    let is_ours = |number| snapshot.object(number).is_some_and(|object| object.fiber.is_some());
    awaited |= snapshot
        .threads
        .iter()
        .any(|thread| thread.wait.reason == Reason::Join.to_string() && thread.wait.object.is_some_and(is_ours));
    awaited
}

/// What is printed.
struct Report<'a> {
    snapshot: &'a Snapshot,
    certain: bool,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot;
        match self.certain {
            true => writeln!(f, "deadlock: no fiber can ever run again")?,
            false => writeln!(
                f,
                "possible deadlock: no fiber can run again unless a thread outside of the runtime sees to it"
            )?,
        }
        let added = snapshot.workers.iter().filter(|worker| worker.added).count();
        let (total, base) = (snapshot.workers.len(), snapshot.workers.len() - added);
        let is_unavailable = |state| matches!(state, WorkerState::Blocked | WorkerState::Stuck);
        let unavailable = snapshot.workers.iter().filter(|worker| is_unavailable(worker.state)).count();
        writeln!(f, "  workers: {total} total, {base} base, {added} added, {unavailable} unavailable")?;
        let counts = &snapshot.counts;
        writeln!(f, "  fibers: {} parked, {} done, {} spawned", counts.parked, counts.finished, counts.spawned)?;
        let mut fibers: Vec<&FiberInfo> = snapshot.fibers.iter().collect();
        fibers.sort_unstable_by_key(|fiber| fiber.id);
        fibers.into_iter().try_for_each(|fiber| write_fiber(f, snapshot, fiber))?;
        for thread in &snapshot.threads {
            let name = thread.name.as_deref().unwrap_or("without a name");
            writeln!(f, "  thread {name}: {} at {}", thread.wait.reason, thread.wait.place)?;
        }
        for object in snapshot.objects.iter().filter(|object| object.fiber.is_none()) {
            writeln!(f, "  {}", Described(object))?;
        }
        let fibers = ById::of(snapshot);
        for cycle in &snapshot.cycles {
            write!(f, "  ")?;
            write_cycle(f, &fibers, cycle)?;
        }
        Ok(())
    }
}

/// A fiber that waits: why, where, on what.
fn write_fiber(f: &mut fmt::Formatter<'_>, snapshot: &Snapshot, fiber: &FiberInfo) -> fmt::Result {
    let Some(wait) = &fiber.wait else { return Ok(()) };
    writeln!(f, "  fiber {}: {} at {} for {}", fiber.title(), wait.reason, wait.place, Roughly(wait.since))?;
    if let Some(object) = wait.object.and_then(|number| snapshot.object(number)) {
        writeln!(f, "    on {}", Described(object))?;
    }
    writeln!(f, "    spawned at {}", fiber.spawned_at)
}

/// Runs `f`, whose waits are ended by something that the runtime does not know of: a thread of another library, a signal handler, another
/// process by way of shared memory. As long as a fiber waits inside, no deadlock is claimed.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded(1);
///     // A thread of somebody else's.
///     std::thread::spawn(move || sender.send(7));
///     assert_eq!(sisal::inspect::external_wait(|| receiver.recv()), Ok(7));
/// });
/// ```
pub fn external_wait<R>(f: impl FnOnce() -> R) -> R {
    with_outlook(Outlook::External, f)
}

/// Runs `f`, whose waits are meant to be: a fiber that waits for requests as long as the program runs is not what keeps it from ending,
/// and its wait is no deadlock. If all fibers that wait are inside such calls, none is claimed; if others are stuck, it is.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::unbounded::<u32>();
///     let janitor = sisal::spawn(move || sisal::inspect::no_deadlock_check(|| receiver.iter().count()));
///     sender.send(1).unwrap();
///     drop(sender);
///     assert_eq!(janitor.join().unwrap(), 1);
/// });
/// ```
pub fn no_deadlock_check<R>(f: impl FnOnce() -> R) -> R {
    with_outlook(Outlook::Unchecked, f)
}

/// Outside of fibers it makes no difference.
fn with_outlook<R>(outlook: Outlook, f: impl FnOnce() -> R) -> R {
    let Some(fiber) = current::fiber() else { return f() };
    struct Restore(crate::fiber::header::FiberRef, Outlook);
    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.flags.set_outlook(self.1);
        }
    }
    let _restore = Restore(fiber, fiber.flags.outlook());
    fiber.flags.set_outlook(outlook);
    f()
}
