//! Clients that dawdle.

use super::common::places::settle;
use super::common::watchdog::guarded;
use super::common::{background, shut_down};
use super::descriptors::room_for;
use sisal::net::{TcpListener, TcpStream};
use sisal::{JoinHandle, spawn};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// A request is a number of bytes, in eight bytes; the answer is as many.
type Request = [u8; 8];

/// The byte at a place of an answer.
fn byte(place: usize) -> u8 {
    (place.wrapping_mul(40_503) >> 8) as u8
}

/// Answers requests until the client goes.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let mut request = Request::default();
        match stream.read_exact(&mut request) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let answer: Vec<u8> = (0..usize::from_le_bytes(request)).map(byte).collect();
        stream.write_all(&answer)?;
    }
}

/// Serves so many connections, each with this patience for its reads; how each ended.
fn start(count: usize, patience: Option<Duration>) -> (JoinHandle<Vec<io::Result<()>>>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = spawn(move || {
        let accept = |_| listener.accept().unwrap().0;
        let fibers: Vec<_> = (0..count)
            .map(accept)
            .map(|stream| {
                stream.set_read_timeout(patience).unwrap();
                spawn(move || serve(stream))
            })
            .collect();
        fibers.into_iter().map(|fiber| fiber.join().unwrap()).collect()
    });
    (server, address)
}

/// Connects and sends the first bytes of a request.
fn begin(server: SocketAddr, bytes: usize, request: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(&request.to_le_bytes()[..bytes]).unwrap();
    stream
}

/// Sends the rest of a request, byte by byte, and reads its answer, `chunk` bytes at a time.
fn finish(mut stream: &TcpStream, sent: usize, request: usize, chunk: usize) {
    for byte in &request.to_le_bytes()[sent..] {
        stream.write_all(&[*byte]).unwrap();
        sisal::yield_now();
    }
    let mut buffer = vec![0; chunk];
    let mut place = 0;
    while place < request {
        let count = stream.read(&mut buffer[..chunk.min(request - place)]).unwrap();
        assert!(count > 0, "the answer ended after {place} of {request} bytes");
        assert!((place..).zip(&buffer[..count]).all(|(place, got)| byte(place) == *got), "after {place} bytes");
        place += count;
    }
}

fn join_all(fibers: Vec<JoinHandle<()>>) {
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
}

#[test]
fn those_that_send_byte_by_byte_or_do_not_read_hold_up_nobody() {
    const SENDERS: usize = 200;
    const READERS: usize = 50;
    const HONEST: usize = 50;
    const LARGE: usize = 1 << 20;
    guarded(|| {
        assert_eq!(room_for(1_000), 1_000);
        let runtime = background(1);
        runtime.run(|| {
            let (server, address) = start(SENDERS + READERS + HONEST, None);
            let senders: Vec<_> = (0..SENDERS).map(|number| begin(address, 1, number)).collect();
            // More than the system has room for: the server waits in the middle of its answers.
            let readers: Vec<_> = (0..READERS).map(|_| begin(address, 8, LARGE)).collect();
            settle();

            let honest = move |number: usize| {
                let stream = begin(address, 0, 0);
                (0..20).for_each(|round| finish(&stream, 0, number + round, 1_000));
            };
            join_all((0..HONEST).map(|number| spawn(move || honest(number))).collect());

            let senders = senders.into_iter().enumerate();
            join_all(senders.map(|(number, stream)| spawn(move || finish(&stream, 1, number, 7))).collect());
            join_all(readers.into_iter().map(|stream| spawn(move || finish(&stream, 8, LARGE, 4_001))).collect());
            server.join().unwrap().into_iter().for_each(Result::unwrap);
        });
        shut_down(runtime);
    });
}

#[test]
fn those_that_never_finish_their_requests_are_cut_off() {
    const SENDERS: usize = 500;
    guarded(|| {
        assert_eq!(room_for(2 * SENDERS), 2 * SENDERS);
        let runtime = background(2);
        runtime.run(|| {
            let (server, address) = start(SENDERS, Some(Duration::from_millis(20)));
            let senders: Vec<_> = (0..SENDERS).map(|_| begin(address, 7, 1)).collect();
            for mut stream in senders {
                match stream.read(&mut [0]) {
                    Ok(read) => assert_eq!(read, 0),
                    // What it sent came when it had been given up.
                    Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
                }
            }
            for ended in server.join().unwrap() {
                assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
            }
        });
        shut_down(runtime);
    });
}
