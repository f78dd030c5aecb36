//! A process that serves, asked as its user would: by its number and by its address, with nothing in between.

use crate::process::{Process, RUNS, WAITS, with_process};
use crate::terminal::has_it_back;
use crate::tmux::Tmux;
use crate::wait::until;
use serde_json::Value;

/// Why the fiber waits.
const REASON: &str = "receiving from a channel";

#[test]
fn a_process_that_serves_is_dumped() {
    with_process(|process| {
        for who in process.found_by() {
            until(|| {
                let text = String::from_utf8(process.sisal(&["dump", &who]).output()).unwrap();
                let is_told = text.lines().any(|line| line.contains(WAITS) && line.contains(REASON));
                if is_told { Ok(()) } else { Err(text) }
            });
            let json: Value = serde_json::from_slice(&process.sisal(&["dump", "--json", &who]).output()).unwrap();
            let fibers = json["fibers"].as_array().unwrap();
            let fiber = fibers.iter().find(|fiber| fiber["name"] == WAITS).unwrap();
            assert_eq!((&fiber["state"], &fiber["reason"]), (&"parked".into(), &REASON.into()));
            assert_eq!(json["pid"], process.number());
        }
    });
}

#[test]
fn a_process_that_serves_is_traced() {
    with_process(|process| {
        for (who, file) in process.found_by().iter().zip(["by number.json", "by address.json"]) {
            until(|| {
                let events = traced(process, who, file);
                let is_run = |event: &Value| event["ph"] == "X" && event["name"] == RUNS;
                if events.iter().any(is_run) { Ok(()) } else { Err(format!("no run of {RUNS} in {events:?}")) }
            });
        }
    });
}

/// The events of a trace that is written to this file.
fn traced(process: &Process, who: &str, file: &str) -> Vec<Value> {
    let ran = process.sisal(&["trace", who, "--seconds", "0.1", "-o", file]).run();
    assert!(ran.code == Some(0) && ran.stderr.contains(&format!("{file} is written")), "{ran:?}");
    let mut trace: Value = serde_json::from_slice(&process.read(file)).unwrap();
    let Value::Array(events) = trace["traceEvents"].take() else { panic!("no events: {trace}") };
    for event in &events {
        let is_whole = event["ph"].is_string() && event["name"].is_string() && event["ts"].is_number();
        assert!(is_whole && event["pid"] == process.number(), "{event}");
    }
    events
}

#[test]
fn a_process_that_serves_is_watched() {
    with_process(|process| {
        for who in process.found_by() {
            let Some(tmux) = Tmux::open(120, 24) else { return };
            tmux.run(&format!("{} sisal top -d 0.1 {who}; echo ended with $?", process.variable()));
            let is_row = |line: &str| [WAITS, "parked", REASON].iter().all(|text| line.contains(text));
            tmux.until("the fiber that waits", |screen| screen.lines().any(is_row));
            tmux.shows(&["sisal top: a served one  pid ", RUNS]);
            tmux.keys(&["q"]);
            has_it_back(&tmux, "0");
        }
    });
}
