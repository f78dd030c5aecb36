//! Snapshots and traces as a shop's busy server would give them, made up.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A fiber of the story.
#[derive(Clone)]
pub(crate) struct Fiber {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    state: &'static str,
    reason: Option<&'static str>,
    object: Option<u64>,
    place: &'static str,
    since_ns: u64,
}

impl Fiber {
    /// One that waits, for some seconds.
    pub(crate) fn parked(id: u64, reason: &'static str, object: Option<u64>, place: &'static str) -> Fiber {
        let since_ns = 400_000_000 + id * 37_000_000;
        Fiber { id, name: None, state: "parked", reason: Some(reason), object, place, since_ns }
    }

    fn ready(id: u64, reason: &'static str, place: &'static str) -> Fiber {
        Fiber { state: "ready", since_ns: 90_000, ..Fiber::parked(id, reason, None, place) }
    }

    fn running(id: u64) -> Fiber {
        Fiber { id, name: None, state: "running", reason: None, object: None, place: "", since_ns: 1_300_000 }
    }

    pub(crate) fn named(self, name: impl Into<String>) -> Fiber {
        Fiber { name: Some(name.into()), ..self }
    }

    pub(crate) fn since(self, seconds: u64) -> Fiber {
        Fiber { since_ns: seconds * 1_000_000_000, ..self }
    }

    fn to_json(&self) -> Value {
        let is_running = self.state == "running";
        json!({
            "id": self.id, "name": self.name, "state": self.state, "worker": self.id % 4,
            "reason": self.reason, "object": self.object, "place": (!is_running).then_some(self.place), "since_ns": self.since_ns,
            "spawned_at": "src/main.rs:41:17", "spawned_by": 1, "stack_size": 196_608, "stack_used": 4096 + self.id % 7 * 3000, "nursery": null,
            "trace": [
                { "function": "sisal::park::park", "file": "crates/sisal/src/park/mod.rs", "line": 120, "address": "0x55d0c0de" },
                { "function": "sisal::chan::receiver::Receiver<T>::recv", "file": "crates/sisal/src/chan/receiver.rs", "line": 84, "address": "0x55d0c1de" },
                { "function": "shop::orders::handle", "file": "src/orders/handle.rs", "line": 57, "address": "0x55d0c2de" },
            ],
        })
    }
}

/// A snapshot.
pub(crate) struct Story {
    pub(crate) runtime: &'static str,
    pub(crate) fibers: Vec<Fiber>,
    tick: u64,
    /// Three fibers wait for each other.
    deadlock: bool,
    /// Worker 2 is stuck.
    pub(crate) stuck: bool,
}

const QUEUE: u64 = 94_512_345;
const MAIL: u64 = 94_512_346;
const LEDGER: u64 = 94_520_011;
const STOCK: u64 = 94_520_002;
const PRICES: u64 = 94_520_003;
const ORDER: u64 = 94_520_001;

impl Story {
    /// A shop's server at work, with so many connections. `tick` makes it go on.
    pub(crate) fn shop(tick: u64, connections: u64) -> Story {
        let mut fibers = vec![
            Fiber::parked(1, "waiting for a nursery", Some(94_500_000), "src/main.rs:88:5")
                .named("main")
                .since(4211 + tick),
            Fiber::parked(2, "waiting for a socket", None, "src/server.rs:31:40").named("accept loop"),
            Fiber::parked(3, "asleep", None, "src/metrics.rs:12:9").named("metrics reporter"),
            Fiber::parked(4, "receiving from a channel", Some(MAIL), "src/mail.rs:19:30")
                .named("mailer")
                .since(75 + tick),
        ];
        let worker = |at: u64| {
            let fiber = Fiber::parked(10 + at, "receiving from a channel", Some(QUEUE), "src/orders/handle.rs:57:22");
            fiber.named(format!("order worker {at}"))
        };
        fibers.extend((0..8).map(worker));
        fibers.extend((0..connections).map(|at| connection(at, tick)));
        fibers.push(Fiber::running(9_000_002).named("render invoice"));
        Story { runtime: "shop", fibers, tick, deadlock: false, stuck: false }
    }

    /// The same, with three fibers that wait for each other.
    pub(crate) fn deadlocked(tick: u64, connections: u64) -> Story {
        let mut story = Story::shop(tick, connections);
        let stuck = [
            Fiber::parked(71, "locking a mutex", Some(STOCK), "src/orders/ledger.rs:131:34").named("book order 8841"),
            Fiber::parked(72, "locking a mutex", Some(PRICES), "src/stock/reserve.rs:58:29").named("reserve stock"),
            Fiber::parked(73, "joining a fiber", Some(ORDER), "src/prices/update.rs:77:41").named("update prices"),
        ];
        story.fibers.extend(stuck.map(|fiber| fiber.since(192)));
        story.deadlock = true;
        story
    }

    /// Only one fiber of it.
    pub(crate) fn only(&self, id: u64) -> Story {
        let fibers = self.fibers.iter().filter(|fiber| fiber.id == id).cloned().collect();
        Story { fibers, ..*self }
    }

