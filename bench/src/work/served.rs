//! The server's side of a served case: the process that is loaded by another.
//!
//! The contestant listens on a free port of the loopback and ends its part with [`answer`], which prints
//! `port NUMBER`, answers every line on standard input with `spent cpu=NANOSECONDS pieces=NUMBER`, all
//! since the start, and ends the process when standard input does. The thread it runs on has no other part
//! in the work. The other side of this is [`load`](crate::load); the Go program does the same.

use std::io::{Write, stdin, stdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::spin::{MILLISECOND, spin};
use crate::measure::cpu_time;

/// What a connection of an echo server reads at a time, at most.
pub const BUFFER: usize = 1_024;
/// The body of every answer to a request by HTTP.
pub const HELLO: &str = "Hello, World!";

/// The pieces that are done.
static PIECES: AtomicU64 = AtomicU64::new(0);

/// Echo to that many connections at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The connections.
    pub connections: usize,
    /// For how long they are counted.
    pub span: Duration,
    /// CPU-bound jobs that run beside, in the same runtime.
    pub jobs: usize,
    /// Whether the server has a core to itself, and the client another.
    pub apart: bool,
    /// Worker threads.
    pub workers: usize,
}

impl Echo {
    /// As the command line of a contestant has them.
    pub(super) fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![("connections", self.connections), super::millis(self.span), ("jobs", self.jobs)]
    }
}

/// Answers to requests by HTTP, over that many connections at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http {
    /// The connections.
    pub connections: usize,
    /// For how long they are counted, in whole seconds.
    pub span: Duration,
    /// Worker threads.
    pub workers: usize,
}

/// How many parts a piece has when it is forked.
pub const PARTS: usize = 64;

/// One of so many parts of a piece, which takes about a millisecond.
pub fn part(parts: usize) {
    spin(1, MILLISECOND / parts);
}

/// All parts of a piece are done.
pub fn piece_done() {
    PIECES.fetch_add(1, Ordering::Relaxed);
}

/// Says where the server listens, and what it has spent whenever that is asked, until it is told to end.
pub fn answer(port: u16) -> ! {
    say(&format!("port {port}"));
    for _ in stdin().lines().map_while(Result::ok) {
        say(&format!("spent cpu={} pieces={}", cpu_time().as_nanos(), PIECES.load(Ordering::Relaxed)));
    }
    // Not by returning: the connections are of no more use.
    std::process::exit(0)
}

fn say(line: &str) {
    let mut out = stdout().lock();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.expect("standard output takes a line");
}
