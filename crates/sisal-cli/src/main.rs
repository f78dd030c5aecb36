//! The program `sisal`: tools built on the fibers of the `sisal` crate.
//!
//! - [`gz`]: a parallel gzip and gunzip.

mod gz;

use clap::{Parser, Subcommand};
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
}

fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { tool: Tool::Gz(arguments) }) => gz::main(*arguments),
        Err(error) => {
            // If even that can't be said, there is nobody to tell.
            let _ = error.print();
            // Not clap's 2, which says "warning" in the language of gzip.
            ExitCode::from(u8::from(error.use_stderr()))
        }
    }
}
