//! Many connections at once, from another process.

use super::common::child::run_in;
use super::common::watchdog::guarded;
use super::common::{background, shut_down};
use super::descriptors::room_for;
use sisal::{Runtime, net};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CONNECTIONS: usize = 10_000;
const SERVER: &str = "SISAL_TEST_SERVER";
const COUNT: &str = "SISAL_TEST_COUNT";

/// How many connections are open, and the most there have been.
#[derive(Default)]
struct Crowd {
    present: AtomicUsize,
    most: AtomicUsize,
}

#[test]
fn ten_thousand_connections_are_open_at_once() {
    guarded(|| {
        // The child begins at the same place; it has been told of the server already.
        let (count, crowd) = (room_for(CONNECTIONS), Arc::new(Crowd::default()));
        let server = std::env::var_os(SERVER).is_none().then(|| serve(count, &crowd));
        let address = server.as_ref().map_or_else(String::new, |(_, address)| address.to_string());
        run_in(&[(SERVER, &address), (COUNT, &count.to_string())], || {
            let argument = |name| std::env::var(name).unwrap();
            come_all(argument(SERVER).parse().unwrap(), argument(COUNT).parse().unwrap());
        })
        .well();
        shut_down(server.unwrap().0);
        assert_eq!(crowd.most.load(Ordering::Acquire), count);
    });
}

/// The client opens all connections, sends its number on each, and only then reads the answers.
fn come_all(server: SocketAddr, count: usize) {
    room_for(count);
    let mut streams: Vec<_> = (0..count).map(|_| TcpStream::connect(server).unwrap()).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&number.to_le_bytes()).unwrap();
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut answer = [0; 8];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(usize::from_le_bytes(answer), number);
    }
}

/// Echoes on so many connections.
fn serve(count: usize, crowd: &Arc<Crowd>) -> (Runtime, SocketAddr) {
    let (runtime, crowd) = (background(2), Arc::clone(crowd));
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = runtime.spawn(move || {
        for (stream, _) in (0..count).map(|_| listener.accept().unwrap()) {
            let crowd = Arc::clone(&crowd);
            drop(sisal::spawn(move || {
                let present = crowd.present.fetch_add(1, Ordering::AcqRel) + 1;
                crowd.most.fetch_max(present, Ordering::AcqRel);
                echo(&stream);
                crowd.present.fetch_sub(1, Ordering::AcqRel);
            }));
        }
    });
    drop(acceptor);
    (runtime, address)
}

fn echo(mut stream: &net::TcpStream) {
    let mut number = [0; 8];
    while stream.read_exact(&mut number).is_ok() {
        stream.write_all(&number).unwrap();
    }
}
