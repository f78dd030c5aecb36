//! A child: one contestant, one case, once.

use std::io::{Write, stdout};
use std::process::ExitCode;

use crate::cli::One;

/// Runs the contestant and prints its line.
pub fn run(one: One) -> ExitCode {
    let line = match (one.peer.run)(one.case.work(one.quick)) {
        Ok(sample) => sample.to_string(),
        Err(absent) => absent.to_string(),
    };
    println!("{line}");
    stdout().flush().expect("standard output takes the sample");
    // Not by returning: there may be a million parked tasks that nobody needs to end.
    std::process::exit(0)
}
