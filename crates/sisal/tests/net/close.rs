//! `close(&self)`: it wakes whoever waits, and later operations are refused.

use crate::common::child;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::until;
use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{fill, tcp, unix_address};
use sisal::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn closing_a_listener_wakes_all_who_accept() {
    let _listeners_end = child::none_begins();
    everywhere(|place| {
        // A host of its own: no other test gets the port.
        let shared = Arc::new((TcpListener::bind("127.7.0.3:0").unwrap(), AtomicUsize::new(0)));
        let (listener, begun) = &*shared;
        let address = listener.local_addr().unwrap();
        let actors = place.sharing(100, &shared, |(listener, begun), _| {
            begun.fetch_add(1, Ordering::Relaxed);
            listener.accept().unwrap_err().kind()
        });
        until(|| begun.load(Ordering::Relaxed) == 100);
        settle();
        listener.close();
        assert_eq!(join_all(actors), [ErrorKind::NotConnected; 100]);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn closing_a_unix_listener_wakes_all_who_accept() {
    everywhere(|place| {
        let listener = Arc::new(UnixListener::bind_addr(&unix_address("close")).unwrap());
        let actors = place.sharing(20, &listener, |listener, _| listener.accept().unwrap_err().kind());
        settle();
        listener.close();
        assert_eq!(join_all(actors), [ErrorKind::NotConnected; 20]);
    });
}

#[test]
fn closing_a_stream_wakes_who_reads_and_who_writes() {
    everywhere(|place| {
        let (client, server) = tcp();
        fill(&client, |on| client.set_nonblocking(on).unwrap());
        let client = Arc::new(client);
        let actors = place.sharing(6, &client, |mut client, number| {
            let error = if number < 3 {
                client.read(&mut [0; 8]).unwrap_err()
            } else {
                // Enough to fill what the kernel still finds.
                client.write_all(&vec![0; 8 << 20]).unwrap_err()
            };
            error.kind()
        });
        settle();
        client.close();
        assert_eq!(join_all(actors), [ErrorKind::NotConnected; 6]);
        assert_eq!((&*client).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!((&*client).write(&[0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!(client.peek(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
        client.set_nonblocking(true).unwrap();
        assert_eq!((&*client).write(&[0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
        // The peer sees it although the stream is still there.
        std::io::copy(&mut &server, &mut std::io::sink())
            .map_or_else(|error| assert_eq!(error.kind(), ErrorKind::ConnectionReset), |length| assert!(length > 0));
    });
}

#[test]
fn closing_wakes_who_waits_for_messages() {
    everywhere(|place| {
        let udp = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let (datagram, _peer) = UnixDatagram::pair().unwrap();
        let (stream, _peer) = UnixStream::pair().unwrap();
        let (datagram, stream) = (Arc::new(datagram), Arc::new(stream));
        let mut actors = place.sharing(3, &udp, |udp, _| udp.recv_from(&mut [0; 8]).unwrap_err().kind());
        actors.extend(place.sharing(3, &datagram, |socket, _| socket.recv(&mut [0; 8]).unwrap_err().kind()));
        actors.extend(place.sharing(3, &stream, |mut stream, _| stream.read(&mut [0; 8]).unwrap_err().kind()));
        settle();
        udp.close();
        datagram.close();
        stream.close();
        assert_eq!(join_all(actors), [ErrorKind::NotConnected; 9]);
        let anywhere = "127.0.0.1:9";
        assert_eq!(udp.send_to(&[0; 8], anywhere).unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!(datagram.send(&[0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn what_is_closed_says_so_whatever_is_asked_of_it() {
    in_fibers_and_a_thread(|| {
        let (stream, _peer) = tcp();
        let (unix, _other) = UnixStream::pair().unwrap();
        let (messages, _another) = UnixDatagram::pair().unwrap();
        stream.close();
        unix.close();
        messages.close();
        let both = std::net::Shutdown::Both;
        let errors = [
            stream.shutdown(both).unwrap_err(),
            unix.shutdown(both).unwrap_err(),
            messages.shutdown(both).unwrap_err(),
            stream.try_clone().map(drop).unwrap_err(),
            unix.try_clone().map(drop).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::NotConnected), "{errors:?}");
    });
}

#[test]
fn closing_is_done_once_and_leaves_clones() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        let clone = client.try_clone().unwrap();
        client.close();
        client.close();
        (&clone).write_all(b"still here").unwrap();
        let mut buf = [0; 10];
        (&server).read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"still here");
        drop(client);
        drop(clone);
        assert_eq!((&server).read(&mut buf).unwrap(), 0);
    });
}

#[test]
fn numbers_of_closed_sockets_are_not_used_again_while_they_are_held() {
    in_fibers_and_a_thread(|| {
        let (client, _server) = tcp();
        client.close();
        // If the number were free, one of these would have it.
        let others: Vec<_> = (0..20).map(|_| UnixStream::pair().unwrap()).collect();
        assert_eq!((&client).write(b"!").unwrap_err().kind(), ErrorKind::NotConnected);
        for (a, _) in &others {
            a.set_nonblocking(true).unwrap();
            let mut a = a;
            assert_eq!(a.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    });
}
