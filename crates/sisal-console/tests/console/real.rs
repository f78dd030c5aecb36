//! The console of a runtime.

use crate::client::{Client, World};
use crate::common::watchdog::guarded;
use crate::common::{background, fixed, shut_down, until, watched};
use console_api::resources::resource::kind::Kind;
use sisal::Runtime;
use sisal::inspect::OnDeadlock;
use sisal::sync::{Barrier, Mutex};
use sisal_console::{Builder, Console};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn serve(runtime: &Runtime) -> Console {
    let interval = Duration::from_millis(1);
    Builder::new(runtime.handle().clone()).address("127.0.0.1:0").interval(interval).serve().unwrap()
}

/// The fiber of this name that has not ended.
fn named(world: &World, name: &str) -> Option<u64> {
    let is_it = |id: &u64| world.field(*id, "task.name").as_deref() == Some(name) && world.state(*id) != "completed";
    world.tasks.keys().copied().find(is_it)
}

fn waits(world: &World, name: &str, reason: &str) -> bool {
    named(world, name).is_some_and(|id| world.field(id, "reason").is_some_and(|told| told == reason))
}

#[test]
fn fibers_of_a_runtime_are_shown_with_what_they_wait_for_until_they_end() {
    guarded(|| {
        let runtime = background(2);
        let console = serve(&runtime);
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        let (sender, receiver) = sisal::chan::bounded::<u32>(8);
        let fiber = |name: &str| runtime.handle().builder().name(name);
        let line = line!() + 1;
        let waiter = fiber("receiver").spawn(move || receiver.recv());
        let sleeper = fiber("sleeper").spawn(|| sisal::sleep(crate::common::LONG));
        client.until(&mut world, |world| waits(world, "receiver", "receiving from a channel"));
        client.until(&mut world, |world| waits(world, "sleeper", "asleep"));

        let id = named(&world, "receiver").unwrap();
        assert_eq!(world.state(id), "idle");
        let here = format!("{}:{line}:", file!());
        let spawned_at = world.tasks[&id].0.location.as_ref().unwrap().to_string();
        assert!(spawned_at.starts_with(&here), "{spawned_at}");
        assert!(world.field(id, "place").unwrap().starts_with(&here));
        assert!(world.field(id, "worker").is_some() && world.field(id, "stack").is_some());
        let object: u64 = world.field(id, "object").unwrap().parse().unwrap();
        assert_eq!(world.resources[&object].0.kind.as_ref().unwrap().kind, Some(Kind::Other("channel".into())));
        assert_eq!(["capacity", "length"].map(|name| world.attribute(object, name).unwrap()), ["8", "0"]);
        let op = world.ops.values().find(|(_, stats)| stats.task_id.unwrap().id == id).unwrap();
        assert_eq!(op.0.resource_id.unwrap().id, object);

        sender.send(7).unwrap();
        assert_eq!(waiter.join().unwrap().unwrap(), 7);
        client.until(&mut world, |world| world.state(id) == "completed");
        assert!(named(&world, "sleeper").is_some());
        sleeper.cancel();
        let _ = sleeper.join();
        client.until(&mut world, |world| named(world, "sleeper").is_none());
        drop(console);
        shut_down(runtime);
    });
}

#[test]
fn the_console_answers_when_all_workers_are_stuck() {
    guarded(|| {
        let runtime = background(1);
        let (runs, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let flags = (Arc::clone(&runs), Arc::clone(&is_over));
        let hog = runtime.handle().builder().name("hog").spawn(move || {
            flags.0.store(true, Ordering::Relaxed);
            while !flags.1.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        until(|| runs.load(Ordering::Relaxed));
        let console = serve(&runtime);
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        for _ in 0..3 {
            client.until(&mut world, |world| named(world, "hog").is_some_and(|id| world.state(id) == "running"));
            let update = client.next(&mut world.updates).unwrap();
            world.take(update);
        }
        is_over.store(true, Ordering::Relaxed);
        hog.join().unwrap();
        client.until(&mut world, |world| named(world, "hog").is_none());
        drop(console);
        shut_down(runtime);
    });
}

#[test]
fn fibers_that_wait_for_each_other_have_no_waker() {
    guarded(|| {
        let runtime = watched(fixed(2).on_deadlock(OnDeadlock::Ignore).build().unwrap());
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let both = Arc::new(Barrier::new(2));
        let hold = |name: &str, mine: usize| {
            let (locks, both) = (Arc::clone(&locks), Arc::clone(&both));
            runtime.handle().builder().name(name).spawn(move || {
                let _mine = locks[mine].lock();
                both.wait();
                let _other = locks[1 - mine].lock();
            })
        };
        let (one, other) = (hold("one", 0), hold("other", 1));
        let console = serve(&runtime);
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        let is_lost = |world: &World, name: &str| {
            named(world, name).is_some_and(|id| world.tasks[&id].1.waker_clones == world.tasks[&id].1.waker_drops)
        };
        client.until(&mut world, |world| is_lost(world, "one") && is_lost(world, "other"));
        drop(console);
        // They can't be ended.
        std::mem::forget((one, other));
        std::mem::forget(runtime);
    });
}

#[test]
fn a_console_outlives_its_runtime() {
    guarded(|| {
        let runtime = background(2);
        let console = serve(&runtime);
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        let sleeper = runtime.handle().builder().name("sleeper").spawn(|| sisal::sleep(crate::common::LONG));
        client.until(&mut world, |world| waits(world, "sleeper", "asleep"));
        sleeper.cancel();
        drop(sleeper);
        shut_down(runtime);
        client.until(&mut world, |world| named(world, "sleeper").is_none());
    });
}

#[test]
fn serving_needs_a_runtime_or_a_handle() {
    guarded(|| {
        let error = sisal_console::serve("127.0.0.1:0").unwrap_err();
        assert!(error.to_string().contains("no runtime"), "{error}");
        sisal::run(|| {
            let console = sisal_console::serve("127.0.0.1:0").unwrap();
            let address = console.address();
            sisal::blocking(move || {
                let mut client = Client::connect(address);
                let mut world = client.watch();
                client.until(&mut world, |world| named(world, "main").is_some());
            });
        });
    });
}
