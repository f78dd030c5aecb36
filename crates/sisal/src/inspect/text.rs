//! Snapshots as text, for people: fibers that wait alike are put together and counted.

use super::snapshot::{ById, FiberInfo, FiberState, ObjectInfo, Snapshot};
use crate::fiber::FiberId;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How many fibers of a group are named.
const NAMED_OF_A_GROUP: usize = 8;

/// A length of time in two or three digits.
pub(super) struct Roughly(pub(super) Duration);

impl fmt::Display for Roughly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match self.0.as_millis() {
            0 => write!(f, "{} us", self.0.as_micros()),
            millis @ 1..1_000 => write!(f, "{millis} ms"),
            _ if seconds < 10 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            _ if seconds < 120 => write!(f, "{seconds} s"),
            _ if seconds < 7_200 => write!(f, "{} min", seconds / 60),
            _ => write!(f, "{} h", seconds / 3_600),
        }
    }
}

/// A number of bytes, in KiB where it is a whole number of them.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 1024, self.0 % 1024) {
            (kib, 0) => write!(f, "{kib} KiB"),
            _ => write!(f, "{} bytes", self.0),
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let added = self.workers.iter().filter(|worker| worker.added).count();
        write!(f, "runtime '{}': {} workers", self.runtime, self.workers.len())?;
        if added > 0 {
            write!(f, " ({added} added)")?;
        }
        writeln!(
            f,
            "; {} fibers running, {} ready, {} parked, {} fresh; {} spawned, {} finished",
            counts.running, counts.ready, counts.parked, counts.fresh, counts.spawned, counts.finished
        )?;
        for worker in &self.workers {
            let kind = if worker.added { ", added" } else { "" };
            write!(f, "worker {}: {}{kind}", worker.index, worker.state)?;
            if let Some(running) = worker.running.and_then(|id| self.fiber(id)) {
                write!(f, " fiber {}", running.title())?;
            }
            writeln!(
                f,
                "; {} fibers live here, {} are ready, {} fresh wait",
                worker.homed, worker.ready, worker.queued
            )?;
        }
        if self.injected > 0 {
            writeln!(f, "{} fresh fibers wait for any worker", self.injected)?;
        }
        self.write_cycles(f)?;
        for group in groups(&self.fibers) {
            self.write_group(f, &group)?;
        }
        for fresh in &self.fresh {
            writeln!(f, "\n{} fresh fibers spawned at {}", fresh.count, fresh.spawned_at)?;
        }
        let looked_at: usize = self.fresh.iter().map(|fresh| fresh.count).sum();
        if counts.fresh > looked_at {
            writeln!(f, "\nfresh fibers besides: {}", counts.fresh - looked_at)?;
        }
        for thread in &self.threads {
            let name = thread.name.as_deref().unwrap_or("without a name");
            writeln!(f, "\nthread {name} [{}, {}]:", thread.wait.reason, Roughly(thread.wait.since))?;
            writeln!(f, "    at {}", thread.wait.place)?;
        }
        Ok(())
    }
}

/// Fibers that are shown as one: in the same state for the same reason at the same place, spawned at the same place.
fn groups(fibers: &[FiberInfo]) -> Vec<Vec<&FiberInfo>> {
    let mut groups: BTreeMap<_, Vec<&FiberInfo>> = BTreeMap::new();
    for fiber in fibers {
        let wait = fiber.wait.as_ref().map(|wait| (&wait.reason, wait.place));
        let calls = fiber.trace.as_ref().map(|trace| trace.iter().map(|frame| frame.address).collect::<Vec<_>>());
        groups.entry((fiber.state, wait, fiber.spawned_at, fiber.name.as_ref(), calls)).or_default().push(fiber);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| (group[0].state, std::cmp::Reverse(group.len()), group[0].id));
    groups
}

