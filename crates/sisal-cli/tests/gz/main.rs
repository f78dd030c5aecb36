//! What users of `sisal gz` see: the program is run, beside gzip, pigz and Python where they are.

mod defects;
mod files;
mod interrupted;
mod like_gzip;
mod memory;
mod process;
#[path = "../common/program.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod program;
mod round_trips;
mod samples;
mod streams;
mod terminals;
