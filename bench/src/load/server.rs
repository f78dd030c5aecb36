//! The server: a child process that says where it listens and what it has spent.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::launch::Launch;
use crate::sample::{Absent, parse};

/// A server that listens. It ends with this.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    /// Taken when the server is to end.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    address: SocketAddr,
}

/// How a server has started.
#[derive(Debug)]
pub(super) enum Start {
    /// It is there.
    Listening(Server),
    /// It has no part in the case.
    Absent(Absent),
}

/// What a server has spent since its start, or between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spent {
    /// CPU time of all its threads.
    pub(super) cpu: Duration,
    /// Pieces of CPU-bound work.
    pub(super) pieces: u64,
}

impl Server {
    /// Starts it, and waits until it listens. What it complains of goes to standard error.
    pub(super) fn start(launch: &Launch) -> io::Result<Start> {
        let mut command = Command::new(&launch.program);
        let mut process =
            command.args(&launch.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
                io::Error::new(error.kind(), format!("{} cannot be started: {error}", launch.program.display()))
            })?;
        let questions = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let line = next_line(&mut answers)?;
        if let Some(Err(absent)) = parse(&line) {
            process.wait()?;
            return Ok(Start::Absent(absent));
        }
        let port = line.strip_prefix("port ").and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| io::Error::other(format!("the server names no port: {line:?}")))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Start::Listening(Self { process, questions, answers, address }))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has spent so far.
    pub(super) fn spent(&mut self) -> io::Result<Spent> {
        self.questions.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(b"spent\n")?;
        let line = next_line(&mut self.answers)?;
        Spent::parse(&line).ok_or_else(|| io::Error::other(format!("the server does not say what it spent: {line:?}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.questions.take());
        // Whatever came of it: the figures are taken.
        let _ = self.process.wait();
    }
}

impl Spent {
    fn parse(line: &str) -> Option<Self> {
        let (cpu, pieces) = line.strip_prefix("spent cpu=")?.split_once(" pieces=")?;
        Some(Self { cpu: Duration::from_nanos(cpu.parse().ok()?), pieces: pieces.parse().ok()? })
    }

    /// From then to now.
    pub(super) fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu - before.cpu, pieces: self.pieces - before.pieces }
    }
}

/// The next line, without its end.
fn next_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match from.read_line(&mut line)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server has ended")),
        _ => Ok(line.trim_end().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripted(script: &str) -> io::Result<Start> {
        Server::start(&Launch { program: "/bin/sh".into(), arguments: vec!["-c".to_owned(), script.to_owned()] })
    }

    #[test]
    fn a_server_says_where_it_is_and_what_it_spends() {
        let start = scripted("echo port 4711; while read line; do echo spent cpu=1500 pieces=3; done").unwrap();
        let Start::Listening(mut server) = start else { panic!("{start:?}") };
        assert_eq!(server.address().port(), 4711);
        assert_eq!(server.spent().unwrap(), Spent { cpu: Duration::from_nanos(1_500), pieces: 3 });
    }

    #[test]
    fn a_server_may_be_absent() {
        let Ok(Start::Absent(absent)) = scripted("echo absent no sockets") else { panic!() };
        assert_eq!(absent.reason, "no sockets");
    }

    #[test]
    fn a_server_that_ends_or_talks_nonsense_is_an_error() {
        assert_eq!(scripted("exit 1").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(scripted("echo port x").unwrap_err().to_string().contains("port x"));
        assert!(Spent::parse("spent cpu=1").is_none());
    }
}
