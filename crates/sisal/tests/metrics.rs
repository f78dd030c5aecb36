//! What `inspect::metrics` tells, in situations where it is known what it has to be.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{LONG, background, child, fixed, rounds, shut_down, until, watched, with_workers};
use prometheus_parse::{Scrape, Value};
use sisal::inspect::Metrics;
use sisal::{Runtime, inspect, join_all, spawn, spawn_local, yield_now};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const RECEIVING: &str = "receiving from a channel";
const ASLEEP: &str = "asleep";
const BLOCKING: &str = "waiting for a call that blocks";

/// Waits until the runtime is as it is to be.
fn until_seen(runtime: &Runtime, is_so: impl Fn(&Metrics) -> bool) -> Metrics {
    loop {
        let metrics = runtime.metrics();
        if is_so(&metrics) {
            return metrics;
        }
        std::thread::yield_now();
    }
}

/// Fibers that wait, each for another thing, and how to end that.
struct Waiting {
    sender: sisal::chan::Sender<()>,
    receivers: Vec<sisal::JoinHandle<bool>>,
    sleepers: Vec<sisal::JoinHandle<bool>>,
}

impl Waiting {
    fn start(runtime: &Runtime, receivers: usize, sleepers: usize) -> Waiting {
        let (sender, receiver) = sisal::chan::bounded::<()>(1);
        let receive = |_| {
            let receiver = receiver.clone();
            runtime.spawn(move || receiver.recv().is_ok())
        };
        let receivers = (0..receivers).map(receive).collect();
        let sleepers = (0..sleepers).map(|_| runtime.spawn(|| sisal::sleep(LONG).is_ok())).collect();
        Waiting { sender, receivers, sleepers }
    }

    fn end(self) {
        drop(self.sender);
        self.sleepers.iter().for_each(sisal::JoinHandle::cancel);
        assert!(join_all(self.receivers.into_iter().chain(self.sleepers)).into_iter().all(|woken| !woken.unwrap()));
    }
}

#[test]
fn fibers_that_wait_are_counted_by_what_they_wait_for() {
    with_workers(|workers| {
        let runtime = background(workers);
        let waiting = Waiting::start(&runtime, 20, 7);
        let is_so =
            |metrics: &Metrics| metrics.parked.values().sum::<usize>() == 27 && metrics.workers.sleeping == workers;
        let metrics = until_seen(&runtime, is_so);
        assert_eq!(metrics.parked, [(RECEIVING, 20), (ASLEEP, 7)].into());
        assert_eq!((metrics.live, metrics.running, metrics.fresh, metrics.ready), (27, 0, 0, 0));
        assert_eq!(metrics.timers, 7);
        assert_eq!(metrics.parks - metrics.wakes, 27);
        waiting.end();
        let metrics = until_seen(&runtime, |metrics| metrics.live == 0 && metrics.workers.sleeping == workers);
        assert!(metrics.parked.is_empty());
        assert_eq!((metrics.timers, metrics.ready, metrics.fresh), (0, 0, 0));
        assert_eq!(metrics.parks, metrics.wakes);
        shut_down(runtime);
    });
}

#[test]
fn fibers_that_were_woken_and_have_not_run_yet_are_not_parked() {
    guarded(|| {
        fixed(1)
            .run(|| {
                let (sender, receiver) = sisal::chan::bounded::<()>(1);
                let receive = |_| {
                    let receiver = receiver.clone();
                    spawn_local(move || receiver.recv().is_ok())
                };
                let receivers: Vec<_> = (0..20).map(receive).collect();
                let parked = || inspect::metrics().unwrap().parked.get(RECEIVING).copied().unwrap_or(0);
                while parked() < 20 {
                    yield_now();
                }
                // The only worker is ours: nobody it wakes runs before we give way.
                drop(sender);
                assert_eq!(parked(), 0);
                let counts = inspect::snapshot().unwrap().counts;
                assert_eq!((counts.parked, counts.ready), (0, 20));
                join_all(receivers).into_iter().for_each(|woken| assert!(!woken.unwrap()));
            })
            .unwrap();
    });
}

#[test]
fn the_main_fiber_is_one_of_those_that_live() {
    guarded(|| {
        fixed(1)
            .run(|| {
                let metrics = inspect::metrics().unwrap();
                assert_eq!((metrics.live, metrics.running, metrics.spawned), (1, 1, 0));
                assert_eq!(metrics.fresh, 0);
                // A main fiber that was kept from its processor for long gives way in the spawn, and then the child has ended.
                let (child, metrics) = loop {
                    let child = spawn(|| inspect::metrics().unwrap());
                    let metrics = inspect::metrics().unwrap();
                    if !child.is_finished() {
                        break (child, metrics);
                    }
                };
                assert_eq!((metrics.live, metrics.fresh, metrics.runnable()), (2, 1, 1));
                let metrics = child.join().unwrap();
                assert_eq!((metrics.live, metrics.running, metrics.fresh), (2, 1, 0));
                assert_eq!(metrics.parked, [("joining a fiber", 1)].into());
            })
            .unwrap();
        assert!(inspect::metrics().is_none());
    });
}

