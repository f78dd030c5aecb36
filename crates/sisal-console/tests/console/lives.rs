//! Fibers come, change and go.

use crate::client::Client;
use crate::common::watchdog::guarded;
use crate::fake::{Fake, asleep, ready, running};
use sisal_console::source::Fiber;
use std::time::Duration;

#[test]
fn the_first_update_has_all_fibers_with_all_that_is_known_of_them() {
    guarded(|| {
        let whole = Fiber {
            name: Some("accept loop".into()),
            worker: Some(3),
            spawned_by: Some(1),
            stack_size: Some(192 << 10),
            stack_used: Some(4097),
            turns: Some(12),
            age: Some(Duration::from_secs(60)),
            since: Some(Duration::from_secs(2)),
            ..asleep(17)
        };
        let console = Fake::new(vec![running(1), whole, ready(18)]).serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        let first = client.next(&mut world.updates).unwrap();
        assert!(!first.new_metadata.as_ref().unwrap().metadata.is_empty());
        world.take(first);
        assert_eq!(world.tasks.keys().copied().collect::<Vec<_>>(), [1, 17, 18]);
        assert_eq!([1, 17, 18].map(|id| world.state(id)), ["running", "idle", "scheduled"]);
        let fields = ["task.id", "task.name", "kind", "state", "reason", "place", "worker", "spawned_by", "stack"];
        assert_eq!(
            fields.map(|name| world.field(17, name).unwrap()),
            ["17", "accept loop", "fiber", "parked", "asleep", "src/nap.rs:10:5", "3", "1", "5 of 192 KiB"]
        );
        let (task, stats) = &world.tasks[&17];
        assert_eq!(task.location.as_ref().unwrap().to_string(), "src/main.rs:7:9");
        assert_eq!(world.polls(17), 12);
        let lifetime = world.now.unwrap().duration_since(stats.created_at.unwrap().try_into().unwrap());
        assert_eq!(lifetime.unwrap(), Duration::from_secs(60));
        // A fiber that is asleep has somebody to wake it.
        assert_eq!(stats.waker_clones - stats.waker_drops, 1);
        assert_eq!(world.field(1, "reason"), None);
    });
}

#[test]
fn states_change_and_fibers_begin_and_end_over_updates() {
    guarded(|| {
        let fake = Fake::new(vec![running(1), asleep(2)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| world.state(1) == "running" && world.state(2) == "idle");
        assert_eq!((world.polls(1), world.polls(2)), (1, 1));
        fake.set(vec![asleep(1), ready(2), running(3)]);
        client.until(&mut world, |world| world.state(1) == "idle" && world.state(2) == "scheduled");
        client.until(&mut world, |world| world.state(3) == "running");
        // What it waits for is told anew.
        assert_eq!(world.field(1, "reason").unwrap(), "asleep");
        fake.set(vec![asleep(1), running(2)]);
        client.until(&mut world, |world| world.state(2) == "running" && world.state(3) == "completed");
        assert_eq!((world.polls(1), world.polls(2), world.polls(3)), (1, 2, 1));
        assert_eq!(world.field(2, "reason"), None);
        fake.set(vec![]);
        client.until(&mut world, |world| [1, 2, 3].iter().all(|id| world.state(*id) == "completed"));
        let stats = &world.tasks[&2].1;
        assert_eq!(stats.waker_clones, stats.waker_drops);
        assert!(stats.poll_stats.as_ref().unwrap().busy_time.unwrap() != Default::default());
    });
}

#[test]
fn a_fiber_that_stays_as_it_is_is_told_of_once() {
    guarded(|| {
        let fake = Fake::new(vec![asleep(1), running(2)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        for _ in 0..20 {
            let update = client.next(&mut world.updates).unwrap();
            world.take(update);
        }
        assert_eq!(world.faces, 2);
        fake.set(vec![asleep(1), running(2), running(3)]);
        client.until(&mut world, |world| world.tasks.len() == 3);
        assert_eq!(world.faces, 3);
    });
}

#[test]
fn a_fiber_that_nobody_will_wake_has_no_waker() {
    guarded(|| {
        let console = Fake::new(vec![Fiber { is_deadlocked: true, ..asleep(1) }]).serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| !world.tasks.is_empty());
        // That is what tokio-console warns of.
        let stats = &world.tasks[&1].1;
        assert_eq!(stats.waker_clones, stats.waker_drops);
    });
}

#[test]
fn details_are_streamed_until_the_fiber_ends() {
    guarded(|| {
        let fake = Fake::new(vec![asleep(1), asleep(2)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut details = client.details(2).unwrap();
        for _ in 0..5 {
            let one = client.next(&mut details).unwrap();
            assert_eq!(one.task_id.unwrap().id, 2);
            assert!(one.now.is_some() && one.poll_times_histogram.is_none());
        }
        fake.set(vec![asleep(1)]);
        while client.next(&mut details).is_some() {}
    });
}

#[test]
fn details_of_a_fiber_that_is_not_there_are_not_found() {
    guarded(|| {
        let console = Fake::new(vec![asleep(1)]).serve();
        let mut client = Client::connect(console.address());
        let error = client.details(7).unwrap_err();
        assert_eq!((error.code(), error.message()), (tonic::Code::NotFound, "no fiber 7"));
    });
}

#[test]
fn a_fiber_keeps_its_face_while_somebody_watches_its_details() {
    guarded(|| {
        let fake = Fake::new(vec![asleep(1)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| world.faces == 1);
        let details = client.details(1).unwrap();
        fake.set(vec![running(1)]);
        client.until(&mut world, |world| world.state(1) == "running");
        assert_eq!((world.faces, world.field(1, "state").unwrap()), (1, "parked".into()));
        drop(details);
        client.until(&mut world, |world| world.field(1, "state").unwrap() == "running");
        assert_eq!(world.faces, 2);
    });
}
