//! An echo server on bare epoll: what the kernel gives to whoever writes for it by hand.
//!
//! A thread accepts and deals the connections out to the workers in turn. Each worker has an epoll of its own,
//! level-triggered, and for every event one read and one write.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::thread;

use rustix::event::epoll;
use rustix::io::Errno;

use super::absent;
use crate::sample::Outcome;
use crate::work::{BUFFER, Work, answer};

/// Connections that a server takes in its life.
const MOST: usize = 4_096;
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;

/// The connections, by the number that their events have.
type Table = [OnceLock<TcpStream>; MOST];

/// Its part in `work`: echo.
pub(super) fn run(work: Work) -> Outcome {
    let Work::Echo(load) = work else { return absent("it echoes and nothing else") };
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let table: &'static Table = Box::leak(Box::new([const { OnceLock::new() }; MOST]));
    let workers: Vec<&'static OwnedFd> = (0..load.workers).map(|_| worker(table)).collect();
    thread::spawn(move || accept(&listener, table, &workers));
    answer(port)
}

/// Accepts, and deals out.
fn accept(listener: &TcpListener, table: &Table, workers: &[&OwnedFd]) {
    for (number, worker) in (0..MOST).zip(workers.iter().cycle()) {
        let (stream, _) = listener.accept().expect("a connection comes");
        stream.set_nonblocking(true).expect("a socket can be set so");
        let stream = table[number].get_or_init(|| stream);
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(worker, stream, data, epoll::EventFlags::IN).expect("the epoll takes a socket");
    }
}

/// Starts a worker, and returns its epoll.
fn worker(table: &'static Table) -> &'static OwnedFd {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("there is an epoll");
    let epoll: &'static OwnedFd = Box::leak(Box::new(epoll));
    thread::spawn(move || {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            match epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => panic!("the epoll fails: {error}"),
            }
            for event in &events {
                let stream = table[event.data.u64() as usize].get().expect("it is in the table first");
                if !echo(stream) {
                    epoll::delete(epoll, stream).expect("it was added");
                }
            }
        }
    });
    epoll
}

/// Sends back what is there; whether there is more to come. The client waits for the echo before it sends
/// more: there is always room for it.
fn echo(mut stream: &TcpStream) -> bool {
    let mut buffer = [0; BUFFER];
    match stream.read(&mut buffer) {
        Ok(0) => false,
        Ok(count) => stream.write_all(&buffer[..count]).is_ok(),
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}
