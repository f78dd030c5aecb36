//! A runtime of sisal as a source.

use crate::source::{Fiber, Look, Object, Source, State};
use sisal::Handle;
use sisal::inspect::{FiberInfo, FiberState, ObjectInfo};
use std::collections::HashSet;

impl Source for Handle {
    fn look(&mut self) -> Look {
        let snapshot = self.dump_without_traces();
        let deadlocked: HashSet<u64> = snapshot.cycles.iter().flatten().map(|id| id.get()).collect();
        let fibers = snapshot.fibers.iter().map(|fiber| see(fiber, deadlocked.contains(&fiber.id.get())));
        Look {
            uptime: snapshot.uptime,
            fibers: fibers.collect(),
            objects: snapshot.objects.iter().map(object).collect(),
        }
    }
}

fn see(fiber: &FiberInfo, is_deadlocked: bool) -> Fiber {
    let state = match fiber.state {
        FiberState::Running => State::Running,
        FiberState::Ready => State::Ready,
        _ => State::Parked,
    };
    let wait = fiber.wait.as_ref();
    Fiber {
        name: fiber.name.clone(),
        // Of a fiber that was woken it is known since when it had waited.
        since: wait.filter(|_| state == State::Parked).map(|wait| wait.since),
        worker: Some(fiber.worker),
        reason: wait.map(|wait| wait.reason.clone().into()),
        object: wait.and_then(|wait| wait.object).map(number),
        place: wait.map(|wait| wait.place.to_string()),
        spawned_by: fiber.spawned_by.map(|id| id.get()),
        stack_size: fiber.stack_size.map(number),
        stack_used: fiber.stack_used.map(number),
        is_deadlocked,
        ..Fiber::new(fiber.id.get(), state, fiber.spawned_at.to_string())
    }
}

fn object(object: &ObjectInfo) -> Object {
    Object {
        capacity: object.capacity.map(number),
        length: object.length.map(number),
        closed: object.closed,
        // The fiber whose end is waited for, where it is one.
        owner: object.owner.or(object.fiber).map(|id| id.get()),
        ..Object::new(number(object.id), object.kind)
    }
}

fn number(size: usize) -> u64 {
    size as u64
}
