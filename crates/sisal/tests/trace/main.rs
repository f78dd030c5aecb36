//! Traces: what is recorded, what becomes of it in a file, and that nothing of it is torn while fibers churn.

mod check;
#[path = "../common/mod.rs"]
mod common;
mod file;

use check::check;
use common::watchdog::guarded;
use common::{LONG, background, fixed, rounds, shut_down, until, with_workers};
use sisal::inspect::{self, FlightRecorder};
use sisal::{Builder, Runtime, chan};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Two fibers that send each other so many messages.
fn ping_pong(runtime: &Runtime, on: [usize; 2], messages: usize) {
    let (to_pong, pings) = chan::bounded::<usize>(1);
    let (to_ping, pongs) = chan::bounded::<usize>(1);
    let builder = |name: &str| runtime.handle().builder().name(name);
    let ping = builder("ping").spawn_on(on[0], move || {
        for number in 0..messages {
            to_pong.send(number).unwrap();
            assert_eq!(pongs.recv().unwrap(), number);
        }
    });
    let pong = builder("pong").spawn_on(on[1], move || {
        while let Ok(number) = pings.recv() {
            to_ping.send(number).unwrap();
        }
    });
    ping.join().unwrap();
    pong.join().unwrap();
}

#[test]
fn fibers_that_wake_each_other_are_joined_by_arrows_both_ways() {
    guarded(|| {
        for on in [[0, 0], [0, 1]] {
            let runtime = background(2);
            let recorder = FlightRecorder::start_unabridged(runtime.handle());
            ping_pong(&runtime, on, 100);
            // Whoever joins a fiber may come back a little before its turn is over.
            shut_down(runtime);
            let checked = check(&recorder.stop().to_json());
            for (name, other) in [("ping", "pong"), ("pong", "ping")] {
                let turns = checked.turns_of(name);
                assert!(turns.len() > 10, "{name} had {} turns", turns.len());
                let arrows = checked.flows.iter().filter(|flow| {
                    flow.name == "wake" && checked.source_of(flow) == other && checked.target_of(flow) == name
                });
                assert!(arrows.count() > 10, "{other} wakes {name}");
                assert!(turns.iter().all(|(tid, _)| *tid == turns[0].0), "a fiber stays on its worker");
                assert!(turns.iter().any(|(_, turn)| turn.args["then"] == "receiving from a channel"
                    && turn.args["at"].as_str().unwrap().contains("tests/trace/main.rs")
                    && turn.args["object"].as_str().unwrap().starts_with("0x")));
                assert_eq!(turns.last().unwrap().1.args["then"], "ended");
            }
            assert_eq!((checked.total("lost_events"), checked.total("unrecorded_turns")), (0, 0));
        }
    });
}

#[test]
fn unnamed_fibers_are_called_by_number_and_place_and_led_to_by_their_spawner() {
    guarded(|| {
        let line = std::cell::Cell::new(0);
        let json = fixed(2)
            .run(|| {
                let recorder = inspect::flight_recorder().unwrap();
                let sleeper = || sisal::sleep(Duration::from_millis(100));
                line.set(line!() + 1);
                let fibers: Vec<_> = (0..20).map(|_| sisal::spawn(sleeper)).collect();
                fibers.into_iter().for_each(|fiber| fiber.join().unwrap().unwrap());
                recorder.stop().to_json()
            })
            .unwrap();
        let checked = check(&json);
        let place = format!("crates/sisal/tests/trace/main.rs:{}", line.get());
        let spawned: Vec<_> = checked.flows.iter().filter(|flow| flow.name == "spawn").collect();
        assert_eq!(spawned.len(), 20);
        for flow in spawned {
            assert_eq!(checked.source_of(flow), "main");
            let name = checked.target_of(flow);
            assert!(name.starts_with('#') && name.ends_with(&place), "{name}");
            assert!(checked.turns_of(name).iter().any(|(_, turn)| turn.args["then"] == "asleep"), "{name} slept");
        }
        assert!(checked.has_mark("spawns #"));
        assert_eq!(checked.process, "sisal");
        assert_eq!(checked.tracks[&1], "worker 0");
        assert!(checked.counters.iter().any(|&busy| busy > 0.0));
    });
}

#[test]
fn what_threads_outside_do_stands_on_tracks_of_their_own() {
    guarded(|| {
        let runtime = background(2);
        let recorder = FlightRecorder::start(runtime.handle());
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new().name("an outsider".to_owned());
        let thread = thread.spawn(move || {
            let (sender, receiver) = chan::bounded::<()>(1);
            let parked = std::sync::Arc::new(AtomicBool::new(false));
            let seen = parked.clone();
            let fiber = handle.builder().name("insider").spawn(move || {
                seen.store(true, Ordering::Relaxed);
                receiver.recv().unwrap();
            });
            until(|| parked.load(Ordering::Relaxed));
            sender.send(()).unwrap();
            fiber.join().unwrap();
        });
        thread.unwrap().join().unwrap();
        let checked = check(&recorder.stop().to_json());
        let (tid, _) = checked.tracks.iter().find(|(_, name)| *name == "thread an outsider").unwrap();
        let spawn = checked.flows.iter().find(|flow| flow.from.0 == *tid && flow.name == "spawn").unwrap();
        assert_eq!((checked.source_of(spawn), checked.target_of(spawn)), ("spawns", "insider"));
        shut_down(runtime);
    });
}

