//! The contestants that are Rust libraries. Each answers for every kind of work: it runs it, or says why
//! it cannot. A library of channels plays with a runtime's tasks or with threads, and has their name in
//! front of its own.
//!
//! A runtime once started is never dropped: the process measures one thing and ends.

mod chili;
mod epoll;
mod gz;
mod hyper;
mod may;
mod rayon;
mod serial;
mod sisal;
mod smol;
mod smol_flume;
mod threads;
mod threads_crossbeam;
mod threads_kanal;
mod tokio;
mod tokio_kanal;
mod tokio_rayon;

use std::time::Duration;

use crate::sample::{Absent, Outcome};
use crate::work::Work;

/// Parked until the process ends: longer than any run.
const FOR_GOOD: Duration = Duration::from_secs(3_600);

/// Why others have no part in a case of sisal alone.
const ONLY_SISAL: &str = "it is sisal beside itself";

/// Why others have no part where hyper is beside itself.
const NO_HYPER: &str = "hyper is not run on it here";

/// Why others have no part in CPU-bound work beside a server.
const NO_JOBS: &str = "it has no CPU-bound work of its own beside its tasks";

/// Why others have no part in compressing.
const NO_GZ: &str = "there is no program on it that compresses";

/// Why others have no part in forks.
const NO_FORKS: &str = "it has no forks: a task for each is what skynet is about";

/// Why others have no part in loops and sorts.
const NO_LOOPS: &str = "it has no loops that run on several workers";

/// A contestant.
#[derive(Debug)]
pub struct Peer {
    /// As it is called in tables and on the command line.
    pub name: &'static str,
    /// What it is asked about, if not about every kind of work.
    pub only: Option<Only>,
    /// Does a piece of work.
    pub run: fn(Work) -> Outcome,
}

/// The work that a contestant is there for.
#[derive(Clone, Copy, Debug)]
pub struct Only {
    /// Whether this is such work.
    pub of: fn(&Work) -> bool,
    /// Why it has no part in other work.
    pub reason: &'static str,
}

const SELECT_ONE: Only =
    Only { of: |work| matches!(work, Work::SelectOne(_)), reason: "it is there for the select of one channel alone" };
const CPU_BESIDE_SERVER: Only = Only {
    of: |work| matches!(work, Work::EchoUnderCpu(_)),
    reason: "it is there for CPU-bound work beside a server alone",
};
const CHANNELS: Only = Only { of: Work::is_of_channels, reason: "it has channels and nothing else" };
const FORKS: Only = Only { of: Work::is_of_forks, reason: "it has forks and nothing else" };
const SERIAL: Only = Only { of: Work::is_serial, reason: "it is one thread, without tasks" };
const ECHO: Only = Only { of: |work| matches!(work, Work::Echo(_)), reason: "it is an echo server and nothing else" };
const GZ: Only = Only { of: |work| matches!(work, Work::Gz(_)), reason: "it compresses and does nothing else" };
const ACROSS: Only = Only {
    of: |work| matches!(work, Work::PingPongCross(_)),
    reason: "it is there for ping-pong between two threads alone",
};

impl Peer {
    /// One that has an answer to every kind of work.
    const fn runtime(name: &'static str, run: fn(Work) -> Outcome) -> Self {
        Self { name, only: None, run }
    }

    const fn special(name: &'static str, only: Only, run: fn(Work) -> Outcome) -> Self {
        Self { name, only: Some(only), run }
    }

    /// Why it is not even asked about such work; none if it is.
    pub fn refusal(&self, work: &Work) -> Option<&'static str> {
        self.only.filter(|only| !(only.of)(work)).map(|only| only.reason)
    }
}

/// All of them.
pub static PEERS: &[Peer] = &[
    Peer::runtime("sisal", sisal::run),
    Peer::special("sisal-recv", SELECT_ONE, sisal::run_plain),
    Peer::runtime("tokio", tokio::run),
    Peer::special("tokio+kanal", CHANNELS, tokio_kanal::run),
    Peer::special("tokio+rayon", CPU_BESIDE_SERVER, tokio_rayon::run),
    Peer::runtime("smol", smol::run),
    Peer::special("smol+flume", CHANNELS, smol_flume::run),
    Peer::runtime("may", may::run),
    Peer::runtime("rayon", rayon::run),
    Peer::special("chili", FORKS, chili::run),
    Peer::special("serial", SERIAL, serial::run),
    Peer::special("epoll", ECHO, epoll::run),
    Peer::special("pigz", GZ, gz::pigz),
    Peer::special("gzip", GZ, gz::gzip),
    Peer::runtime("threads", threads::run),
    Peer::special("threads+kanal", ACROSS, threads_kanal::run),
    Peer::special("threads+crossbeam", CHANNELS, threads_crossbeam::run),
];

/// The contestant of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// No part in this work.
fn absent(reason: &str) -> Outcome {
    Err(Absent::new(reason))
}
