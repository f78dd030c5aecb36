//! `set_nonblocking`: a choice of each object, to be told rather than to wait.

use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{fill, tcp, unix_address};
use sisal::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::fmt::Debug;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};

#[track_caller]
fn would_block<T: Debug>(result: io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn nothing_waits_that_was_told_not_to() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        server.set_nonblocking(true).unwrap();
        would_block((&server).read(&mut [0; 8]));
        would_block((&server).read_vectored(&mut [IoSliceMut::new(&mut [0; 8])]));
        would_block(server.peek(&mut [0; 8]));
        assert!(fill(&client, |on| client.set_nonblocking(on).unwrap()) > 0);

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        would_block(listener.accept());
        let listener = UnixListener::bind_addr(&unix_address("nonblocking")).unwrap();
        listener.set_nonblocking(true).unwrap();
        would_block(listener.accept());

        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        would_block(udp.recv(&mut [0; 8]));
        would_block(udp.recv_from(&mut [0; 8]));

        let (a, b) = UnixDatagram::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        would_block(a.recv(&mut [0; 8]));
        would_block(loop {
            if let Err(error) = a.send(&[0; 1000]) {
                break Err::<(), _>(error);
            }
        });
        drop(b);

        let (a, _b) = UnixStream::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        would_block((&a).read(&mut [0; 8]));
    });
}

#[test]
fn what_is_there_is_had_without_waiting() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        (&client).write_all(b"hello").unwrap();
        server.peek(&mut [0; 8]).unwrap();
        server.set_nonblocking(true).unwrap();
        let mut buf = [0; 3];
        assert_eq!((&server).read(&mut buf).unwrap(), 3);
        assert_eq!((&server).read(&mut buf).unwrap(), 2);
        would_block((&server).read(&mut buf));
        assert_eq!((&server).write(b"hi").unwrap(), 2);
        // And back again: it waits.
        server.set_nonblocking(false).unwrap();
        drop(client);
        assert!(matches!((&server).read(&mut buf), Ok(0) | Err(_)));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let clone = server.try_clone().unwrap();
        server.set_nonblocking(true).unwrap();
        // A clone keeps its own choice; it would wait here, which a timeout shows.
        clone.set_read_timeout(Some(std::time::Duration::from_millis(2))).unwrap();
        assert_eq!((&clone).read(&mut buf).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}
