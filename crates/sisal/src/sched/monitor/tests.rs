//! Whom the monitor names when it comes late.

use super::*;
use crate::sched::worker;
use crate::{JoinHandle, Runtime};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

/// A fiber that holds the only worker of its runtime until it is let go.
struct Holder {
    shared: Arc<Shared>,
    may_end: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

impl Holder {
    fn start(runtime: &Runtime) -> Holder {
        let may_end = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let is_over = Arc::clone(&may_end);
        let handle = runtime.spawn(move || {
            tell.send(worker::with_current(|worker| Arc::clone(worker.unwrap().shared()))).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Holder { shared: told.recv().unwrap(), may_end, handle }
    }

    fn end(self) {
        self.may_end.store(true, Ordering::Relaxed);
        self.handle.join().unwrap();
    }
}

#[test]
fn nobody_is_blamed_for_a_turn_that_another_had() {
    // Not verbose: what is found out here is not said.
    let runtime = Runtime::builder().workers(1).max_workers(1).build().unwrap();
    let first = Holder::start(&runtime);
    let mut monitor = Monitor::new(Arc::clone(&first.shared));
    let now = Moment::now();
    monitor.now = now;
    monitor.held_for(0);
    // It is kept from a processor from here on: the turn that it has seen ends, and another begins.
    monitor.now = now.after(Duration::from_secs(3600));
    assert_eq!(monitor.held_for(0), Duration::from_secs(3600));
    first.end();
    let second = Holder::start(&runtime);
    monitor.name_if_due(0);
    assert!(monitor.named_places.is_empty(), "{:?}", monitor.named_places);
    // What it has seen of that one itself counts.
    monitor.held_for(0);
    monitor.now = monitor.now.after(Duration::from_secs(3600));
    monitor.held_for(0);
    monitor.name_if_due(0);
    assert_eq!(monitor.named_places, [second.shared.remotes[0].presence.running().unwrap().spawned_at()]);
    second.end();
}

#[test]
fn who_comes_late_in_a_turn_is_named_for_the_time_since_then() {
    let runtime = Runtime::builder().workers(1).max_workers(1).build().unwrap();
    let holder = Holder::start(&runtime);
    let remote = &holder.shared.remotes[0];
    let mut monitor = Monitor::new(Arc::clone(&holder.shared));
    // A turn in which nobody runs: one that has not begun.
    let turn = remote.shown.heartbeat.load(Ordering::Relaxed);
    let now = Moment::now();
    monitor.seen[0] = Seen::at(turn + 1, now);
    monitor.now = now.after(Duration::from_secs(3600));
    monitor.name_if_due(0);
    // Somebody does now.
    monitor.seen[0].heartbeat = turn;
    monitor.name_if_due(0);
    assert!(monitor.named_places.is_empty(), "{:?}", monitor.named_places);
    monitor.now = monitor.now.after(Duration::from_secs(3600));
    monitor.name_if_due(0);
    assert_eq!(monitor.named_places, [remote.presence.running().unwrap().spawned_at()]);
    holder.end();
}
