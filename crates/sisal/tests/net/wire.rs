//! What the tests of sockets share: connected pairs, and bytes that tell their place.

use sisal::net::{TcpListener, TcpStream, UnixSocketAddr};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much is sent where every byte is checked.
pub(crate) const MUCH: usize = 4 << 20;

/// Two ends of a TCP connection.
pub(crate) fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// Sizes of chunks, none of which fits into another, from a single byte to more than a socket takes at once.
pub(crate) fn chunk_sizes() -> impl Iterator<Item = usize> {
    [1, 7, 4095, 13, 65_537, 257, 1_000_003, 2, 8191].into_iter().cycle()
}

/// The byte at a position: positions that are off by a power of two differ.
pub(crate) fn byte_at(position: usize) -> u8 {
    (position.wrapping_mul(2_654_435_761) >> 13) as u8
}

/// Writes so many bytes in odd chunks.
pub(crate) fn write_much(mut to: impl Write, length: usize) {
    let mut position = 0;
    for size in chunk_sizes() {
        let chunk: Vec<u8> = (position..length.min(position + size)).map(byte_at).collect();
        if chunk.is_empty() {
            break;
        }
        to.write_all(&chunk).unwrap();
        position += chunk.len();
    }
}

/// Reads to the end in odd chunks, checks every byte, and returns how many there were.
pub(crate) fn read_much(mut from: impl Read) -> usize {
    let mut position = 0;
    for size in chunk_sizes() {
        let mut chunk = vec![0; size];
        let length = from.read(&mut chunk).unwrap();
        if length == 0 {
            break;
        }
        for (offset, byte) in chunk[..length].iter().enumerate() {
            assert_eq!(*byte, byte_at(position + offset), "at {}", position + offset);
        }
        position += length;
    }
    position
}

/// An abstract address that no other test has.
pub(crate) fn unix_address(name: &str) -> UnixSocketAddr {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    UnixSocketAddr::from_abstract_name(format!("sisal-test-{}-{name}-{number}", std::process::id())).unwrap()
}

/// Writes as much as fits without waiting, so that the next write waits. Returns how much that was.
pub(crate) fn fill(mut stream: impl Write, set_nonblocking: impl Fn(bool)) -> usize {
    set_nonblocking(true);
    let mut filled = 0;
    let error = loop {
        match stream.write(&[0; 64 << 10]) {
            Ok(length) => filled += length,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    set_nonblocking(false);
    filled
}

/// A listener whose queue is full: to connect to it takes for ever.
pub(crate) struct Full {
    pub(crate) address: SocketAddr,
    _listener: TcpListener,
    _queued: TcpStream,
}

impl Full {
    pub(crate) fn new() -> Full {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // This leaves room for one.
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let queued = TcpStream::connect(address).unwrap();
        Full { address, _listener: listener, _queued: queued }
    }
}