#[test]
fn fibers_that_are_taken_by_other_workers_are_marked() {
    guarded(|| {
        let runtime = background(2);
        let recorder = FlightRecorder::start(runtime.handle());
        runtime.run(|| while !is_taken_by_another() {});
        let checked = check(&recorder.stop().to_json());
        assert!(checked.has_mark("takes #"), "{:?}", checked.marks);
        shut_down(runtime);
    });
}

/// Spawns a fiber and holds the worker until it has run. It may have run here, if the spawn gave way.
fn is_taken_by_another() -> bool {
    let ran_on = std::sync::Arc::new(OnceLock::new());
    let by_child = ran_on.clone();
    drop(sisal::spawn(move || by_child.set(std::thread::current().id())));
    loop {
        if let Some(&thread) = ran_on.get() {
            return thread != std::thread::current().id();
        }
        std::hint::spin_loop();
    }
}

#[test]
fn the_sleep_of_a_worker_is_a_slice() {
    guarded(|| {
        let runtime = background(1);
        let recorder = FlightRecorder::start(runtime.handle());
        until(|| !check(&recorder.snapshot().to_json()).turns_of("asleep").is_empty());
        shut_down(runtime);
        let checked = check(&recorder.stop().to_json());
        assert!(!checked.turns_of("asleep").is_empty() && checked.has_mark("worker 0 goes"));
    });
}

