//! The client of the echo cases: one thread, one epoll, no runtime.
//!
//! A closed loop: every connection sends [`MESSAGE`] bytes, waits until they are back, and sends them again.
//! So there is one message under way on each connection, and a server that is slow gets fewer of them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::histogram::Histogram;

/// The bytes of a message.
pub(super) const MESSAGE: usize = 64;
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;
/// How long a server may leave all connections without an answer.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Connections to a server, each with a message under way.
pub(super) struct Client {
    epoll: OwnedFd,
    connections: Vec<Connection>,
}

/// What came of running for a while.
pub(super) struct Run {
    pub(super) latencies: Histogram,
    pub(super) took: Duration,
}

struct Connection {
    stream: TcpStream,
    /// Differs from that of every other connection.
    message: [u8; MESSAGE],
    /// When it was sent, and how much of it is back.
    sent: Instant,
    received: usize,
}

impl Client {
    /// Connects, and sends the first message on every connection.
    pub(super) fn connect(address: SocketAddr, connections: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let connections = (0..connections).map(|number| Connection::open(address, number));
        let mut connections = connections.collect::<io::Result<Vec<_>>>()?;
        for (number, connection) in connections.iter_mut().enumerate() {
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &connection.stream, data, epoll::EventFlags::IN)?;
            connection.send(Instant::now())?;
        }
        Ok(Self { epoll, connections })
    }

    /// Runs for about that long. Messages are under way before and after.
    pub(super) fn run(&mut self, span: Duration) -> io::Result<Run> {
        let mut latencies = Histogram::new();
        let mut events = Vec::with_capacity(EVENTS);
        let start = Instant::now();
        let mut now = start;
        while now - start < span {
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&PATIENCE))?;
            if events.is_empty() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server answers nobody"));
            }
            for event in &events {
                let connection = &mut self.connections[event.data.u64() as usize];
                if connection.receive()? {
                    now = Instant::now();
                    latencies.record(now - connection.sent);
                    connection.send(now)?;
                }
            }
        }
        Ok(Run { latencies, took: now - start })
    }
}

impl Run {
    pub(super) fn requests(&self) -> u64 {
        self.latencies.total()
    }
}

impl Connection {
    fn open(address: SocketAddr, number: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut message = [b'.'; MESSAGE];
        message[..size_of::<usize>()].copy_from_slice(&number.to_le_bytes());
        Ok(Self { stream, message, sent: Instant::now(), received: 0 })
    }

    /// Sends the message. There is room for it: nothing else is under way.
    fn send(&mut self, now: Instant) -> io::Result<()> {
        self.sent = now;
        self.received = 0;
        self.stream.write_all(&self.message)
    }

    /// Takes what has come; whether it is the whole message.
    fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = [0; MESSAGE + 1];
        let count = match self.stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed a connection")),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        if !self.message[self.received..].starts_with(&buffer[..count]) {
            return Err(io::Error::other("the server sent back something else"));
        }
        self.received += count;
        Ok(self.received == MESSAGE)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that hands what each of so many connections sends to `answer`, and sends what that makes of it.
    fn server(connections: usize, answer: fn(&mut [u8])) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().take(connections) {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut buffer = [0; 10];
                    while let Ok(count @ 1..) = stream.read(&mut buffer) {
                        answer(&mut buffer[..count]);
                        let _ = stream.write_all(&buffer[..count]);
                    }
                });
            }
        });
        address
    }

    #[test]
    fn messages_come_back_in_pieces_and_are_counted_once() {
        let mut client = Client::connect(server(3, |_| ()), 3).unwrap();
        let run = client.run(Duration::from_millis(20)).unwrap();
        assert!(run.requests() > 0 && run.took >= Duration::from_millis(20));
    }

    #[test]
    fn an_answer_that_is_not_the_message_is_an_error() {
        let mut client = Client::connect(server(1, |bytes| bytes[0] ^= 1), 1).unwrap();
        let error = client.run(Duration::from_secs(5)).err().unwrap();
        assert!(error.to_string().contains("something else"), "{error}");
    }
}
