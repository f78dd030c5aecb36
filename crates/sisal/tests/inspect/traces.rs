//! What a dump shows of the calls that fibers are in, taken by a thread that is none of the runtime's.

use super::common::{self, background, until, watchdog::guarded};
use sisal::chan::{Receiver, bounded};
use sisal::inspect::{FiberInfo, FiberState, Snapshot};
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The calls that are looked for, those of the runtime included.
const KNOWN: [&str; 6] = ["recv", "receive", "spin", "innermost", "middle", "outermost"];

#[inline(never)]
fn outermost(f: &dyn Fn() -> u32) -> u32 {
    black_box(middle(f) + 1)
}

#[inline(never)]
fn middle(f: &dyn Fn() -> u32) -> u32 {
    black_box(innermost(f) + 1)
}

#[inline(never)]
fn innermost(f: &dyn Fn() -> u32) -> u32 {
    black_box(f() + 1)
}

#[inline(never)]
fn receive(from: &Receiver<u32>) -> u32 {
    black_box(from.recv().unwrap() + 1)
}

#[inline(never)]
fn spin(has_begun: &AtomicBool, may_end: &AtomicBool) -> u32 {
    has_begun.store(true, Ordering::Relaxed);
    while !may_end.load(Ordering::Relaxed) {
        spin_loop();
    }
    black_box(1)
}

/// Which of the known calls a function is: names may have paths before them and types behind.
fn known(function: &str) -> Option<&'static str> {
    let function = function.split('<').next().unwrap_or(function);
    let name = function.rsplit("::").next().unwrap_or(function);
    KNOWN.into_iter().find(|known| *known == name)
}

/// The known calls that a fiber is in, innermost first.
fn calls(fiber: &FiberInfo) -> Vec<&'static str> {
    fiber.trace.iter().flat_map(|trace| trace.iter()).filter_map(|frame| known(&frame.function)).collect()
}

/// The fibers of this name.
fn named<'a>(seen: &'a Snapshot, name: &str) -> Vec<&'a FiberInfo> {
    seen.fibers.iter().filter(|fiber| fiber.name.as_deref() == Some(name)).collect()
}

/// Takes dumps until one has so many parked fibers of this name.
fn dump_with_parked(runtime: &sisal::Runtime, name: &str, count: usize) -> Snapshot {
    loop {
        let seen = runtime.dump();
        if named(&seen, name).iter().filter(|fiber| fiber.state == FiberState::Parked).count() == count {
            return seen;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_fiber_that_waits_and_one_that_runs_are_seen_with_their_calls_in_order() {
    guarded(|| {
        let runtime = background(2);
        let (sender, receiver) = bounded(1);
        let builder = |name| runtime.handle().builder().name(name);
        let waiting = builder("waiting").spawn(move || outermost(&|| receive(&receiver)));
        let (has_begun, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (begun, is_over) = (Arc::clone(&has_begun), Arc::clone(&may_end));
        let running = builder("running").spawn(move || outermost(&|| spin(&begun, &is_over)));
        until(|| has_begun.load(Ordering::Relaxed));
        // A thread that is not given a processor in time can't be stopped and looked at.
        let seen = std::iter::repeat_with(|| dump_with_parked(&runtime, "waiting", 1))
            .find(|seen| named(seen, "running")[0].trace.is_some())
            .unwrap();
        let [waiting_there, running_there] = ["waiting", "running"].map(|name| named(&seen, name)[0]);
        assert_eq!(calls(waiting_there), ["recv", "receive", "innermost", "middle", "outermost"], "{seen}");
        assert_eq!(calls(running_there), ["spin", "innermost", "middle", "outermost"], "{seen}");
        assert_eq!(running_there.state, FiberState::Running);
        may_end.store(true, Ordering::Relaxed);
        sender.send(1).unwrap();
        assert_eq!((waiting.join().unwrap(), running.join().unwrap()), (5, 4));
        common::shut_down(runtime);
    });
}

#[test]
fn ten_fibers_at_one_place_are_one_group_in_the_text_and_ten_fibers_in_the_json() {
    guarded(|| {
        let runtime = background(2);
        let (sender, receiver) = bounded(1);
        let spawn = |_| {
            let receiver = receiver.clone();
            runtime.handle().builder().name("alike").spawn(move || outermost(&|| receive(&receiver)))
        };
        let fibers: Vec<_> = (0..10).map(spawn).collect();
        let seen = dump_with_parked(&runtime, "alike", 10);

        let text = seen.to_string();
        assert_eq!(text.matches("\n10 fibers 'alike' [parked: receiving from a channel").count(), 1, "{text}");
        assert_eq!(text.matches("'alike'").count(), 1, "{text}");
        let shown: Vec<_> = text.lines().filter_map(|line| known(line.trim())).collect();
        assert_eq!(shown, ["recv", "receive", "innermost", "middle", "outermost"], "{text}");

        let json: serde_json::Value = serde_json::from_str(&seen.to_json()).unwrap();
        let listed: Vec<_> = json["fibers"].as_array().unwrap().iter().filter(|one| one["name"] == "alike").collect();
        assert_eq!(listed.len(), 10, "{json:#}");
        assert!(listed.iter().all(|one| one["trace"] == listed[0]["trace"]), "{json:#}");
        let functions = listed[0]["trace"].as_array().unwrap().iter().map(|frame| frame["function"].as_str().unwrap());
        assert_eq!(functions.filter_map(known).collect::<Vec<_>>(), shown);

        drop(receiver);
        (0..10).for_each(|_| sender.send(1).unwrap());
        assert!(sisal::join_all(fibers).into_iter().all(|five| five.unwrap() == 5));
        common::shut_down(runtime);
    });
}
