//! sisal and its peers side by side, in one run.
//!
//! The parent process ([`harness`]) starts every contestant of a case in a process of its own
//! ([`launch`]), round after round, so that no contestant inherits another's heap, page tables or
//! threads, and a noisy moment of the machine falls on all of them alike. A child runs one contestant
//! once ([`child`]) and prints one line, its [`sample`]; the parent takes medians ([`stats`]) and
//! prints a table or JSON ([`report`]).
//!
//! | module | owns |
//! |---|---|
//! | [`cli`] | the command line and its help |
//! | [`cases`] | the tables of cases: names, units, sizes, what the ratio is taken of |
//! | [`work`] | the kinds of work, and how each is clocked, the same for every Rust contestant |
//! | [`peers`] | one file or directory per contestant: that work in its own terms |
//! | [`load`] | the client's side of cases whose contestants are servers |
//! | [`companions`] | the Go program and the mimalloc twin of this binary, built when a case asks |
//! | [`measure`] | CPU time, resident memory, page tables |
//!
//! To add a case: a row in a table of [`cases`]; if no kind of [`work::Work`] fits, a new one, which the
//! compiler then asks every contestant about, and its like in `go/`.

pub mod cases;
pub mod child;
pub mod cli;
pub mod companions;
pub mod harness;
pub mod launch;
pub mod load;
pub mod measure;
pub mod peers;
pub mod report;
pub mod sample;
pub mod stats;
pub mod work;

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;

use cli::Command;

/// The name of the program, as messages show it.
const PROGRAM: &str = "sisal-bench";
/// Exit code for a command line that cannot be understood.
const USAGE_ERROR: u8 = 2;

/// The program under the system's allocator: parent and child.
pub fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", cli::help());
            ExitCode::SUCCESS
        }
        Ok(Command::List) => {
            print!("{}", cli::list());
            ExitCode::SUCCESS
        }
        Ok(Command::Child(one)) => child::run(one),
        Ok(Command::Load(order)) => load::run(&order),
        Ok(Command::Run(plan)) => harness::run(&plan),
        Err(error) => usage_error(&error),
    }
}

/// The program under another allocator: a child and nothing else, since the rows a parent prints
/// without naming an allocator are the system's.
pub fn child_main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Command::Child(one)) => child::run(one),
        Ok(_) => usage_error("this binary only runs --child; start sisal-bench instead"),
        Err(error) => usage_error(&error),
    }
}

/// Says what was wrong with the command line.
fn usage_error(error: &str) -> ExitCode {
    eprintln!("{PROGRAM}: {error}");
    ExitCode::from(USAGE_ERROR)
}

/// Tells someone who waits at a terminal how far it is; a log is spared.
fn progress(message: &str) {
    if stderr().is_terminal() {
        eprintln!("{message}");
    }
}
