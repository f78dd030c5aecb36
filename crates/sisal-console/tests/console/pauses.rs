//! Pause and resume.

use crate::client::Client;
use crate::common::watchdog::guarded;
use crate::fake::{Fake, asleep, running};

#[test]
fn nothing_is_looked_at_during_a_pause_and_everything_is_after_it() {
    guarded(|| {
        let fake = Fake::new(vec![running(1)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut states = client.states();
        assert!(!client.is_paused(&mut states));
        let mut world = client.watch();
        client.until(&mut world, |world| world.state(1) == "running");
        client.pause();
        assert!(client.is_paused(&mut states));
        let looks = fake.looks();
        fake.set(vec![asleep(1), running(2)]);
        // A second client comes and goes; nobody looks for it. It is told what is known.
        let mut other = Client::connect(console.address());
        let mut old_world = other.watch();
        other.until(&mut old_world, |world| !world.tasks.is_empty());
        assert_eq!((old_world.state(1), old_world.state(2)), ("running", "unknown"));
        assert_eq!(fake.looks(), looks);
        client.resume();
        assert!(!client.is_paused(&mut states));
        client.until(&mut world, |world| world.state(1) == "idle" && world.state(2) == "running");
        other.until(&mut old_world, |world| world.state(1) == "idle" && world.state(2) == "running");
    });
}

#[test]
fn a_pause_ends_with_the_last_client() {
    guarded(|| {
        let fake = Fake::new(vec![running(1)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        client.until(&mut world, |world| !world.tasks.is_empty());
        client.pause();
        drop((client, world));
        fake.set(vec![asleep(1)]);
        let mut next = Client::connect(console.address());
        // The server need not have noticed yet.
        loop {
            let mut states = next.states();
            if !next.is_paused(&mut states) {
                break;
            }
        }
    });
}
