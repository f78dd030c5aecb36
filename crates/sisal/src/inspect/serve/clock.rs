//! How long the parts of a connection may take, as a whole: a client that sends a byte from time to time gains nothing by it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// For a request to come.
pub(super) const TO_ASK: Duration = Duration::from_secs(5);
/// For the answer to be taken, which is large if there are many fibers.
pub(super) const TO_TAKE: Duration = Duration::from_secs(30);
/// For the client to close after it has its answer.
pub(super) const TO_CLOSE: Duration = Duration::from_secs(1);

/// A stream whose reads and writes have an end in common.
pub(super) struct Timed<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> Timed<'a> {
    pub(super) fn new(stream: &'a TcpStream, limit: Duration) -> Timed<'a> {
        Timed { stream, end: Instant::now() + limit }
    }

    /// What is left of the time. INVARIANT: not zero, which the system would take for no limit.
    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        // A large write ends late if each of its parts goes slowly, but in time.
        let part = &bytes[..bytes.len().min(LARGEST_WRITE)];
        self.stream.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The system's time limit begins anew with each part of a large write that the client takes.
const LARGEST_WRITE: usize = 256 << 10;
