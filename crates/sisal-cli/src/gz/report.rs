//! Messages, in gzip's words, and the exit code that comes of them.

use super::{PROGRAM, verbatim};
use std::fmt::Display;
use std::io::{Write, stderr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const FINE: u8 = 0;
const ERROR: u8 = 1;
const WARNING: u8 = 2;

/// What was said so far, as far as it matters for the exit code: an error counts more than a warning.
#[derive(Debug)]
pub(super) struct Report {
    quiet: bool,
    code: AtomicU8,
    is_over: AtomicBool,
}

impl Report {
    pub(super) fn new(quiet: bool) -> Report {
        Report { quiet, code: AtomicU8::new(FINE), is_over: AtomicBool::new(false) }
    }

    /// Something was not done, or not done as it was asked for, and the data is safe. Not printed if warnings are unwanted.
    pub(super) fn warning(&self, message: impl Display) {
        self.note_warning();
        self.notice(message);
    }

    /// Something was not done since there was no need to. Not printed if warnings are unwanted, and no reason to end otherwise.
    pub(super) fn notice(&self, message: impl Display) {
        if !self.quiet {
            say(format_args!("{PROGRAM}: {message}\n"));
        }
    }

    /// A warning that has been printed otherwise.
    pub(super) fn note_warning(&self) {
        let _ = self.code.compare_exchange(FINE, WARNING, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Something could not be done.
    pub(super) fn error(&self, message: impl Display) {
        self.code.store(ERROR, Ordering::Relaxed);
        say(format_args!("{PROGRAM}: {message}\n"));
    }

    /// Something could not be done, and so could not all that is still to do.
    pub(super) fn fatal_error(&self, message: impl Display) {
        self.is_over.store(true, Ordering::Relaxed);
        self.error(message);
    }

    /// Whether there was such an error.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code.load(Ordering::Relaxed))
    }
}

/// Prints on standard error, in one piece.
pub(super) fn say(message: impl Display) {
    // If standard error is closed, nobody wants to know.
    let _ = stderr().write_all(&verbatim::bytes(&message.to_string()));
}
