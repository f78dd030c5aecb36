//! Servers under load.

use crate::Program;

/// Lets wrk put a server under load, and checks that every answer was good.
#[track_caller]
pub fn hammer(wrk: &Program, url: &str) {
    const LOAD: [&str; 6] = ["--threads", "1", "--connections", "100", "--duration", "1s"];
    // A stall of the whole machine is no error of the server.
    const PATIENCE: [&str; 2] = ["--timeout", "60s"];
    let report = wrk.with(LOAD.into_iter().chain(PATIENCE).chain([url])).text();
    assert!(!report.contains("Socket errors") && !report.contains("Non-2xx"), "{report}");
    let requests = report.lines().find_map(|line| line.trim().split_once(" requests in "));
    let requests: u64 = requests.and_then(|(count, _)| count.parse().ok()).expect("wrk counts its requests");
    assert!(requests > 100, "each connection had its turn: {report}");
}
