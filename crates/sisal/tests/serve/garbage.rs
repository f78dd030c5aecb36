//! What it survives.

use super::client::{get, read, send};
use super::common::{rounds, watchdog::guarded};
use super::fake::Fake;
use sisal::inspect::ServeOptions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Pieces that requests are made of, so that garbage gets past the first byte.
const PIECES: [&[u8]; 28] = [
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"/",
    b"/debug/fibers",
    b"/debug/fibers.json?id=",
    b"/debug/trace?seconds=0&",
    b"/metrics",
    b" HTTP/1.1",
    b" HTTP/1.0",
    b" HTTP/9.9",
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"Host: ",
    b"localhost",
    b"127.0.0.1:80",
    b"Origin: null\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Authorization: Bearer ",
    b"?token=%",
    b"%zz%00%ff",
    b"\0",
    b"\xff\xfe",
    b": ",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

fn garbage(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    if random.u8(..4) > 0 {
        bytes.extend_from_slice(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n");
    }
    for _ in 0..random.usize(..20) {
        if random.u8(..4) == 0 {
            bytes.extend((0..random.usize(..40)).map(|_| random.u8(..)));
        } else {
            bytes.extend_from_slice(random.choice(PIECES).unwrap());
        }
    }
    for _ in 0..random.usize(..3) {
        if let Some(byte) = random.choice(&mut bytes) {
            *byte = random.u8(..);
        }
    }
    bytes
}

#[test]
fn garbage_is_answered_with_an_error_or_the_end_of_the_connection() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..rounds(30_000) {
            let bytes = garbage(&mut random);
            if let Some(answer) = send(server.local_addr(), &bytes) {
                let known = [200, 400, 401, 403, 404, 405, 408, 413, 431];
                let shown = bytes.escape_ascii();
                assert!(known.contains(&answer.status), "seed {seed}, round {round}: {} to {shown}", answer.status);
            }
        }
        assert_eq!(get(server.local_addr(), "/metrics").status, 200, "seed {seed}");
    });
}

#[test]
fn clients_that_leave_at_any_moment_do_no_harm() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for round in 0..rounds(2_000) {
            let mut stream = TcpStream::connect(server.local_addr()).unwrap();
            let sent = &request[..round % (request.len() + 1)];
            let _ = stream.write_all(sent);
            if sent == request {
                let _ = stream.read(&mut [0; 10]);
            }
        }
        assert_eq!(get(server.local_addr(), "/metrics").status, 200);
    });
}

/// Opens a connection, and says part of a request or nothing.
fn slow(address: SocketAddr, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    if number.is_multiple_of(2) {
        stream.write_all(b"GET /metrics HT").unwrap();
    }
    stream
}

#[test]
fn clients_that_say_nothing_keep_nobody_out() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let mut silent: Vec<_> = (0..60).map(|number| slow(server.local_addr(), number)).collect();
        for _ in 0..5 {
            assert_eq!(get(server.local_addr(), "/metrics").status, 200);
        }
        // Some had to go for others. Had their time been up, those that had begun to ask would have been told.
        assert!(silent.iter_mut().step_by(2).any(|stream| read(stream).is_none()));
    });
}

#[test]
fn clients_that_ask_and_do_not_read_keep_nobody_out() {
    guarded(|| {
        let fake = Fake::new();
        // More than the sockets' buffers hold.
        let size = 16 << 20;
        *fake.fibers.lock().unwrap() = "x".repeat(size);
        let server = fake.serve(ServeOptions::new());
        let taker = |_| {
            let mut stream = TcpStream::connect(server.local_addr()).unwrap();
            stream.write_all(b"GET /debug/fibers.json HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
            stream
        };
        let mut takers: Vec<_> = (0..16).map(taker).collect();
        assert_eq!(get(server.local_addr(), "/metrics").status, 200);
        // One had to go. Had the time of all been up, this one would have nothing more to read than what was on its way.
        let mut last = takers.pop().unwrap();
        let mut rest = Vec::new();
        let _ = last.read_to_end(&mut rest);
        assert!(rest.len() > size - 100, "{}", rest.len());
    });
}

#[test]
fn a_request_in_many_pieces_is_one_request() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.set_nodelay(true).unwrap();
        for byte in b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(read(&mut stream).unwrap().status, 200);
    });
}

#[test]
fn a_request_that_never_ends_is_told_so() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
        assert_eq!(read(&mut stream).unwrap().status, 408);
    });
}

#[test]
fn a_client_that_takes_nothing_does_not_delay_the_end() {
    guarded(|| {
        let fake = Fake::new();
        // More than the sockets' buffers hold.
        *fake.fibers.lock().unwrap() = "x".repeat(64 << 20);
        let server = fake.serve(ServeOptions::new());
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.write_all(b"GET /debug/fibers.json HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
        drop(server);
        drop(stream);
    });
}
