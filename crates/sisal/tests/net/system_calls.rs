//! Which system calls it takes to wait for sockets, and not to wait.

use crate::common::background;
use crate::strace::{mark, trace};
use sisal::net::{TcpListener, TcpStream};
use sisal::{JoinHandle, spawn_local, spawn_on, yield_now};
use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;

const WORKERS: [usize; 2] = [1, 2];

/// Two ends of a connection that nobody has waited for.
pub(crate) fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (served, _) = listener.accept().unwrap();
    (TcpStream::from(client), served)
}

fn number(socket: impl AsFd) -> i32 {
    socket.as_fd().as_raw_fd()
}

/// Starts a fiber on this worker that waits for a byte; returns when it waits.
pub(crate) fn wait_for_a_byte(mut socket: TcpStream) -> JoinHandle<()> {
    let begins = Rc::new(Cell::new(false));
    let has_begun = Rc::clone(&begins);
    let reader = spawn_local(move || {
        begins.set(true);
        socket.read_exact(&mut [0]).unwrap();
    });
    while !has_begun.get() {
        yield_now();
    }
    reader
}

#[test]
fn a_connection_is_registered_once_for_each_side_however_much_goes_over_it() {
    const MESSAGES: usize = 200;
    let traced = trace(|| {
        for workers in WORKERS {
            background(workers).run(|| {
                mark(&format!("{workers} begin"));
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let server = spawn_on(workers - 1, move || {
                    let (mut stream, _) = listener.accept().unwrap();
                    mark(&format!("server is {}", number(&stream)));
                    let mut message = [0; 4];
                    while stream.read_exact(&mut message).is_ok() {
                        stream.write_all(&message).unwrap();
                    }
                });
                let client = spawn_on(0, move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    mark(&format!("client is {}", number(&stream)));
                    for message in 0..MESSAGES as u32 {
                        stream.write_all(&message.to_le_bytes()).unwrap();
                        let mut echo = [0; 4];
                        stream.read_exact(&mut echo).unwrap();
                        assert_eq!(u32::from_le_bytes(echo), message);
                    }
                    mark(&format!("{workers} end"));
                });
                client.join().unwrap();
                server.join().unwrap();
            });
        }
    });
    let Some(trace) = traced else { return };
    for workers in WORKERS {
        let part = trace.between(&format!("{workers} begin"), &format!("{workers} end"));
        for side in ["client is ", "server is "] {
            let descriptor = part.said(side);
            assert_eq!(part.calls_with("send", &format!("{descriptor}, ")), MESSAGES, "{workers} workers, {side}");
            assert_eq!(part.registrations(descriptor), 1, "{workers} workers, {side}");
        }
        assert!(part.epoll_waits() > 0);
    }
}

#[test]
fn what_is_there_already_is_read_without_a_word_to_epoll() {
    const READS: usize = 100;
    let traced = trace(|| {
        for workers in WORKERS {
            background(workers).run(|| {
                mark(&format!("{workers} begin"));
                let (mut here, mut there) = connected();
                mark(&format!("reader is {}", number(&here)));
                there.write_all(&[7; READS]).unwrap();
                (0..READS).for_each(|_| here.read_exact(&mut [0]).unwrap());
                mark(&format!("{workers} nothing is there"));
                let reader = wait_for_a_byte(here);
                there.write_all(&[7]).unwrap();
                reader.join().unwrap();
                mark(&format!("{workers} end"));
            });
        }
    });
    let Some(trace) = traced else { return };
    for workers in WORKERS {
        let [begin, middle, end] = ["begin", "nothing is there", "end"].map(|mark| format!("{workers} {mark}"));
        let there = trace.between(&begin, &middle);
        let reader = there.said("reader is ");
        assert_eq!(there.calls_with("recv", &format!("{reader}, ")), READS, "{workers} workers");
        assert_eq!((there.calls("epoll_"), there.calls("poll") + there.calls("ppoll")), (0, 0), "{workers} workers");
        let not_there = trace.between(&middle, &end);
        assert_eq!(not_there.registrations(reader), 1, "{workers} workers");
        assert!(not_there.calls_with("recv", &format!("{reader}, ")) >= 2, "tried before the wait and after it");
        assert!(not_there.epoll_waits() > 0);
    }
}