#[test]
fn spawns_and_ends_are_counted_exactly() {
    with_workers(|workers| {
        let runtime = background(workers);
        let fibers = (0..300).map(|number| {
            runtime.spawn(move || {
                yield_now();
                if number % 3 == 0 {
                    std::panic::panic_any(())
                }
            })
        });
        let ended = join_all(fibers.collect::<Vec<_>>());
        assert_eq!(ended.iter().filter(|ended| ended.is_err()).count(), 100);
        let metrics = until_seen(&runtime, |metrics| metrics.finished == 300);
        assert_eq!((metrics.spawned, metrics.finished, metrics.panicked, metrics.cancelled), (300, 300, 100, 0));
        assert!(metrics.switches >= 300);
        shut_down(runtime);
    });
}

#[test]
fn fresh_and_ready_fibers_are_found_in_their_queues() {
    guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        let (begun, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let local = runtime.spawn(move || {
            let ready = spawn(yield_now);
            // It runs until it gives way, and is ready again.
            yield_now();
            let (other, local) = (spawn(|| ()), spawn_local(|| ()));
            begun.send(()).unwrap();
            // Holds its worker.
            may_end.recv().unwrap();
            join_all([ready, other, local]).into_iter().for_each(Result::unwrap);
        });
        has_begun.recv().unwrap();
        let outside: Vec<_> = (0..5).map(|_| runtime.spawn(|| ())).collect();
        // The worker can't answer, but these numbers are there to be seen.
        let metrics = runtime.metrics();
        assert_eq!((metrics.live, metrics.running), (1 + 3 + 5, 1), "{metrics}");
        assert_eq!((metrics.queues.injector, metrics.queues.workers[0].ring), (5, 1));
        assert_eq!((metrics.ready, metrics.fresh), (1, 7));
        assert_eq!(metrics.runnable(), 8);
        end.send(()).unwrap();
        local.join().unwrap();
        join_all(outside).into_iter().for_each(Result::unwrap);
        shut_down(runtime);
    });
}

#[test]
fn what_others_take_is_counted_as_stolen() {
    guarded(|| {
        let runtime = watched(fixed(2).build().unwrap());
        assert_eq!(runtime.metrics().steals, 0);
        runtime.run(|| {
            while inspect::metrics().unwrap().steals == 0 {
                let (first, second) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
                let meet = |mine: &Arc<AtomicBool>, other: &Arc<AtomicBool>| {
                    let (mine, other) = (Arc::clone(mine), Arc::clone(other));
                    // Ends only when the two run at the same time, on two workers, or one after the other gives up.
                    spawn(move || {
                        mine.store(true, Ordering::Relaxed);
                        (0..1_000_000).any(|_| other.load(Ordering::Relaxed))
                    })
                };
                join_all([meet(&first, &second), meet(&second, &first)]).into_iter().for_each(|met| _ = met.unwrap());
            }
        });
        shut_down(runtime);
    });
}

#[test]
fn calls_that_block_are_counted_with_their_threads() {
    guarded(|| {
        let runtime = watched(fixed(2).max_blocking_threads(1).build().unwrap());
        let gate = Gate::closed();
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let way = gate.way();
                runtime.spawn(move || sisal::blocking(|| way.pass().unwrap()))
            })
            .collect();
        let metrics = until_seen(&runtime, |metrics| metrics.blocking.queued == 2);
        assert_eq!((metrics.blocking.busy, metrics.blocking.idle), (1, 0));
        let metrics = until_seen(&runtime, |metrics| metrics.parked.get(BLOCKING) == Some(&3));
        assert_eq!(metrics.live, 3);
        gate.open();
        join_all(calls).into_iter().for_each(Result::unwrap);
        let metrics = until_seen(&runtime, |metrics| metrics.blocking.busy == 0);
        assert_eq!((metrics.blocking.idle, metrics.blocking.queued), (1, 0));
        shut_down(runtime);
    });
}

