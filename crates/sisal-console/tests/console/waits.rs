//! What fibers wait for, and their waits.

use crate::client::Client;
use crate::common::watchdog::guarded;
use crate::fake::{Fake, asleep, receiving, running};
use console_api::resources::resource::kind::Kind;
use sisal_console::source::{Fiber, Object};
use std::time::Duration;

#[test]
fn objects_are_resources_and_waits_are_operations_on_them() {
    guarded(|| {
        let fake = Fake::new(vec![receiving(1, 94), receiving(2, 94), receiving(3, 95), asleep(4), running(5)]);
        let channel = Object { capacity: Some(8), length: Some(0), closed: Some(false), ..Object::new(94, "channel") };
        // Nobody waits for the last one.
        fake.set_objects(vec![
            channel,
            Object { owner: Some(5), ..Object::new(95, "mutex") },
            Object::new(96, "event"),
        ]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| !world.tasks.is_empty());
        assert_eq!(world.resources.keys().copied().collect::<Vec<_>>(), [94, 95]);
        let kind = world.resources[&94].0.kind.clone().unwrap().kind.unwrap();
        assert_eq!(kind, Kind::Other("channel".into()));
        let attributes = ["object", "waiting", "capacity", "length", "closed"];
        assert_eq!(attributes.map(|name| world.attribute(94, name).unwrap()), ["94", "2", "8", "0", "false"]);
        assert_eq!(["waiting", "owner"].map(|name| world.attribute(95, name).unwrap()), ["1", "5"]);
        let mut waits: Vec<_> = world
            .ops
            .values()
            .map(|(op, stats)| (stats.task_id.unwrap().id, op.resource_id.unwrap().id, op.source.as_str()))
            .collect();
        waits.sort();
        let why = "receiving from a channel";
        assert_eq!(waits, [(1, 94, why), (2, 94, why), (3, 95, why)]);
    });
}

#[test]
fn waits_and_objects_end_when_nobody_waits_any_more() {
    guarded(|| {
        let fake = Fake::new(vec![receiving(1, 94)]);
        fake.set_objects(vec![Object::new(94, "channel")]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| world.ops.len() == 1);
        fake.set(vec![running(1)]);
        client.until(&mut world, |world| world.ops.values().all(|(_, stats)| stats.dropped_at.is_some()));
        client.until(&mut world, |world| world.resources[&94].1.dropped_at.is_some());
        // The same channel once more, in another wait.
        fake.set(vec![receiving(1, 94)]);
        client.until(&mut world, |world| world.ops.len() == 2);
        client.until(&mut world, |world| world.resources[&94].1.dropped_at.is_none());
    });
}

#[test]
fn a_fiber_that_waits_anew_waits_in_a_new_operation() {
    guarded(|| {
        let fake = Fake::new(vec![receiving(1, 94)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        for _ in 0..10 {
            let update = client.next(&mut world.updates).unwrap();
            world.take(update);
        }
        assert_eq!((world.ops.len(), world.polls(1)), (1, 1));
        // It has just begun, at every look.
        fake.set(vec![Fiber { since: Some(Duration::ZERO), ..receiving(1, 94) }]);
        client.until(&mut world, |world| world.ops.len() > 3 && world.polls(1) > 3);
        // An object of which nothing is known is shown too.
        assert_eq!(world.attribute(94, "waiting").unwrap(), "1");
    });
}
