//! Cases of tasks that wait for the outside world: for sockets and files.
//!
//! A server is a process of its own, and so is what loads it: for the echo cases one fixed program of one
//! thread and an epoll, for HTTP `wrk`. On a machine of two cores the client takes a good part of both; it is
//! the same for everyone. CPU time is the server's alone.
//!
//! | case | what is asked of sisal, as the ratios have it |
//! |---|---|
//! | `echo-100` | at most 1.00, of CPU time 0.95, of p99 1.00 |
//! | `echo-1000` | at most 1.00, of CPU time 0.95, of p99.9 1.00 |
//! | `echo-100-1w` | at most 1.00 |
//! | `http` | at most 0.91: 1.1 times the rate of hyper on tokio |
//! | `http-hyper` | at most 1.00 |
//! | `echo-under-cpu` | at most 0.50 |
//! | `file-reads` | at most 0.50 |
//!
//! In `echo-under-cpu` the jobs of sisal are fork-join jobs, which let others have their turn between two forks; those of Go are
//! goroutines that never yield, which its runtime interrupts; tokio leaves such work to rayon, whose threads the kernel interrupts.

use std::time::Duration;

use super::{Better, Case, Judged, WORKERS};
use crate::work::{Echo, FileReads, Http, Work};

/// Latencies of requests.
const LATENCIES: &[(&str, &str)] = &[("p50", "p50 ms"), ("p99", "p99 ms"), ("p99.9", "p99.9 ms")];
/// The columns where p99 is the headline.
const BESIDE_JOBS: &[(&str, &str)] =
    &[("p50", "p50 ms"), ("p99.9", "p99.9 ms"), ("rate", "requests per s"), ("pieces", "ms of jobs per s")];

/// Two workers on any core.
const fn echo(connections: usize, seconds: u64) -> Echo {
    Echo { connections, span: Duration::from_secs(seconds), jobs: 0, apart: false, workers: WORKERS }
}

const fn apart(connections: usize, seconds: u64) -> Work {
    Work::Echo(Echo { apart: true, workers: 1, ..echo(connections, seconds) })
}

const fn under_cpu(connections: usize, seconds: u64) -> Work {
    Work::EchoUnderCpu(Echo { jobs: 2, ..echo(connections, seconds) })
}

const fn http(seconds: u64) -> Http {
    Http { connections: 100, span: Duration::from_secs(seconds), workers: WORKERS }
}

const fn file_reads(repeats: usize) -> Work {
    Work::FileReads(FileReads { files: 1_000, bytes: 64 << 10, repeats, workers: WORKERS })
}

/// A rate of requests.
const fn served(name: &'static str, about: &'static str, work: [Work; 2]) -> Case {
    Case { cpu_unit: "us per request", better: Better::Higher, ..Case::new(name, about, "requests per s", work) }
}

/// The full size, then the quick one.
pub(super) static CASES: &[Case] = &[
    Case {
        extras: LATENCIES,
        also: &[Judged::Cpu, Judged::Extra("p99")],
        ..served(
            "echo-100",
            "64 bytes there and back over each of 100 connections, again and again",
            [Work::Echo(echo(100, 3)), Work::Echo(echo(100, 1))],
        )
    },
    Case {
        extras: LATENCIES,
        also: &[Judged::Cpu, Judged::Extra("p99.9")],
        ..served(
            "echo-1000",
            "the same over 1,000 connections",
            [Work::Echo(echo(1_000, 3)), Work::Echo(echo(1_000, 1))],
        )
    },
    Case {
        extras: LATENCIES,
        also: &[Judged::Cpu, Judged::Extra("p99")],
        ..served(
            "echo-100-1w",
            "the same over 100, the server with 1 worker on its own core and the client on another",
            [apart(100, 3), apart(100, 1)],
        )
    },
    Case {
        cpu_unit: "us per request",
        extras: BESIDE_JOBS,
        ..Case::new(
            "echo-under-cpu",
            "the same over 100, beside 2 CPU-bound jobs in the same runtime; p99 of the latency",
            "ms",
            [under_cpu(100, 3), under_cpu(100, 1)],
        )
    },
    Case {
        extras: &[("p50", "p50 ms"), ("p99", "p99 ms")],
        also: &[Judged::Cpu],
        ..served(
            "http",
            "a short text by HTTP over 100 connections, loaded by wrk: sisal's `http` example, tokio with hyper",
            [Work::Http(http(3)), Work::Http(http(1))],
        )
    },
    Case {
        extras: &[("p50", "p50 ms"), ("p99", "p99 ms")],
        also: &[Judged::Cpu],
        ..served("http-hyper", "the same, hyper on each", [Work::HttpHyper(http(3)), Work::HttpHyper(http(1))])
    },
    Case::new(
        "file-reads",
        "1,000 fibers each read a file of 64 KiB, which is in the kernel's cache",
        "ns per file",
        [file_reads(30), file_reads(10)],
    ),
];
