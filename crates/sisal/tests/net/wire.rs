//! What the tests of sockets share: connected pairs, and bytes that tell their place.

use sisal::net::{TcpListener, TcpStream};
use std::io::{Read, Write};

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
