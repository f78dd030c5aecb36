//! What the tools run in: fibers of their own, on as few threads as they need.

use super::Failure;
use signal_hook::consts::SIGPIPE;
use signal_hook::low_level::emulate_default_handler;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::process::ExitCode;

/// One asks while the other shows.
const WORKERS: usize = 2;

/// Why a tool ended before it was done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There was no answer.
    Failure(Failure),
    /// Something else went wrong.
    Other(String),
    /// Whoever read the output reads no further.
    NobodyReads,
    /// A signal wants it.
    Signal(i32),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Failure(failure)
    }
}

/// Runs a tool as the main fiber, says what went wrong, and returns the exit code.
pub(crate) fn run(program: &str, tool: impl FnOnce() -> Result<(), Trouble>) -> ExitCode {
    // What the environment says is for the program that is looked at.
    let done = sisal::Runtime::builder().ignore_environment().name(program).workers(WORKERS).run(tool);
    let error = match done {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(Trouble::NobodyReads)) => {
            return end_by(SIGPIPE);
        }
        Ok(Err(Trouble::Signal(signal))) => {
            return end_by(signal);
        }
        Ok(Err(Trouble::Failure(failure))) => failure.to_string(),
        Ok(Err(Trouble::Other(reason))) => reason,
        Err(error) => error.to_string(),
    };
    say(program, error);
    ExitCode::FAILURE
}

/// Ends the process as if this signal had found no handler, so that whoever has started it sees what happened. If that can't be, the code
/// has to tell.
fn end_by(signal: i32) -> ExitCode {
    let _ = emulate_default_handler(signal);
    ExitCode::FAILURE
}

/// Prints a message on standard error, in one piece.
pub(crate) fn say(program: &str, message: impl Display) {
    // If standard error is closed, nobody wants to know.
    let _ = stderr().write_all(format!("{program}: {message}\n").as_bytes());
}
