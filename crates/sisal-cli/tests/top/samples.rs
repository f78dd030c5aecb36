//! What processes say of themselves, as JSON.

use std::fmt::Write;

/// The number of fibers in the [crowd].
pub(crate) const CROWD: u64 = 20_000;

/// A small server that is all right.
pub(crate) fn small() -> String {
    let fibers = r#"
        {"id":1,"name":"main","state":"parked","worker":0,"reason":"joining a fiber","object":900,"place":"src/main.rs:30:9",
         "since_ns":61000000000,"spawned_at":"src/main.rs:3:1","spawned_by":null,"stack_size":196608,"stack_used":8192,
         "nursery":null,"trace":null},
        {"id":17,"name":"accept loop","state":"running","worker":0,"reason":null,"object":null,"place":null,
         "since_ns":1500000,"spawned_at":"src/main.rs:7:9","spawned_by":1,"stack_size":196608,"stack_used":4096,
         "nursery":700,"trace":null},
        {"id":18,"name":null,"state":"parked","worker":1,"reason":"receiving from a channel","object":901,
         "place":"src/deep/er/worker.rs:12:5","since_ns":5200000000,"spawned_at":"src/main.rs:9:9","spawned_by":17,
         "stack_size":196608,"stack_used":12288,"nursery":700,"trace":null},
        {"id":19,"name":"second","state":"parked","worker":1,"reason":"receiving from a channel","object":901,
         "place":"src/deep/er/worker.rs:12:5","since_ns":4000000000,"spawned_at":"src/main.rs:9:9","spawned_by":17,
         "stack_size":196608,"stack_used":4096,"nursery":700,"trace":null},
        {"id":20,"name":"about to go on","state":"ready","worker":1,"reason":"asleep","object":null,
         "place":"src/main.rs:40:5","since_ns":900,"spawned_at":"src/main.rs:9:9","spawned_by":17,
         "stack_size":196608,"stack_used":null,"nursery":null,"trace":null}"#;
    snapshot(fibers, SMALL_REST)
}

const SMALL_REST: &str = r#""waits":{"receiving from a channel":2,"joining a fiber":1},
    "fresh":[{"spawned_at":"src/main.rs:50:5","count":7}],
    "threads":[{"name":"outside","reason":"sending to a channel","object":901,"place":"src/out.rs:1:1","since_ns":10}],
    "objects":[
        {"id":901,"kind":"channel","capacity":8,"length":0,"closed":false,"owner":null,"waiting_to_send":[],"waiting_to_receive":[18,19],"waiting":[]},
        {"id":900,"kind":"fiber","fiber":17,"waiting":[1],"waiting_threads":0}],
    "cycles":[]"#;

/// One fiber of the small server, with its stack.
pub(crate) fn one(id: u64) -> String {
    let fiber = format!(
        r#"{{"id":{id},"name":null,"state":"parked","worker":1,"reason":"receiving from a channel","object":901,
         "place":"src/deep/er/worker.rs:12:5","since_ns":5200000000,"spawned_at":"src/main.rs:9:9","spawned_by":17,
         "stack_size":196608,"stack_used":12288,"nursery":700,
         "trace":[{{"function":"sisal::park::park","file":"park/mod.rs","line":7,"address":"0x5500"}},
                  {{"function":"app::worker::serve","file":"src/deep/er/worker.rs","line":12,"address":"0x5600"}},
                  {{"function":null,"file":null,"line":null,"address":"0x5700"}}]}}"#
    );
    snapshot(&fiber, SMALL_REST)
}

/// Two fibers that wait for each other's lock.
pub(crate) fn deadlock() -> String {
    let fiber = |id: u64, name: &str, object: u64| {
        format!(
            r#"{{"id":{id},"name":"{name}","state":"parked","worker":0,"reason":"locking a mutex","object":{object},
                "place":"src/locks.rs:{id}:1","since_ns":90000000000,"spawned_at":"src/locks.rs:1:1","spawned_by":1,
                "stack_size":65536,"stack_used":4096}}"#
        )
    };
    let fibers = format!("{},{}", fiber(3, "left", 501), fiber(4, "right", 502));
    let rest = r#""waits":{"locking a mutex":2},
        "objects":[{"id":501,"kind":"mutex","owner":4,"waiting":[3]},{"id":502,"kind":"mutex","owner":3,"waiting":[4]}],
        "cycles":[[{"fiber":3,"reason":"locking a mutex","object":501},{"fiber":4,"reason":"locking a mutex","object":502}]]"#;
    snapshot(&fibers, rest)
}

