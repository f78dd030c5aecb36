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
    /// Whether it is asked about such work at all, or left out without a word.
    pub concerns: fn(&Work) -> bool,
    /// Does a piece of work.
    pub run: fn(Work) -> Outcome,
}

impl Peer {
    /// One that has an answer to every kind of work.
    const fn runtime(name: &'static str, run: fn(Work) -> Outcome) -> Self {
        Self { name, concerns: |_| true, run }
    }

    /// One that has channels and nothing else.
    const fn channels(name: &'static str, run: fn(Work) -> Outcome) -> Self {
        Self { name, concerns: Work::is_of_channels, run }
    }
}

/// All of them.
pub static PEERS: &[Peer] = &[
    Peer::runtime("sisal", sisal::run),
    Peer { name: "sisal-recv", concerns: |work| matches!(work, Work::SelectOne(_)), run: sisal::run_plain },
    Peer::runtime("tokio", tokio::run),
    Peer::channels("tokio+kanal", tokio_kanal::run),
    Peer { name: "tokio+rayon", concerns: |work| matches!(work, Work::EchoUnderCpu(_)), run: tokio_rayon::run },
    Peer::runtime("smol", smol::run),
    Peer::channels("smol+flume", smol_flume::run),
    Peer::runtime("may", may::run),
    Peer::runtime("rayon", rayon::run),
    Peer { name: "chili", concerns: Work::is_of_forks, run: chili::run },
    Peer { name: "serial", concerns: Work::is_serial, run: serial::run },
    Peer { name: "epoll", concerns: |work| matches!(work, Work::Echo(_)), run: epoll::run },
    Peer { name: "pigz", concerns: |work| matches!(work, Work::Gz(_)), run: gz::pigz },
    Peer { name: "gzip", concerns: |work| matches!(work, Work::Gz(_)), run: gz::gzip },
    Peer::runtime("threads", threads::run),
    Peer { name: "threads+kanal", concerns: |work| matches!(work, Work::PingPongCross(_)), run: threads_kanal::run },
    Peer::channels("threads+crossbeam", threads_crossbeam::run),
];

/// The contestant of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// No part in this work.
fn absent(reason: &str) -> Outcome {
    Err(Absent::new(reason))
}
