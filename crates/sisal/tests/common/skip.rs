//! What can't be tested on this machine: it is said, and counted.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that `.ci/run` counts the skips by, a line for each.
const SKIPS: &str = "SISAL_SKIPS";

/// Says that a test is skipped, past the test harness, which would show it only for tests that fail.
pub(crate) fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {reason} ({test})\n");
    std::io::stderr().lock().write_all(line.as_bytes()).unwrap();
    if let Some(path) = std::env::var_os(SKIPS) {
        // One write to a file that is appended to: the tests run side by side.
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
    }
}