/// Very many fibers, with numbers that are not in order.
pub(crate) fn crowd() -> String {
    let mut fibers = String::new();
    for number in 0..CROWD {
        // Each once, since the factor has no common divisor with their number.
        let id = number * 7919 % CROWD + 1;
        let (worker, since, used) = (id % 64, id * 1_000_000, 4096 * (id % 40 + 1));
        let _ = write!(
            fibers,
            r#"{}{{"id":{id},"name":"client {id}","state":"parked","worker":{worker},"reason":"reading from a socket",
                "object":{id},"place":"src/serve.rs:{}:5","since_ns":{since},"spawned_at":"src/main.rs:9:9","spawned_by":1,
                "stack_size":196608,"stack_used":{used}}}"#,
            if number == 0 { "" } else { "," },
            id % 100
        );
    }
    let workers: Vec<_> = (0..64).map(worker).collect();
    with(&workers.join(","), &fibers, &format!(r#""waits":{{"reading from a socket":{CROWD}}}"#))
}

/// Names that would do something to a terminal, and such that are wider than they have characters.
pub(crate) fn hostile() -> String {
    let names = [
        r"\u001b[2J\u001b[31mred\u0007",
        r"line one\r\nline two\ttab",
        r"\u009b31mC1 \u0090q\u009c",
        r"\u202ebackwards\u202c \u200bnothing",
        "\u{4f60}\u{597d}\u{4e16}\u{754c}\u{4f60}\u{597d}\u{4e16}\u{754c}\u{4f60}\u{597d}\u{4e16}\u{754c}",
        "\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}\u{1f980}",
        "e\u{301}\u{302}\u{303}\u{304} combined",
        "",
        r"\ud83e\udd80\\\\\u0000",
    ];
    let fibers = names.iter().enumerate().map(|(number, name)| {
        let id = number + 1;
        format!(
            r#"{{"id":{id},"name":"{name}","state":"parked","worker":0,"reason":"{name}","object":{id},"place":"{name}",
                "since_ns":1,"spawned_at":"{name}","spawned_by":1,"stack_size":1,"stack_used":18446744073709551615,"nursery":1,
                "trace":[{{"function":"{name}","file":"{name}","line":1,"address":"{name}"}}]}}"#
        )
    });
    let fibers = fibers.collect::<Vec<_>>().join(",");
    let evil = names[0];
    let rest = format!(
        r#""waits":{{"{evil}":9}},"threads":[{{"name":"{evil}","reason":"{evil}","object":1,"place":"{evil}","since_ns":1}}],
        "fresh":[{{"spawned_at":"{evil}","count":3}}],"objects":[{{"id":1,"kind":"{evil}","waiting":[99]}}],
        "cycles":[[{{"fiber":1,"reason":"{evil}","object":1}}]]"#
    );
    let worker = format!(r#"{{"index":0,"state":"{evil}","running":1}}"#);
    with(&worker, &fibers, &rest).replace(r#""runtime":"sisal""#, &format!(r#""runtime":"{evil}""#))
}

/// A worker of the crowd.
fn worker(index: u64) -> String {
    format!(r#"{{"index":{index},"state":"sleeping","added":false,"running":null,"homed":312,"queued":0}}"#)
}

fn snapshot(fibers: &str, rest: &str) -> String {
    let workers = r#"{"index":0,"state":"running","added":false,"running":17,"homed":2,"queued":3},
        {"index":1,"state":"sleeping","added":true,"running":null,"homed":3,"queued":0}"#;
    with(workers, fibers, rest)
}

fn with(workers: &str, fibers: &str, rest: &str) -> String {
    format!(
        r#"{{"version":1,"runtime":"sisal","pid":4242,"uptime_ns":3725000000000,"taken_ns":5000,"something new":[1,{{}}],
        "workers":[{workers}],
        "counts":{{"live":12,"spawned":100,"finished":88,"running":1,"ready":1,"parked":3,"fresh":7}},
        "fibers":[{fibers}],
        {rest}}}"#
    )
}