#[test]
fn the_waits_of_ready_fibers_are_timed_now_and_then() {
    with_workers(|workers| {
        let runtime = background(workers);
        assert_eq!(runtime.metrics().latency.count(), 0);
        let mut before = 0;
        for _ in 0..3 {
            // A fiber that finds nobody to give way to is not timed, so it may take a few rounds.
            while runtime.metrics().latency.count() == before {
                let yielding = |_| runtime.spawn(|| (0..1_000).for_each(|_| yield_now()));
                join_all((0..4 * workers).map(yielding).collect::<Vec<_>>()).into_iter().for_each(Result::unwrap);
            }
            let latency = runtime.metrics().latency;
            assert!(latency.sum > Duration::ZERO);
            assert!(latency.quantile(0.0) <= latency.quantile(1.0));
            before = latency.count();
        }
        // Much fewer than there were turns.
        let metrics = runtime.metrics();
        assert!(metrics.latency.count() <= metrics.switches / 64 + workers as u64, "{metrics}");
        shut_down(runtime);
    });
}

#[test]
fn waits_that_another_ends_are_timed_too() {
    guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        runtime.run(|| {
            let (ask, asked) = sisal::chan::bounded::<()>(0);
            let answering = spawn(move || while asked.recv().is_ok() {});
            while inspect::metrics().unwrap().latency.count() < 3 {
                (0..200).for_each(|_| ask.send(()).unwrap());
            }
            drop(ask);
            answering.join().unwrap();
        });
        shut_down(runtime);
    });
}

#[test]
fn descriptors_and_events_are_counted() {
    guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        let listener = sisal::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = runtime.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            byte[0]
        });
        let metrics = until_seen(&runtime, |metrics| metrics.io.descriptors == 1);
        assert_eq!(metrics.io.events, 0);
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let metrics = until_seen(&runtime, |metrics| metrics.io.descriptors == 2);
        assert!(metrics.io.events >= 1);
        stream.write_all(&[7]).unwrap();
        assert_eq!(server.join().unwrap(), 7);
        until_seen(&runtime, |metrics| metrics.io.descriptors == 0);
        shut_down(runtime);
    });
}

#[test]
fn stacks_in_use_are_part_of_what_is_mapped() {
    guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        let before = runtime.metrics().stacks;
        let waiting = Waiting::start(&runtime, 100, 0);
        let stacks = until_seen(&runtime, |metrics| metrics.parked.get(RECEIVING) == Some(&100)).stacks;
        assert!(stacks.in_use >= before.in_use.max(100));
        assert!(stacks.in_use_bytes >= 100 * (192 << 10), "{stacks:?}");
        assert!(stacks.in_use_bytes <= stacks.mapped_bytes, "{stacks:?}");
        waiting.end();
        let grown = runtime.run(|| sisal::stack::grow(1 << 20, || inspect::metrics().unwrap().stacks));
        assert!(grown.in_use_bytes >= 1 << 20);
        shut_down(runtime);
    });
}

#[test]
fn workers_are_counted_by_kind() {
    guarded(|| {
        let runtime = watched(Runtime::builder().workers(1).max_workers(3).build().unwrap());
        let gate = Gate::closed();
        let way = gate.way();
        let holding =
            runtime.spawn(move || sisal::block_in_place(|| std::thread::scope(|s| s.spawn(|| way.pass()).join())));
        until_seen(&runtime, |metrics| metrics.running == 1);
        let other = runtime.spawn(|| inspect::metrics().unwrap());
        let metrics = other.join().unwrap();
        assert_eq!((metrics.workers.base, metrics.workers.total), (1, 1 + metrics.workers.added));
        assert!(metrics.workers.added >= 1, "{metrics}");
        let switches = metrics.switches;
        gate.open();
        holding.join().unwrap().unwrap().unwrap();
        let metrics = until_seen(&runtime, |metrics| metrics.workers.total == 1);
        assert!(metrics.switches >= switches, "what workers have done stays when they go");
        shut_down(runtime);
    });
}

