//! Programs that run to their end.

use crate::child::dies_with_this_thread;
use crate::program::Program;
use rustix::process::Signal;
use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

/// A call of a program.
#[derive(Debug)]
pub struct Run {
    command: Command,
    input: Vec<u8>,
}

/// How it ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: String,
}

impl Program {
    /// A call of it with these arguments.
    pub fn with<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Run {
        let mut command = self.command();
        command.args(arguments);
        Run { command, input: Vec::new() }
    }
}

impl Run {
    /// What it is to find at its standard input.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Run {
        self.input = input.into();
        self
    }

    /// Runs it. This blocks the thread: our side of the matter is to run in a background runtime.
    pub fn end(mut self) -> Ended {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        dies_with_this_thread(&mut self.command, Signal::KILL);
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Beside it: a program may answer before it has read all.
        let writer = thread::spawn(move || stdin.write_all(&self.input));
        let output = child.wait_with_output().unwrap();
        let written = writer.join().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            written.unwrap();
        }
        Ended { status: output.status, stdout: output.stdout, stderr }
    }

    /// Runs it and checks that it ended well; what it wrote to its standard output.
    #[track_caller]
    pub fn output(self) -> Vec<u8> {
        let ended = self.end();
        assert!(ended.status.success(), "{ended:#?}, which said {}", String::from_utf8_lossy(&ended.stdout));
        ended.stdout
    }

    /// The same as text.
    #[track_caller]
    pub fn text(self) -> String {
        String::from_utf8(self.output()).unwrap()
    }
}
