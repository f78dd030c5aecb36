//! An operation's own time: it ends in `TimedOut`, and the socket goes on.

use crate::common::places::{everywhere, join_all};
use crate::common::waits::in_fibers_and_a_thread;
use crate::common::{LONG, in_main_fiber, until};
use crate::wire::{Full, fill, tcp, unix_address};
use sisal::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use sisal::{is_cancelled, spawn, timeout};
use std::fmt::Debug;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(5);

#[track_caller]
fn times_out<T: Debug>(op: impl FnOnce() -> io::Result<T>) {
    let start = Instant::now();
    assert_eq!(op().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() >= SHORT);
}

/// The worker is busy when the data comes, and until the time is up.
#[test]
fn what_has_come_in_time_is_had_by_one_whose_worker_comes_late() {
    in_main_fiber(1, || {
        let is_proof = || {
            let (mut client, mut server) = tcp();
            server.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let begun = Arc::new(OnceLock::new());
            let reader = {
                let begun = Arc::clone(&begun);
                spawn(move || {
                    begun.set(Instant::now()).unwrap();
                    server.read(&mut [0])
                })
            };
            until(|| begun.get().is_some());
            client.write_all(b"x").unwrap();
            let elapsed = || begun.get().unwrap().elapsed();
            let is_in_time = elapsed() < Duration::from_millis(50);
            while elapsed() < Duration::from_millis(60) {
                std::hint::spin_loop();
            }
            let read = reader.join().unwrap();
            assert!(!is_in_time || matches!(read, Ok(1)), "{read:?}");
            is_in_time
        };
        until(is_proof);
    });
}

#[test]
fn reads_time_out_and_work_again() {
    everywhere(|place| {
        let (client, server) = tcp();
        server.set_read_timeout(Some(SHORT)).unwrap();
        assert_eq!(server.read_timeout().unwrap(), Some(SHORT));
        let server = Arc::new(server);
        join_all(place.sharing(3, &server, |mut server, _| {
            times_out(|| server.read(&mut [0; 8]));
            times_out(|| server.peek(&mut [0; 8]));
        }));
        (&client).write_all(b"!").unwrap();
        server.set_read_timeout(None).unwrap();
        assert_eq!((&*server).read(&mut [0; 8]).unwrap(), 1);
        server.set_read_timeout(Some(LONG)).unwrap();
        (&client).write_all(b"!").unwrap();
        assert_eq!((&*server).read(&mut [0; 8]).unwrap(), 1);
    });
}

#[test]
fn writes_time_out_and_work_again() {
    everywhere(|place| {
        let (client, server) = tcp();
        client.set_write_timeout(Some(SHORT)).unwrap();
        assert_eq!((client.write_timeout().unwrap(), client.read_timeout().unwrap()), (Some(SHORT), None));
        let filled = fill(&client, |on| client.set_nonblocking(on).unwrap());
        let client = Arc::new(client);
        // The kernel may still find room for a little; in the end there is none.
        let stuck = place.sharing(1, &client, |mut client, _| {
            loop {
                if let Err(error) = client.write_all(&[1; 100_000]) {
                    return error.kind();
                }
            }
        });
        assert_eq!(join_all(stuck), [ErrorKind::TimedOut]);
        client.set_write_timeout(None).unwrap();
        let writer = place.sharing(1, &client, |mut client, _| client.write_all(&[2; 1000]).unwrap());
        // The twos come after everything else.
        let (mut twos, mut received, mut chunk) = (0, 0, vec![0; 100_000]);
        while twos < 1000 {
            let length = (&server).read(&mut chunk).unwrap();
            twos += chunk[..length].iter().filter(|byte| **byte == 2).count();
            received += length;
        }
        assert!(received >= filled + 1000);
        join_all(writer);
    });
}

#[test]
fn accepting_times_out_and_works_again() {
    in_fibers_and_a_thread(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        times_out(|| listener.accept_timeout(SHORT));
        times_out(|| listener.accept_deadline(Instant::now() + SHORT));
        assert_eq!(listener.accept_timeout(Duration::ZERO).unwrap_err().kind(), ErrorKind::TimedOut);
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept_timeout(LONG).unwrap();
        assert_eq!(server.peer_addr().unwrap(), client.local_addr().unwrap());
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // What is there already is taken, also when the time is up.
        listener.accept_deadline(Instant::now()).unwrap();

        let listener = UnixListener::bind_addr(&unix_address("timeout")).unwrap();
        times_out(|| listener.accept_timeout(SHORT));
        times_out(|| listener.accept_deadline(Instant::now() + SHORT));
        assert_eq!(listener.accept_timeout(Duration::MAX.min(SHORT)).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn connecting_times_out() {
    in_fibers_and_a_thread(|| {
        let full = Full::new();
        times_out(|| TcpStream::connect_timeout(&full.address, SHORT));
        let error = timeout(SHORT, || TcpStream::connect(full.address)).unwrap_err();
        assert!(is_cancelled(&error), "{error}");
    });
}

#[test]
fn messages_time_out() {
    in_fibers_and_a_thread(|| {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_read_timeout(Some(SHORT)).unwrap();
        times_out(|| udp.recv(&mut [0; 8]));
        times_out(|| udp.recv_from(&mut [0; 8]));
        times_out(|| udp.peek_from(&mut [0; 8]));
        assert_eq!((udp.read_timeout().unwrap(), udp.write_timeout().unwrap()), (Some(SHORT), None));

        let (a, b) = UnixDatagram::pair().unwrap();
        a.set_read_timeout(Some(SHORT)).unwrap();
        times_out(|| a.recv(&mut [0; 8]));
        b.set_write_timeout(Some(SHORT)).unwrap();
        times_out(|| -> io::Result<()> {
            loop {
                b.send(&[0; 1000])?;
            }
        });

        let (a, b) = UnixStream::pair().unwrap();
        a.set_read_timeout(Some(SHORT)).unwrap();
        times_out(|| (&a).read(&mut [0; 8]));
        b.set_write_timeout(Some(SHORT)).unwrap();
        times_out(|| -> io::Result<()> {
            loop {
                (&b).write_all(&[0; 1000])?;
            }
        });
    });
}

#[test]
fn a_time_of_nothing_is_refused() {
    in_fibers_and_a_thread(|| {
        let (client, _server) = tcp();
        let (unix, _peer) = UnixStream::pair().unwrap();
        let (datagram, _peer) = UnixDatagram::pair().unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let nothing = Some(Duration::ZERO);
        for result in [
            client.set_read_timeout(nothing),
            client.set_write_timeout(nothing),
            unix.set_read_timeout(nothing),
            unix.set_write_timeout(nothing),
            datagram.set_read_timeout(nothing),
            datagram.set_write_timeout(nothing),
            udp.set_read_timeout(nothing),
            udp.set_write_timeout(nothing),
        ] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        let address = client.peer_addr().unwrap();
        let error = TcpStream::connect_timeout(&address, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_timeout_is_for_each_operation_anew() {
    everywhere(|place| {
        let (client, server) = tcp();
        server.set_read_timeout(Some(LONG)).unwrap();
        let server = Arc::new(server);
        let reader = place.sharing(1, &server, |mut server, _| {
            server.read_exact(&mut [0; 1]).unwrap();
            server.set_read_timeout(Some(SHORT)).unwrap();
            times_out(|| server.read(&mut [0; 1]));
        });
        (&client).write_all(b"!").unwrap();
        join_all(reader);
        until(|| server.read_timeout().unwrap() == Some(SHORT));
    });
}