#[test]
fn anybody_may_ask_at_any_time() {
    with_workers(|workers| {
        let runtime = background(workers);
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = |_| {
            let asked = Arc::clone(&asked);
            runtime.spawn(move || {
                for _ in 0..rounds(100) {
                    let metrics = inspect::metrics().unwrap();
                    assert!(metrics.live >= 1 && metrics.spawned >= metrics.finished);
                    asked.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            })
        };
        let fibers: Vec<_> = (0..4).map(ask).collect();
        until(|| {
            let metrics = runtime.metrics();
            assert!(metrics.spawned >= metrics.finished);
            asked.load(Ordering::Relaxed) == 4 * rounds(100)
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
        shut_down(runtime);
    });
}

/// The one number of a name in the text for Prometheus.
fn only(scrape: &Scrape, name: &str) -> Value {
    let found: Vec<_> = scrape.samples.iter().filter(|sample| sample.metric == name).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].value.clone()
}

#[test]
fn a_parser_reads_from_the_text_for_prometheus_what_was_meant() {
    guarded(|| {
        let runtime = watched(fixed(2).name("crunch").build().unwrap());
        let waiting = Waiting::start(&runtime, 3, 2);
        runtime.run(|| {
            let yielding = (0..8).map(|_| spawn(|| (0..500).for_each(|_| yield_now())));
            join_all(yielding.collect::<Vec<_>>()).into_iter().for_each(Result::unwrap);
        });
        let metrics = until_seen(&runtime, |metrics| metrics.live == 5 && metrics.parked.values().sum::<usize>() == 5);
        let text = metrics.to_prometheus();
        let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap();
        assert_eq!(only(&scrape, "sisal_fibers_spawned_total"), Value::Counter(metrics.spawned as f64));
        assert_eq!(only(&scrape, "sisal_fibers_live"), Value::Gauge(5.0));
        assert_eq!(only(&scrape, "sisal_timers"), Value::Gauge(2.0));
        let parked = scrape.samples.iter().filter(|sample| sample.metric == "sisal_fibers_parked");
        let parked: Vec<_> =
            parked.map(|sample| (sample.labels.get("reason").unwrap(), sample.value.clone())).collect();
        assert_eq!(parked, [(ASLEEP, Value::Gauge(2.0)), (RECEIVING, Value::Gauge(3.0))]);
        let Value::Histogram(buckets) = only(&scrape, "sisal_run_queue_latency_seconds") else { panic!("{text}") };
        assert!(buckets.is_sorted_by(|a, b| a.less_than < b.less_than && a.count <= b.count), "{buckets:?}");
        assert_eq!(buckets.last().unwrap().count, metrics.latency.count() as f64);
        assert_eq!(buckets.last().unwrap().less_than, f64::INFINITY);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.contains("{runtime=\"crunch\""), "{line}");
        }
        waiting.end();
        shut_down(runtime);
    });
}

#[test]
fn the_json_holds_the_same_numbers() {
    guarded(|| {
        let runtime = watched(fixed(2).name("a \"name\"\n").build().unwrap());
        let waiting = Waiting::start(&runtime, 3, 0);
        let metrics = until_seen(&runtime, |metrics| metrics.parked.get(RECEIVING) == Some(&3));
        let json: serde_json::Value = serde_json::from_str(&metrics.to_json()).unwrap();
        assert_eq!(json["runtime"], "a \"name\"\n");
        assert_eq!(json["parked"], serde_json::json!({ RECEIVING: 3 }));
        assert_eq!((&json["live"], &json["workers"]["base"]), (&3.into(), &2.into()));
        assert_eq!(json["switches"], metrics.switches);
        assert_eq!(json["queues"]["workers"].as_array().unwrap().len(), 2);
        assert_eq!(json["latency"]["ranges"].as_array().unwrap().last().unwrap()["up_to_ns"], serde_json::Value::Null);
        waiting.end();
        shut_down(runtime);
    });
}

#[test]
fn a_runtime_that_is_asked_to_says_at_its_end_what_it_has_done() {
    let ended = child::run_in(&[("SISAL_STATS", "1")], || {
        sisal::run(|| spawn(yield_now).join().unwrap());
    });
    ended.well().saying("sisal: 1 fibers spawned, 1 ended").saying(" turns, ").saying(" steals, ");
}

#[test]
fn people_can_read_it() {
    guarded(|| {
        let runtime = watched(fixed(2).build().unwrap());
        let waiting = Waiting::start(&runtime, 3, 0);
        let text = until_seen(&runtime, |metrics| metrics.parked.get(RECEIVING) == Some(&3)).to_string();
        assert!(text.contains("3 live: 0 running, 0 fresh, 0 ready, 3 waiting"), "{text}");
        assert!(text.contains("\n         3 receiving from a channel\n"), "{text}");
        assert!(!text.ends_with('\n'));
        waiting.end();
        shut_down(runtime);
    });
}

#[test]
fn a_runtime_that_has_ended_still_tells_what_it_has_done() {
    guarded(|| {
        let runtime = background(2);
        let handle = runtime.handle().clone();
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.run(|| spawn(|| ()).join().unwrap())));
        ended.unwrap();
        shut_down(runtime);
        let metrics = handle.metrics();
        assert_eq!((metrics.spawned, metrics.finished, metrics.live, metrics.workers.total), (2, 2, 0, 0));
        assert_eq!((metrics.running, metrics.fresh, metrics.ready, metrics.timers), (0, 0, 0, 0));
    });
}