    pub(crate) fn to_json(&self) -> Value {
        let count = |state: &str| self.fibers.iter().filter(|fiber| fiber.state == state).count();
        let mut waits = BTreeMap::<_, u64>::new();
        for fiber in self.fibers.iter().filter(|fiber| fiber.state == "parked") {
            *waits.entry(fiber.reason).or_default() += 1;
        }
        let waits: BTreeMap<_, _> = waits.into_iter().filter_map(|(reason, count)| Some((reason?, count))).collect();
        let spawned = 200_000 + self.tick * 211;
        let step =
            |fiber: u64, reason: &str, object: u64| json!({ "fiber": fiber, "reason": reason, "object": object });
        let cycle = [
            step(71, "locking a mutex", STOCK),
            step(72, "locking a mutex", PRICES),
            step(73, "joining a fiber", ORDER),
        ];
        json!({
            "version": 1, "runtime": self.runtime, "pid": 31337, "uptime_ns": (4215 + self.tick) * 1_000_000_000, "taken_ns": 152_000,
            "workers": self.workers(),
            "counts": {
                "live": self.fibers.len() + 3, "spawned": spawned, "finished": spawned - self.fibers.len() as u64,
                "running": count("running"), "ready": count("ready"), "parked": count("parked"), "fresh": 3,
            },
            "waits": waits,
            "fibers": self.fibers.iter().map(Fiber::to_json).collect::<Vec<_>>(),
            "fresh": [{ "spawned_at": "src/server.rs:35:9", "count": 3 }],
            "threads": [{ "name": "main", "reason": "waiting for a runtime", "object": null, "place": "src/main.rs:12:5", "since_ns": 4_215_000_000_000u64 }],
            "objects": self.objects(),
            "cycles": if self.deadlock { json!([cycle]) } else { json!([]) },
        })
    }

    fn workers(&self) -> [Value; 4] {
        let worker = |index: usize, state: &str, running: Option<u64>, queued: usize| {
            let homed = self.fibers.len() / 4;
            json!({ "index": index, "state": state, "added": false, "running": running, "homed": homed, "queued": queued })
        };
        let state = if self.stuck { "stuck" } else { "running" };
        [
            worker(0, "sleeping", None, 0),
            worker(1, "searching", None, 0),
            worker(2, state, Some(9_000_002), 0),
            worker(3, "sleeping", None, 3),
        ]
    }

    fn objects(&self) -> Vec<Value> {
        let waiting_for = |object: u64| {
            let ids = self.fibers.iter().filter(|fiber| fiber.object == Some(object)).map(|fiber| fiber.id);
            ids.collect::<Vec<_>>()
        };
        let channel = |id: u64, capacity: u64| {
            json!({ "id": id, "kind": "channel", "capacity": capacity, "length": 0, "closed": false, "owner": null,
                "waiting_to_send": [], "waiting_to_receive": waiting_for(id) })
        };
        let held = |id: u64, kind: &str, owner: u64| json!({ "id": id, "kind": kind, "owner": owner, "waiting": waiting_for(id) });
        let ended = |id: u64, fiber: u64| json!({ "id": id, "kind": "fiber", "owner": null, "fiber": fiber, "waiting": waiting_for(id) });
        let mut objects = vec![channel(QUEUE, 64), channel(MAIL, 8), held(LEDGER, "mutex", 10)];
        if self.deadlock {
            objects.extend([held(STOCK, "mutex", 72), held(PRICES, "mutex", 73), ended(ORDER, 71)]);
        }
        objects
    }
}

/// What the connection of this number does.
fn connection(at: u64, tick: u64) -> Fiber {
    let id = 100 + at;
    let fiber = match (at * 7 + tick * (at % 5)) % 23 {
        0 | 1 => Fiber::parked(id, "locking a mutex", Some(LEDGER), "src/orders/ledger.rs:102:27"),
        2..=4 => Fiber::parked(id, "asleep", None, "src/http/keepalive.rs:44:13"),
        5 => Fiber::parked(id, "waiting for a blocking call", None, "src/pictures.rs:71:20"),
        6 => Fiber::ready(id, "waiting for a socket", "src/http/read.rs:63:18"),
        _ => Fiber::parked(id, "waiting for a socket", None, "src/http/read.rs:63:18"),
    };
    fiber.named(format!("connection {}", 5000 + at))
}

/// A trace of a second: runs of fibers on so many workers, and who woke whom.
pub(crate) fn trace(workers: u64) -> Value {
    let mut events = Vec::new();
    let mut number = 1;
    for worker in 0..workers {
        let (pid, tid) = (31337, worker);
        events.push(json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": format!("worker {worker}") } }));
        let mut at = worker * 40;
        while at < 1_000_000 {
            number = (number * 1_103_515_245 + 12_345) % (1 << 31);
            let (long, idle, fiber) = (200 + number % 9000, number / 11 % 12_000, number / 7 % 8);
            let name = format!("order worker {fiber}");
            events
                .push(json!({ "ph": "X", "name": name, "cat": "fiber", "pid": pid, "tid": tid, "ts": at, "dur": long,
                "args": { "fiber": 10 + fiber, "then": "receiving from a channel" } }));
            at += long;
            let name = if idle % 2 == 0 { "asleep" } else { "scheduler" };
            events.push(
                json!({ "ph": "X", "name": name, "cat": "worker", "pid": pid, "tid": tid, "ts": at, "dur": idle }),
            );
            events.push(
                json!({ "ph": "s", "name": "wake", "cat": "wake", "id": number, "pid": pid, "tid": tid, "ts": at }),
            );
            at += idle;
            let other = (worker + 1) % workers;
            events.push(json!({ "ph": "f", "bp": "e", "name": "wake", "cat": "wake", "id": number, "pid": pid, "tid": other, "ts": at }));
        }
    }
    json!({ "traceEvents": events })
}