impl Snapshot {
    fn write_group(&self, f: &mut fmt::Formatter<'_>, group: &[&FiberInfo]) -> fmt::Result {
        let first = group[0];
        match group {
            [_] => write!(f, "\nfiber {} [{}", first.title(), first.state)?,
            _ => {
                write!(f, "\n{} fibers", group.len())?;
                first.name.as_ref().map_or(Ok(()), |name| write!(f, " '{name}'"))?;
                write!(f, " [{}", first.state)?;
            }
        }
        if let Some(wait) = &first.wait {
            let waits = group.iter().filter_map(|fiber| fiber.wait.as_ref()).map(|wait| wait.since);
            write!(f, ": {}, {}", wait.reason, Roughly(waits.max().unwrap_or_default()))?;
        }
        let mut workers: Vec<usize> = group.iter().map(|fiber| fiber.worker).collect();
        workers.sort_unstable();
        workers.dedup();
        let workers: Vec<String> = workers.iter().map(usize::to_string).collect();
        writeln!(f, "], worker{} {}:", if workers.len() == 1 { "" } else { "s" }, workers.join(", "))?;
        if let Some(wait) = &first.wait {
            writeln!(f, "    at {}", wait.place)?;
            match wait.object.and_then(|number| self.object(number)) {
                Some(object) if group.len() == 1 => writeln!(f, "    for {}", Described(object))?,
                _ => {}
            }
        }
        for frame in first.trace.iter().flat_map(|trace| trace.iter()) {
            writeln!(f, "      {frame}")?;
        }
        let size = group.iter().filter_map(|fiber| fiber.stack_size).max();
        let used = group.iter().filter_map(|fiber| fiber.stack_used).max();
        match (used, size) {
            (Some(used), Some(size)) => writeln!(f, "    stack: {} used of {}", Bytes(used), Bytes(size))?,
            (None, Some(size)) => writeln!(f, "    stack: {}", Bytes(size))?,
            (_, None) => {}
        }
        match first.nursery {
            Some(nursery) if group.iter().all(|fiber| fiber.nursery == Some(nursery)) => {
                writeln!(f, "    in nursery {nursery:#x}")?;
            }
            _ => {}
        }
        write!(f, "    spawned at {}", first.spawned_at)?;
        match first.spawned_by {
            Some(spawner) if group.iter().all(|fiber| fiber.spawned_by == Some(spawner)) => {
                writeln!(f, " by {spawner}")?
            }
            _ => writeln!(f)?,
        }
        if let [_, _, ..] = group {
            let named: Vec<_> = group.iter().take(NAMED_OF_A_GROUP).map(|fiber| fiber.id.to_string()).collect();
            let more = group.len().saturating_sub(NAMED_OF_A_GROUP);
            write!(f, "    {}", named.join(" "))?;
            writeln!(f, "{}", if more > 0 { format!(" and {more} more") } else { String::new() })?;
        }
        Ok(())
    }

    /// The cycles, one line each.
    pub(super) fn write_cycles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fibers = ById::of(self);
        self.cycles.iter().try_for_each(|cycle| write_cycle(f, &fibers, cycle))
    }
}

/// Who waits for whom in a cycle, in one line.
pub(super) fn write_cycle(f: &mut fmt::Formatter<'_>, fibers: &ById<'_>, cycle: &[FiberId]) -> fmt::Result {
    write!(f, "cycle: ")?;
    for fiber in fibers.each(cycle) {
        let reason = fiber.wait.as_ref().map_or("", |wait| wait.reason.as_str());
        write!(f, "{} ({reason}) waits for ", fiber.title())?;
    }
    writeln!(f, "{}", fibers.each(cycle).next().map_or_else(String::new, FiberInfo::title))
}

/// An object with its state.
pub(super) struct Described<'a>(pub(super) &'a ObjectInfo);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.0;
        match object.fiber {
            Some(fiber) => return write!(f, "fiber {fiber}"),
            None => write!(f, "{} {:#x}", object.kind, object.id)?,
        }
        let waiting = object.waiting.len() + object.threads;
        let number = |number: Option<usize>| number.map_or_else(|| "no limit".to_owned(), |number| number.to_string());
        let length = object.length.unwrap_or(0);
        match object.kind {
            "channel" => {
                write!(f, " (capacity {}, {length} inside", number(object.capacity))?;
                write!(f, ", {}", if object.closed == Some(true) { "closed" } else { "open" })?;
                write!(f, ", {} sending, {} receiving)", object.senders.len(), object.receivers.len())?;
            }
            "nursery" => write!(f, " ({length} children)")?,
            "rwlock" => write!(f, " ({length} readers, {waiting} waiting)")?,
            "semaphore" => write!(f, " ({length} permits free, {waiting} waiting)")?,
            "wait group" => write!(f, " ({length} members, {waiting} waiting)")?,
            "barrier" | "limit of fibers" => write!(f, " (for {}, {waiting} waiting)", number(object.capacity))?,
            _ => write!(f, " ({waiting} waiting)")?,
        }
        match (object.owner, object.outsider) {
            (Some(owner), _) => write!(f, ", held by fiber {owner}")?,
            (None, Some(outsider)) => write!(f, ", held by {outsider}")?,
            (None, None) => {}
        }
        Ok(())
    }
}

impl Snapshot {
    /// How many fibers are parked for each reason.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let sleeper = sisal::spawn_local(|| sisal::sleep(Duration::from_secs(3600)));
    ///     sisal::yield_now();
    ///     assert_eq!(sisal::inspect::snapshot().unwrap().parked_by_reason()["asleep"], 1);
    ///     sleeper.cancel();
    /// });
    /// ```
    pub fn parked_by_reason(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for fiber in self.fibers.iter().filter(|fiber| fiber.state == FiberState::Parked) {
            let reason = fiber.wait.as_ref().map_or("", |wait| wait.reason.as_str());
            *counts.entry(reason).or_insert(0) += 1;
        }
        counts
    }
}