#[test]
fn a_fiber_that_runs_all_the_time_is_seen_although_it_does_nothing_to_be_recorded() {
    guarded(|| {
        let runtime = background(1);
        let (runs, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let flags: &'static [AtomicBool; 2] = Box::leak(Box::new([runs, is_over]));
        let hog = runtime.handle().builder().name("hog").spawn(|| {
            flags[0].store(true, Ordering::Relaxed);
            while !flags[1].load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        until(|| flags[0].load(Ordering::Relaxed));
        let trace = FlightRecorder::start(runtime.handle()).stop();
        flags[1].store(true, Ordering::Relaxed);
        hog.join().unwrap();
        let checked = check(&trace.to_json());
        let slices = &checked.slices[&1];
        assert_eq!(slices.len(), 1);
        assert_eq!((slices[0].start, slices[0].end), (0, trace.duration().as_nanos() as u64));
        assert_eq!(slices[0].name, "hog");
        shut_down(runtime);
    });
}

#[test]
fn what_is_too_much_at_once_is_recorded_in_part_and_the_rest_counted() {
    guarded(|| {
        // More wakes in one turn than there is credit for, and none is earned before the turn ends.
        const WAITERS: usize = 10_000;
        let json = fixed(1)
            .run(|| {
                let shared = std::sync::Arc::new((sisal::sync::Event::new(), AtomicUsize::new(0)));
                let waits = |_| {
                    let shared = shared.clone();
                    sisal::spawn(move || {
                        shared.1.fetch_add(1, Ordering::Relaxed);
                        shared.0.wait()
                    })
                };
                let waiters: Vec<_> = (0..WAITERS).map(waits).collect();
                until(|| shared.1.load(Ordering::Relaxed) == WAITERS);
                let recorder = inspect::flight_recorder().unwrap();
                shared.0.set();
                waiters.into_iter().for_each(|fiber| fiber.join().unwrap().unwrap());
                recorder.stop().to_json()
            })
            .unwrap();
        let checked = check(&json);
        let slices = &checked.slices[&1];
        assert!(slices.iter().any(|slice| slice.name.contains("turns, not recorded one by one")));
        let wakes = checked.flows.iter().filter(|flow| flow.name == "wake").count();
        assert!(wakes < WAITERS, "{wakes} wakes");
    });
}

#[test]
fn a_full_ring_keeps_the_last_events_and_says_how_many_are_lost() {
    guarded(|| {
        let runtime = background(1);
        let recorder = FlightRecorder::start_unabridged(runtime.handle());
        runtime.run(|| {
            let other = Builder::new().name("other").spawn(|| (0..40_000).for_each(|_| sisal::yield_now()));
            (0..40_000).for_each(|_| sisal::yield_now());
            other.join().unwrap();
            Builder::new().name("last").spawn(|| ()).join().unwrap();
        });
        let trace = recorder.stop();
        let checked = check(&trace.to_json());
        assert!(trace.lost() > 0);
        assert_eq!(checked.total("lost_events"), trace.lost());
        assert!(checked.has_mark("earlier events were overwritten"));
        assert_eq!(checked.turns_of("last").len(), 1);
        shut_down(runtime);
    });
}

/// Spawns, sends, yields, joins and sleeps, so many times.
fn churn(rounds: usize) {
    let (sender, receiver) = chan::bounded::<u32>(2);
    for _ in 0..rounds {
        let sender = sender.clone();
        let child = Builder::new().name("child").spawn(move || {
            sisal::yield_now();
            sender.send(1).unwrap();
        });
        assert_eq!(receiver.recv(), Ok(1));
        child.join().unwrap();
        sisal::sleep(Duration::from_micros(20)).unwrap();
    }
}

#[test]
fn snapshots_hold_together_while_fibers_churn() {
    with_workers(|workers| {
        let runtime = background(workers);
        let recorder = FlightRecorder::start(runtime.handle());
        let whole = FlightRecorder::start_unabridged(runtime.handle());
        let churners: Vec<_> = (0..2 * workers).map(|_| runtime.spawn(|| churn(rounds(300)))).collect();
        while churners.iter().any(|fiber| !fiber.is_finished()) {
            check(&recorder.snapshot().to_json());
            check(&inspect::recorded(runtime.handle()).unwrap().to_json());
        }
        drop(recorder);
        check(&whole.stop().to_json());
        assert!(inspect::recorded(runtime.handle()).is_none());
        churners.into_iter().for_each(|fiber| fiber.join().unwrap());
        shut_down(runtime);
    });
}

#[test]
fn a_trace_of_some_time_is_taken_by_a_fiber_that_waits() {
    guarded(|| {
        fixed(1)
            .run(|| {
                let trace = sisal::spawn(|| inspect::trace(Duration::from_millis(2))).join().unwrap();
                assert!(trace.duration() >= Duration::from_millis(2));
                let checked = check(&trace.to_json());
                assert!(checked.slices[&1].iter().any(|slice| slice.args["then"] == "asleep"));
            })
            .unwrap();
        let nothing = inspect::trace(LONG);
        assert_eq!((nothing.events(), nothing.duration()), (0, Duration::ZERO));
        assert!(check(&nothing.to_json()).tracks.is_empty());
    });
}

#[test]
fn what_comes_from_outside_is_marked() {
    guarded(|| {
        let json = fixed(1)
            .run(|| {
                let recorder = inspect::flight_recorder().unwrap();
                let listener = sisal::net::TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let accept = Builder::new().name("accept").spawn(move || drop(listener.accept().unwrap()));
                sisal::yield_now();
                std::thread::spawn(move || drop(std::net::TcpStream::connect(address).unwrap())).join().unwrap();
                accept.join().unwrap();
                recorder.stop().to_json()
            })
            .unwrap();
        let checked = check(&json);
        assert!(checked.has_mark("hears of 1 from outside"), "{:?}", checked.marks);
        assert!(checked.turns_of("accept").iter().any(|(_, turn)| turn.args["then"] == "waiting for a connection"));
    });
}

#[test]
fn what_is_recorded_begins_where_recording_last_began() {
    guarded(|| {
        // With one worker a fiber is out of sight when the next runs.
        let runtime = background(1);
        let spawn = |name: &str| runtime.handle().builder().name(name).spawn(sisal::yield_now).join().unwrap();
        let earlier = FlightRecorder::start(runtime.handle());
        spawn("earlier");
        let of_both = inspect::recorded(runtime.handle()).unwrap();
        assert!(of_both.to_json().contains("earlier"));
        drop(earlier);
        spawn("between");
        let _later = FlightRecorder::start(runtime.handle());
        spawn("later");
        // One more changes nothing.
        let _third = FlightRecorder::start(runtime.handle());
        spawn("last");
        let json = inspect::recorded(runtime.handle()).unwrap().to_json();
        check(&json);
        for (name, is_there) in [("earlier", false), ("between", false), ("later", true), ("last", true)] {
            assert_eq!(json.contains(&format!("\"{name}\"")), is_there, "{name}");
        }
        shut_down(runtime);
    });
}

#[test]
fn names_are_forgotten_when_nobody_records_any_more_and_known_again_to_the_next() {
    guarded(|| {
        let runtime = background(1);
        let (sender, receiver) = chan::bounded::<()>(1);
        let (answer, answers) = chan::bounded::<()>(1);
        let echo = runtime.handle().builder().name("echo").spawn(move || {
            while receiver.recv().is_ok() {
                answer.send(()).unwrap();
            }
        });
        for _ in 0..rounds(100) {
            let recorder = FlightRecorder::start(runtime.handle());
            // The worker hears of a recorder when it next looks around.
            until(|| {
                sender.send(()).unwrap();
                answers.recv().unwrap();
                !check(&recorder.snapshot().to_json()).turns_of("echo").is_empty()
            });
        }
        drop(sender);
        echo.join().unwrap();
        shut_down(runtime);
    });
}
