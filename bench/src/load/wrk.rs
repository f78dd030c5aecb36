//! The client of HTTP: `wrk`, as it comes with the system.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::sample::Absent;
use crate::work::HELLO;

/// The program.
const PROGRAM: &str = "wrk";

/// What `wrk` has counted. Latencies are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) requests: f64,
    pub(super) rate: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// Whether it is there.
pub(super) fn find() -> Result<(), Absent> {
    match Command::new(PROGRAM).arg("-v").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(Absent::new(format!("{PROGRAM} loads it, which cannot be started: {error}"))),
    }
}

/// Checks with one request that the server says what it should.
pub(super) fn check(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    // may_minihttp keeps the connection open all the same: it is enough when the text is there.
    let mut piece = [0; 512];
    while !answer.ends_with(HELLO) {
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.push_str(&String::from_utf8_lossy(&piece[..count])),
        }
    }
    match answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(HELLO) {
        true => Ok(()),
        false => Err(io::Error::other(format!("the server's answer is wrong: {answer:?}"))),
    }
}

/// Loads the server with one thread, for at least a second.
pub(super) fn run(address: SocketAddr, connections: usize, span: Duration) -> io::Result<Report> {
    let output = Command::new(PROGRAM)
        .args(["-t1", "--latency", &format!("-c{connections}"), &format!("-d{}s", span.as_secs().max(1))])
        .arg(format!("http://{address}/"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("Socket errors") || text.contains("Non-2xx") {
        return Err(io::Error::other(format!("{PROGRAM} met errors: {}", text.trim())));
    }
    Report::parse(&text).ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("{PROGRAM}: {}: {} {}", output.status, text.trim(), complaint.trim()))
    })
}

impl Report {
    fn parse(text: &str) -> Option<Self> {
        let lines = || text.lines().map(str::trim);
        let after = |start: &str| lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
        let requests = lines().find_map(|line| line.split_once(" requests in "))?.0.parse().ok()?;
        let rate = after("Requests/sec:")?.parse().ok()?;
        Some(Self { requests, rate, p50: millis(after("50%")?)?, p99: millis(after("99%")?)? })
    }
}

/// A time as `wrk` writes it: `812.00us`, `1.52ms`, `2.10s`.
fn millis(text: &str) -> Option<f64> {
    [("us", 1e-3), ("ms", 1.0), ("s", 1e3)]
        .into_iter()
        .find_map(|(unit, millis)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let text = "\
Running 3s test @ http://127.0.0.1:8080/
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.19ms  220.11us   6.77ms   91.52%
    Req/Sec    84.28k     2.17k   87.41k    86.67%
  Latency Distribution
     50%  812.00us
     75%    1.22ms
     90%    1.31ms
     99%    2.10s
  251589 requests in 3.00s, 21.35MB read
Requests/sec:  83790.19
Transfer/sec:      7.11MB
";
        let report = Report { requests: 251_589.0, rate: 83_790.19, p50: 0.812, p99: 2_100.0 };
        assert_eq!(Report::parse(text), Some(report));
        assert_eq!(Report::parse("unable to connect to 127.0.0.1:8080 Connection refused"), None);
    }
}
