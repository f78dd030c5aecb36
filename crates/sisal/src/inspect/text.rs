//! Snapshots as text, for people: fibers that wait alike are put together and counted.

use super::json;
use super::snapshot::{FiberInfo, FiberState, ObjectInfo, Snapshot};
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
            writeln!(f, "; {} fibers live here, {} fresh wait", worker.homed, worker.queued)?;
        }
        self.write_cycles(f)?;
        for group in groups(&self.fibers) {
            self.write_group(f, &group)?;
        }
        for fresh in &self.fresh {
            writeln!(f, "\n{} fresh fibers spawned at {}", fresh.count, fresh.spawned_at)?;
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
        groups.entry((fiber.state, wait, fiber.spawned_at, fiber.name.as_ref())).or_default().push(fiber);
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
        writeln!(f, "], worker {}:", first.worker)?;
        if let Some(wait) = &first.wait {
            writeln!(f, "    at {}", wait.place)?;
            match wait.object.and_then(|number| self.object(number)) {
                Some(object) if group.len() == 1 => writeln!(f, "    for {}", Described(object))?,
                _ => {}
            }
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
        for cycle in &self.cycles {
            write!(f, "cycle: ")?;
            for id in cycle {
                let Some(fiber) = self.fiber(*id) else { continue };
                let reason = fiber.wait.as_ref().map_or("", |wait| wait.reason.as_str());
                write!(f, "{} ({reason}) waits for ", fiber.title())?;
            }
            let first = cycle.first().and_then(|id| self.fiber(*id));
            writeln!(f, "{}", first.map_or_else(String::new, FiberInfo::title))?;
        }
        Ok(())
    }
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
        if object.kind == "channel" {
            let capacity = object.capacity.map_or_else(|| "no limit".to_owned(), |capacity| capacity.to_string());
            write!(f, " (capacity {capacity}, {} inside", object.length.unwrap_or(0))?;
            write!(f, ", {}", if object.closed == Some(true) { "closed" } else { "open" })?;
            write!(f, ", {} sending, {} receiving)", object.senders.len(), object.receivers.len())?;
        } else if let Some(length) = object.length {
            let what = if object.kind == "nursery" { "children" } else { "readers" };
            write!(f, " ({length} {what})")?;
        }
        if let Some(owner) = object.owner {
            write!(f, ", held by fiber {owner}")?;
        }
        Ok(())
    }
}

impl Snapshot {
    /// As JSON: an object with what the fields of the snapshot say. Lengths of time are in nanoseconds, and their names end in `_ns`.
    ///
    /// ```
    /// sisal::run(|| assert!(sisal::inspect::snapshot().unwrap().to_json().starts_with("{\"version\":1,")));
    /// ```
    pub fn to_json(&self) -> String {
        json::object(|whole| {
            whole.field("version", 1u8).field("runtime", &self.runtime).field("pid", std::process::id());
            whole.field("uptime_ns", nanos(self.uptime)).field("taken_ns", nanos(self.taken));
            whole.array("workers", |workers| {
                self.workers.iter().for_each(|worker| {
                    workers.object(|object| {
                        object.field("index", worker.index).field("state", json::Text(worker.state));
                        object.field("added", worker.added).field("running", worker.running.map(FiberId::get));
                        object.field("homed", worker.homed).field("queued", worker.queued);
                    });
                })
            });
            let counts = &self.counts;
            whole.object("counts", |object| {
                object.field("live", self.fibers.len() + counts.fresh);
                object.field("spawned", counts.spawned).field("finished", counts.finished);
                object.field("running", counts.running).field("ready", counts.ready);
                object.field("parked", counts.parked).field("fresh", counts.fresh);
            });
            whole.object("waits", |waits| {
                self.parked_by_reason().into_iter().for_each(|(reason, count)| _ = waits.field(reason, count));
            });
            whole.array("fibers", |fibers| {
                self.fibers.iter().for_each(|fiber| _ = fibers.object(|object| write_fiber(object, fiber)));
            });
            whole.array("fresh", |all| {
                self.fresh.iter().for_each(|fresh| {
                    all.object(|object| {
                        object.field("spawned_at", json::Text(fresh.spawned_at)).field("count", fresh.count);
                    });
                })
            });
            whole.array("threads", |threads| {
                self.threads.iter().for_each(|thread| {
                    threads.object(|object| {
                        object.field("name", thread.name.as_deref()).field("reason", &thread.wait.reason);
                        object.field("object", thread.wait.object).field("place", json::Text(thread.wait.place));
                        object.field("since_ns", nanos(thread.wait.since));
                    });
                })
            });
            whole.array("objects", |objects| {
                self.objects.iter().for_each(|one| _ = objects.object(|object| write_object(object, one)));
            });
            whole.array("cycles", |cycles| {
                self.cycles.iter().for_each(|cycle| {
                    cycles.array(|steps| {
                        cycle.iter().for_each(|id| {
                            let wait = self.fiber(*id).and_then(|fiber| fiber.wait.as_ref());
                            steps.object(|step| {
                                step.field("fiber", id.get()).field("reason", wait.map(|wait| wait.reason.as_str()));
                                step.field("object", wait.and_then(|wait| wait.object));
                            });
                        })
                    });
                })
            });
        })
    }

    /// How many fibers are parked for each reason.
    pub fn parked_by_reason(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for fiber in self.fibers.iter().filter(|fiber| fiber.state == FiberState::Parked) {
            let reason = fiber.wait.as_ref().map_or("", |wait| wait.reason.as_str());
            *counts.entry(reason).or_insert(0) += 1;
        }
        counts
    }
}

fn write_fiber(object: &mut json::Object<'_>, fiber: &FiberInfo) {
    let wait = fiber.wait.as_ref();
    object.field("id", fiber.id.get()).field("name", fiber.name.as_deref()).field("state", json::Text(fiber.state));
    object.field("worker", fiber.worker).field("reason", wait.map(|wait| wait.reason.as_str()));
    object.field("object", wait.and_then(|wait| wait.object)).field("place", wait.map(|wait| json::Text(wait.place)));
    object.field("since_ns", wait.map(|wait| nanos(wait.since)));
    object.field("spawned_at", json::Text(fiber.spawned_at)).field("spawned_by", fiber.spawned_by.map(FiberId::get));
    object.field("stack_size", fiber.stack_size).field("stack_used", fiber.stack_used);
    object.field("nursery", fiber.nursery);
}

fn write_object(object: &mut json::Object<'_>, seen: &ObjectInfo) {
    object.field("id", seen.id).field("kind", seen.kind).field("capacity", seen.capacity);
    object.field("length", seen.length).field("closed", seen.closed).field("owner", seen.owner.map(FiberId::get));
    object.field("fiber", seen.fiber.map(FiberId::get)).field("waiting_threads", seen.threads);
    for (name, fibers) in
        [("waiting_to_send", &seen.senders), ("waiting_to_receive", &seen.receivers), ("waiting", &seen.waiting)]
    {
        object.array(name, |list| fibers.iter().for_each(|id| _ = list.item(id.get())));
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
