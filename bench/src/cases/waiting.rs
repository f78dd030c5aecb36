//! Cases of tasks that wait for one another: at channels, in a select, for a lock.

use super::{Case, WORKERS};
use crate::work::{Fan, Flow, Locks, RoundTrips, Work};

/// What a channel holds where senders may run ahead.
const CAPACITY: usize = 128;
/// What a channel holds where sender and receiver meet.
const RENDEZVOUS: usize = 0;
/// may's channels have no bound: its senders never wait for room.
const UNBOUNDED: &[&str] = &["may"];

const fn ping_pong(trips: usize, workers: usize) -> Work {
    Work::PingPong(RoundTrips { trips, workers })
}

const fn ping_pong_cross(trips: usize) -> Work {
    Work::PingPongCross(RoundTrips { trips, workers: WORKERS })
}

const fn channel(each: usize, senders: usize, receivers: usize) -> Work {
    Work::Channel(Flow { each, capacity: CAPACITY, senders, receivers, workers: WORKERS })
}

const fn select(each: usize, capacity: usize) -> Work {
    Work::Select(Fan { each, capacity, workers: WORKERS })
}

const fn select_one(each: usize) -> Work {
    Work::SelectOne(Flow { each, capacity: CAPACITY, senders: 1, receivers: 1, workers: 1 })
}

const fn mutex(fibers: usize, locks: usize) -> Work {
    Work::Mutex(Locks { fibers, locks, workers: WORKERS })
}

/// The full size, then the quick one.
pub(super) static CASES: &[Case] = &[
    Case::new(
        "pingpong-1",
        "2 fibers hand a number back and forth over rendezvous channels, on 1 worker",
        "ns per round trip",
        [ping_pong(1_000_000, 1), ping_pong(200_000, 1)],
    ),
    Case::new(
        "pingpong-2",
        "the same on 2 workers, placed by the runtime",
        "ns per round trip",
        [ping_pong(500_000, WORKERS), ping_pong(100_000, WORKERS)],
    ),
    Case::new(
        "pingpong-cross",
        "the same, the fibers forced onto 2 threads",
        "ns per round trip",
        [ping_pong_cross(200_000), ping_pong_cross(50_000)],
    ),
    Case {
        references: UNBOUNDED,
        ..Case::new(
            "chan-1-1",
            "1 sender and 1 receiver at a channel that holds 128",
            "ns per item",
            [channel(4_000_000, 1, 1), channel(1_000_000, 1, 1)],
        )
    },
    Case {
        references: UNBOUNDED,
        ..Case::new(
            "chan-4-4",
            "4 senders and 4 receivers at a channel that holds 128",
            "ns per item",
            [channel(1_000_000, 4, 4), channel(250_000, 4, 4)],
        )
    },
    Case {
        references: UNBOUNDED,
        ..Case::new(
            "select-8",
            "1 fiber selects over 8 channels that hold 128, with a sender each",
            "ns per item",
            [select(250_000, CAPACITY), select(50_000, CAPACITY)],
        )
    },
    Case {
        references: UNBOUNDED,
        ..Case::new(
            "select-8-rv",
            "1 fiber selects over 8 rendezvous channels, with a sender each",
            "ns per item",
            [select(80_000, RENDEZVOUS), select(16_000, RENDEZVOUS)],
        )
    },
    Case::new(
        "select-1",
        "a select of one arm in place of a recv, on 1 worker; the ratio is to the plain recv",
        "ns per item",
        [select_one(4_000_000), select_one(1_000_000)],
    ),
    Case::new(
        "mutex",
        "1,000 fibers increment one number under one lock",
        "ns per lock",
        [mutex(1_000, 1_000), mutex(1_000, 200)],
    ),
];
