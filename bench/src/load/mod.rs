//! The client's side of a served case: starts the server, loads it, and prints the sample.
//!
//! It is a process of its own, the same program against every server, and the one the parent started in
//! place of the contestant. The server is a child of it; what the two say to each other is in
//! [`work`](crate::work).
//!
//! - [`echo`]: the client of the echo cases: one thread, one epoll, no runtime. [`wrk`]: that of HTTP.
//! - [`server`]: the server as a child process. [`cores`]: who runs where.
//! - The [`histogram`] counts latencies.

mod cores;
mod echo;
mod histogram;
mod server;
mod wrk;

use std::io::{Write, stdout};
use std::process::ExitCode;

use crate::PROGRAM;
use crate::cases::Case;
use crate::launch::Launch;
use crate::sample::{Outcome, Sample};
use crate::work::{Echo, Http, Work};
use histogram::Histogram;
use server::{Server, Spent, Start};

/// Nanoseconds in a microsecond.
const NANOS_PER_MICRO: f64 = 1e3;
/// The part of the span that the client runs before it counts.
const WARM_UP_SHARE: u32 = 5;

/// A server, and the case that it is to be loaded by.
#[derive(Clone, Debug)]
pub struct Order {
    /// The case.
    pub case: &'static Case,
    /// The smaller size.
    pub quick: bool,
    /// How the server is started.
    pub server: Launch,
}

/// What went wrong, in words.
type Trouble = Box<dyn std::error::Error>;

/// Loads the server and prints the sample.
pub fn run(order: &Order) -> ExitCode {
    let outcome = match order.case.work(order.quick) {
        Work::Echo(load) => echo(load, &order.server, Echoed::by_rate),
        Work::EchoUnderCpu(load) => echo(load, &order.server, Echoed::by_p99),
        Work::Http(load) | Work::HttpHyper(load) => http(load, &order.server),
        work => Err(format!("nobody serves {work:?}").into()),
    };
    let line = match outcome {
        Ok(Ok(sample)) => sample.to_string(),
        Ok(Err(absent)) => absent.to_string(),
        Err(trouble) => {
            eprintln!("{PROGRAM}: {trouble}");
            return ExitCode::FAILURE;
        }
    };
    println!("{line}");
    stdout().flush().expect("standard output takes the sample");
    ExitCode::SUCCESS
}

/// Loads an echo server.
fn echo(load: Echo, launch: &Launch, sample: impl Fn(&Echoed) -> Sample) -> Result<Outcome, Trouble> {
    let start = || Server::start(launch);
    let started = if load.apart { cores::apart(start)? } else { start() };
    let mut server = match started? {
        Start::Listening(server) => server,
        Start::Absent(absent) => return Ok(Err(absent)),
    };
    let mut client = echo::Client::connect(server.address(), load.connections)?;
    client.run(load.span / WARM_UP_SHARE)?;
    let before = server.spent()?;
    let run = client.run(load.span)?;
    let spent = server.spent()?.since(before);
    Ok(Ok(sample(&Echoed { run, spent })))
}

/// Loads a server of HTTP.
fn http(load: Http, launch: &Launch) -> Result<Outcome, Trouble> {
    if let Err(absent) = wrk::find() {
        return Ok(Err(absent));
    }
    let mut server = match Server::start(launch)? {
        Start::Listening(server) => server,
        Start::Absent(absent) => return Ok(Err(absent)),
    };
    wrk::check(server.address())?;
    wrk::run(server.address(), load.connections, load.span / WARM_UP_SHARE)?;
    let before = server.spent()?;
    let report = wrk::run(server.address(), load.connections, load.span)?;
    let cpu = server.spent()?.since(before).cpu.as_nanos() as f64 / report.requests / NANOS_PER_MICRO;
    Ok(Ok(Sample::new(report.rate, cpu).with("p50", report.p50).with("p99", report.p99)))
}

/// What came of loading an echo server.
struct Echoed {
    run: echo::Run,
    spent: Spent,
}

impl Echoed {
    fn rate(&self) -> f64 {
        self.run.requests() as f64 / self.run.took.as_secs_f64()
    }

    fn cpu_micros(&self) -> f64 {
        self.spent.cpu.as_nanos() as f64 / self.run.requests() as f64 / NANOS_PER_MICRO
    }

    /// Requests per second, and milliseconds of latency.
    fn by_rate(&self) -> Sample {
        let at = |percent| Histogram::millis(self.run.latencies.percentile(percent));
        Sample::new(self.rate(), self.cpu_micros()).with("p50", at(50.0)).with("p99", at(99.0)).with("p99.9", at(99.9))
    }

    /// The 99th percentile in milliseconds, and what else the server has done.
    fn by_p99(&self) -> Sample {
        let at = |percent| Histogram::millis(self.run.latencies.percentile(percent));
        Sample::new(at(99.0), self.cpu_micros())
            .with("p50", at(50.0))
            .with("p99.9", at(99.9))
            .with("rate", self.rate())
            .with("pieces", self.spent.pieces as f64 / self.run.took.as_secs_f64())
    }
}
