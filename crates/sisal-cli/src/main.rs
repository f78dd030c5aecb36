//! The program `sisal`: tools built on the fibers of the `sisal` crate, and for programs that use it.
//!
//! - [`gz`]: a parallel gzip and gunzip.
//! - [`top`]: shows what the fibers of another process do; [`dump`] and [`trace`] print and record it. [`remote`]: how they ask it.
//! - [`inherited`], [`terminal`], [`wording`]: what all of them share.

mod dump;
mod gz;
mod inherited;
mod remote;
mod terminal;
mod top;
mod trace;
mod wording;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// What the command line says.
#[derive(Debug, Parser)]
#[command(name = "sisal", version, about = "Tools built on sisal, a stackful fiber runtime", args_override_self = true)]
struct CommandLine {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Compress or expand files, on all cores: a gzip
    Gz(Box<gz::Arguments>),
    /// Watch the fibers of a running program
    Top(top::Arguments),
    /// Print every fiber of a running program
    Dump(dump::Arguments),
    /// Record what a running program's workers do, for Perfetto
    Trace(trace::Arguments),
}

fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { tool }) => match tool {
            Tool::Gz(arguments) => gz::main(*arguments),
            Tool::Top(arguments) => top::main(arguments),
            Tool::Dump(arguments) => dump::main(arguments),
            Tool::Trace(arguments) => trace::main(arguments),
        },
        Err(error) if error.use_stderr() => {
            // If even that can't be said, there is nobody to tell.
            let _ = error.print();
            ExitCode::from(usage_code())
        }
        Err(answer) => tell(&answer),
    }
}

/// Prints what was asked for: help, or a version.
fn tell(answer: &clap::Error) -> ExitCode {
    let told = inherited::check_stdout().and_then(|()| answer.print()).and_then(|()| std::io::stdout().flush());
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sisal: stdout: {}", wording::plain(&error));
            ExitCode::FAILURE
        }
    }
}

/// The exit code when the command line makes no sense: 2 says "warning" in the language of gzip.
fn usage_code() -> u8 {
    let asks = std::env::args_os().nth(1).is_some_and(|tool| tool == "top" || tool == "dump" || tool == "trace");
    if asks { 2 } else { 1 }
}
