//! Snapshots as JSON, for machines.

use super::frame::Frame;
use super::json;
use super::snapshot::{ById, FiberInfo, ObjectInfo, Snapshot};
use crate::fiber::FiberId;
use std::time::Duration;

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
                        object.field("ready", worker.ready);
                    });
                })
            });
            whole.field("injected", self.injected);
            let counts = &self.counts;
            whole.object("counts", |object| {
                object.field("live", counts.running + counts.ready + counts.parked + counts.fresh);
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
            let by_id = ById::of(self);
            whole.array("cycles", |cycles| {
                self.cycles.iter().for_each(|cycle| {
                    cycles.array(|steps| {
                        by_id.each(cycle).for_each(|fiber| {
                            let wait = fiber.wait.as_ref();
                            steps.object(|step| {
                                step.field("fiber", fiber.id.get())
                                    .field("reason", wait.map(|wait| wait.reason.as_str()));
                                step.field("object", wait.and_then(|wait| wait.object));
                            });
                        })
                    });
                })
            });
        })
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
    match &fiber.trace {
        None => _ = object.field("trace", None::<u8>),
        Some(trace) => {
            object.array("trace", |frames| {
                trace.iter().for_each(|frame| _ = frames.object(|object| write_frame(object, frame)))
            });
        }
    }
}

fn write_frame(object: &mut json::Object<'_>, frame: &Frame) {
    object.field("function", &frame.function).field("file", frame.file.as_deref()).field("line", frame.line);
    object.field("address", json::Text(format_args!("{:#x}", frame.address)));
}

fn write_object(object: &mut json::Object<'_>, seen: &ObjectInfo) {
    object.field("id", seen.id).field("kind", seen.kind).field("capacity", seen.capacity);
    object.field("length", seen.length).field("closed", seen.closed).field("owner", seen.owner.map(FiberId::get));
    object.field("outsider", seen.outsider);
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
