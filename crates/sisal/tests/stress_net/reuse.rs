//! Descriptors that are closed and whose numbers are used again at once, in many fibers: nobody gets another's bytes, and nobody
//! is left waiting.

use super::common::watchdog::guarded;
use super::common::{background, rounds, shut_down};
use sisal::JoinHandle;
use sisal::net::{TcpListener, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// With how many workers how many connections are opened, accepted and closed.
const STORMS: [(usize, usize); 2] = [(1, 20_000), (4, 100_000)];
/// The system keeps a port for a minute after its connection, and for one listener there are some ten thousands of them.
const LISTENERS: usize = 10;
/// How many clients each listener has.
const CLIENTS: usize = 4;

/// What the server says first. Clients wait for it, or they would open connections faster than those are served.
const GREETING: u8 = b'!';

/// How a connection ends. Its number says so: the server knows it, too.
#[derive(Copy, Clone)]
enum End {
    /// The server answers with the number.
    Answered,
    /// The client is closed while one of its fibers reads.
    Closed,
    /// The client has had no patience.
    TimedOut,
    /// The server goes without having read.
    Reset,
}

fn end_of(number: usize) -> End {
    [End::Answered, End::Closed, End::TimedOut, End::Reset][number % 4]
}

#[test]
fn a_number_that_is_used_again_brings_nobody_what_was_for_another() {
    guarded(|| {
        for (workers, connections) in STORMS {
            let runtime = background(workers);
            runtime.run(|| storm(rounds(connections)));
            shut_down(runtime);
        }
    });
}

fn storm(connections: usize) {
    let each = connections / LISTENERS / CLIENTS;
    assert_eq!(each * LISTENERS * CLIENTS, connections);
    let fibers: Vec<JoinHandle<()>> = (1..=LISTENERS as u8)
        .flat_map(|host| {
            let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, host), 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let acceptor = sisal::spawn(move || serve(&listener, CLIENTS * each));
            let clients = (0..CLIENTS).map(move |client| sisal::spawn(move || call(address, client, each)));
            std::iter::once(acceptor).chain(clients)
        })
        .collect();
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
}

fn serve(listener: &TcpListener, connections: usize) {
    for (stream, _) in (0..connections).map(|_| listener.accept().unwrap()) {
        drop(sisal::spawn(move || answer(stream)));
    }
}

/// Greets, does what the number says, and waits until the client goes.
fn answer(mut stream: TcpStream) {
    let mut number = [0; 8];
    stream.write_all(&[GREETING]).unwrap();
    // The first byte tells enough, and is left where it is: closing with something unread resets.
    let Ok(1..) = stream.peek(&mut number) else { return };
    let end = end_of(number[0].into());
    if matches!(end, End::Reset) || stream.read_exact(&mut number).is_err() {
        return;
    }
    if matches!(end, End::Answered) {
        stream.write_all(&number).unwrap();
    }
    let _ = stream.read(&mut number);
}

fn call(server: SocketAddr, client: usize, rounds: usize) {
    for round in 0..rounds {
        let number = round * CLIENTS + (client + round) % CLIENTS;
        let mut stream = TcpStream::connect(server).unwrap();
        let mut answer = [0; 8];
        stream.write_all(&number.to_le_bytes()).unwrap();
        stream.read_exact(&mut answer[..1]).unwrap();
        assert_eq!(answer[0], GREETING);
        match end_of(number) {
            End::Answered => {
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(usize::from_le_bytes(answer), number);
            }
            End::Closed => close(stream),
            End::TimedOut => {
                let error = sisal::timeout(Duration::from_micros(50), || stream.read(&mut answer)).unwrap_err();
                assert!(sisal::is_cancelled(&error), "{error}");
            }
            End::Reset => match stream.read(&mut answer) {
                Ok(count) => assert_eq!(count, 0),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            },
        }
    }
}

/// Closes a stream that another fiber reads from, or is about to.
fn close(stream: TcpStream) {
    let stream = Arc::new(stream);
    let reading = Arc::clone(&stream);
    let reader = sisal::spawn(move || (&*reading).read(&mut [0]));
    sisal::yield_now();
    stream.close();
    let error = reader.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
}
