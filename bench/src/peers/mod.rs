//! The contestants that are Rust libraries. Each file answers for every kind of work: it runs it, or
//! says why it cannot.
//!
//! A runtime once started is never dropped: the process measures one thing and ends.

mod may;
mod rayon;
mod sisal;
mod smol;
mod threads;
mod tokio;

use std::time::Duration;

use crate::sample::{Absent, Outcome};
use crate::work::Work;

/// Parked until the process ends: longer than any run.
const FOR_GOOD: Duration = Duration::from_secs(3_600);

/// A contestant.
#[derive(Debug)]
pub struct Peer {
    /// As it is called in tables and on the command line.
    pub name: &'static str,
    /// Does a piece of work.
    pub run: fn(Work) -> Outcome,
}

/// All of them.
pub static PEERS: &[Peer] = &[
    Peer { name: "sisal", run: sisal::run },
    Peer { name: "tokio", run: tokio::run },
    Peer { name: "smol", run: smol::run },
    Peer { name: "may", run: may::run },
    Peer { name: "rayon", run: rayon::run },
    Peer { name: "threads", run: threads::run },
];

/// The contestant of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// No part in this work.
fn absent(reason: &str) -> Outcome {
    Err(Absent::new(reason))
}
