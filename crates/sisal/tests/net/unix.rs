//! Unix sockets: streams, listeners and messages.

use crate::common::child;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::waits::in_fibers_and_a_thread;
use crate::common::{LONG, until};
use crate::wire::{MUCH, byte_at, read_much, unix_address, write_much};
use sisal::net::{UnixDatagram, UnixListener, UnixSocketAddr, UnixStream};
use sisal::{is_cancelled, timeout};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A path for a socket that is removed at the end.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> SocketPath {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        SocketPath(std::env::temp_dir().join(format!("sisal-net-{}-{number}", std::process::id())))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn bytes_arrive_as_they_were_sent_in_chunks_of_any_size() {
    everywhere(|place| {
        let (a, b) = UnixStream::pair().unwrap();
        let writer = place.spawn(move || write_much(&a, MUCH));
        let reader = place.spawn(move || read_much(&b));
        assert_eq!(reader.join(), MUCH);
        writer.join();
    });
}

#[test]
fn vectored_writes_and_reads_take_what_fits() {
    everywhere(|place| {
        let (a, b) = UnixStream::pair().unwrap();
        let length = MUCH / 4;
        let writer = place.spawn(move || {
            let all: Vec<u8> = (0..length).map(byte_at).collect();
            let mut sent = 0;
            while sent < length {
                let slices: Vec<_> = all[sent..].chunks(1021).take(1500).map(IoSlice::new).collect();
                sent += (&a).write_vectored(&slices).unwrap();
            }
        });
        let mut received = Vec::new();
        loop {
            let (mut first, mut second) = ([0; 3], [0; 5000]);
            let mut slices = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            match (&b).read_vectored(&mut slices).unwrap() {
                0 => break,
                now => received.extend(first.into_iter().chain(second).take(now)),
            }
        }
        writer.join();
        assert_eq!(received.len(), length);
        assert!(received.iter().enumerate().all(|(position, byte)| *byte == byte_at(position)));
    });
}

#[test]
fn connections_are_accepted_at_paths() {
    let _listeners_end = child::none_begins();
    everywhere(|place| {
        let path = SocketPath::new();
        let listener = UnixListener::bind(&path.0).unwrap();
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(path.0.as_path()));
        let target = path.0.clone();
        let client = place.spawn(move || {
            let mut stream = UnixStream::connect(&target).unwrap();
            assert_eq!(stream.peer_addr().unwrap().as_pathname(), Some(target.as_path()));
            stream.write_all(b"hello").unwrap();
        });
        let (mut server, peer) = listener.accept().unwrap();
        assert!(peer.is_unnamed());
        let mut hello = String::new();
        server.read_to_string(&mut hello).unwrap();
        assert_eq!(hello, "hello");
        client.join();
        assert_eq!(UnixListener::bind(&path.0).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(listener);
        assert_eq!(UnixStream::connect(&path.0).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn what_is_no_path_of_a_socket_is_refused() {
    in_fibers_and_a_thread(|| {
        let too_long = "x".repeat(200);
        assert_eq!(UnixStream::connect(&too_long).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(UnixListener::bind(&too_long).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(UnixStream::connect("with\0nul").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(UnixStream::connect("/no/such/socket").unwrap_err().kind(), ErrorKind::NotFound);
        assert!(UnixStream::connect("").is_err());
    });
}

#[test]
fn who_finds_the_queue_full_waits_for_room() {
    everywhere(|place| {
        let address = unix_address("backlog");
        let listener = UnixListener::bind_addr(&address).unwrap();
        // The kernel lets one more wait than it says.
        rustix::net::listen(&listener, 1).unwrap();
        let clients = place.crowd(8, |_| {
            let address = address.clone();
            move || {
                let mut byte = [0];
                UnixStream::connect_addr(&address).unwrap().read_exact(&mut byte).unwrap();
                byte[0]
            }
        });
        settle();
        for stream in listener.incoming().take(8) {
            stream.unwrap().write_all(&[7]).unwrap();
        }
        assert_eq!(join_all(clients), [7; 8]);
    });
}

#[test]
fn abstract_addresses_are_told_apart_from_paths() {
    in_fibers_and_a_thread(|| {
        let address = unix_address("abstract");
        let listener = UnixListener::bind_addr(&address).unwrap();
        let named = UnixDatagram::bind_addr(&unix_address("sender")).unwrap();
        assert_eq!(listener.local_addr().unwrap().as_abstract_name(), address.as_abstract_name());
        let receiver_address = unix_address("receiver");
        let receiver = UnixDatagram::bind_addr(&receiver_address).unwrap();
        named.send_to_addr(b"hello", &receiver_address).unwrap();
        let (length, sender) = receiver.recv_from(&mut [0; 8]).unwrap();
        assert_eq!(length, 5);
        assert_eq!(sender.as_abstract_name(), named.local_addr().unwrap().as_abstract_name());
        UnixDatagram::unbound().unwrap().send_to_addr(b"hi", &receiver_address).unwrap();
        assert!(receiver.recv_from(&mut [0; 8]).unwrap().1.is_unnamed());
    });
}

#[test]
fn messages_between_paths() {
    everywhere(|place| {
        let (here, there) = (SocketPath::new(), SocketPath::new());
        let socket = UnixDatagram::bind(&here.0).unwrap();
        let other = UnixDatagram::bind(&there.0).unwrap();
        let target = here.0.clone();
        let sender = place.spawn(move || {
            for number in 0..200u8 {
                assert_eq!(other.send_to(&[number; 100], &target).unwrap(), 100);
            }
        });
        let mut buf = [0; 128];
        for number in 0..200u8 {
            let (length, from) = socket.recv_from(&mut buf).unwrap();
            assert_eq!((length, from.as_pathname()), (100, Some(there.0.as_path())));
            assert_eq!(buf[..100], [number; 100]);
        }
        sender.join();
    });
}

#[test]
fn a_connected_datagram_socket_sends_without_an_address() {
    in_fibers_and_a_thread(|| {
        let path = SocketPath::new();
        let receiver = UnixDatagram::bind(&path.0).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.connect(&path.0).unwrap();
        assert_eq!(sender.peer_addr().unwrap().as_pathname(), Some(path.0.as_path()));
        sender.send(b"hello").unwrap();
        let mut buf = [0; 8];
        assert_eq!(receiver.peek(&mut buf).unwrap(), 5);
        assert_eq!(receiver.recv(&mut buf).unwrap(), 5);
        let other = UnixDatagram::unbound().unwrap();
        other.connect_addr(&UnixSocketAddr::from_pathname(&path.0).unwrap()).unwrap();
        other.send(b"hi").unwrap();
        assert_eq!(receiver.peek_from(&mut buf).unwrap().0, 2);
        other.shutdown(Shutdown::Write).unwrap();
        assert_eq!(other.send(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn who_is_gone_is_an_error_and_what_ended_is_an_end() {
    in_fibers_and_a_thread(|| {
        let (a, b) = UnixStream::pair().unwrap();
        a.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&b).read(&mut [0; 8]).unwrap(), 0);
        (&b).write_all(b"still").unwrap();
        let mut still = [0; 5];
        assert_eq!(a.peek(&mut still).unwrap(), 5);
        (&a).read_exact(&mut still).unwrap();
        drop(a);
        assert_eq!((&b).write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!((&b).write_vectored(&[IoSlice::new(b"!")]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn full_datagram_sockets_are_waited_for() {
    everywhere(|place| {
        let (a, b) = UnixDatagram::pair().unwrap();
        let (a, b) = (Arc::new(a), Arc::new(b));
        let senders = place.sharing(3, &a, |a, number| {
            (0..500).for_each(|_| assert_eq!(a.send(&[number as u8; 1000]).unwrap(), 1000));
        });
        let receivers = place.sharing(3, &b, |b, _| {
            let mut buf = [0; 1024];
            (0..500).for_each(|_| {
                let length = b.recv(&mut buf).unwrap();
                assert_eq!(length, 1000);
                assert!(buf[..length].iter().all(|byte| *byte == buf[0]));
            });
        });
        join_all(senders);
        join_all(receivers);
    });
}

#[test]
fn room_that_others_have_taken_is_waited_for_without_a_connection() {
    everywhere(|place| {
        let address = unix_address("room");
        let receiver = UnixDatagram::bind_addr(&address).unwrap();
        let filler = UnixDatagram::unbound().unwrap();
        filler.set_nonblocking(true).unwrap();
        let filled = (0..).find(|_| filler.send_to_addr(b"filled", &address).is_err()).unwrap();
        let has_given_up = Arc::new(AtomicBool::new(false));
        let gives_up = Arc::clone(&has_given_up);
        let late = place.spawn(move || {
            let socket = UnixDatagram::unbound().unwrap();
            socket.set_write_timeout(Some(Duration::from_millis(3))).unwrap();
            assert_eq!(socket.send_to_addr(b"late", &address).unwrap_err().kind(), ErrorKind::TimedOut);
            socket.set_write_timeout(None).unwrap();
            let cancelled = timeout(Duration::from_millis(3), || socket.send_to_addr(b"late", &address)).unwrap_err();
            assert!(is_cancelled(&cancelled));
            gives_up.store(true, Ordering::Release);
            socket.set_write_timeout(Some(LONG)).unwrap();
            socket.send_to_addr(b"late", &address).unwrap()
        });
        until(|| has_given_up.load(Ordering::Acquire));
        settle();
        let mut buf = [0; 8];
        (0..filled).for_each(|_| assert_eq!(receiver.recv(&mut buf).unwrap(), 6));
        assert_eq!(receiver.recv(&mut buf).unwrap(), 4);
        assert_eq!(late.join(), 4);
    });
}

#[test]
fn whoever_receives_messages_hears_of_a_shutdown_while_it_waits_and_afterwards() {
    everywhere(|place| {
        let (a, b) = UnixDatagram::pair().unwrap();
        a.send(b"before").unwrap();
        let b = Arc::new(b);
        let (tell, told) = sisal::chan::bounded(1);
        let receiver = {
            let b = Arc::clone(&b);
            place.spawn(move || {
                tell.send(b.recv(&mut [0; 16]).unwrap()).unwrap();
                b.recv(&mut [0; 16]).unwrap()
            })
        };
        assert_eq!(told.recv(), Ok(6));
        settle();
        b.shutdown(Shutdown::Read).unwrap();
        assert_eq!(receiver.join(), 0);
        for _ in 0..2 {
            assert_eq!(b.recv(&mut [0; 16]).unwrap(), 0);
            assert_eq!(b.recv_from(&mut [0; 16]).unwrap().0, 0);
            assert_eq!(b.peek(&mut [0; 16]).unwrap(), 0);
        }
        b.set_nonblocking(true).unwrap();
        assert_eq!(b.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::WouldBlock, "as std has it");
    });
}

#[test]
fn whoever_accepts_hears_of_a_shutdown_while_it_waits_and_afterwards() {
    everywhere(|place| {
        let path = SocketPath::new();
        let listener = Arc::new(UnixListener::bind(&path.0).unwrap());
        let waiting = Arc::clone(&listener);
        let waiting = place.spawn(move || waiting.accept().map(drop).unwrap_err().kind());
        settle();
        rustix::net::shutdown(&listener, rustix::net::Shutdown::Read).unwrap();
        assert_eq!(waiting.join(), ErrorKind::InvalidInput);
        assert_eq!(listener.accept().map(drop).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_peer_whose_path_fills_its_address_is_taken_like_any_other() {
    use rustix::net::{AddressFamily, SocketType};
    in_fibers_and_a_thread(|| {
        let folder =
            std::env::temp_dir().join(format!("sisal-long-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut path = folder.join("x").into_os_string().into_string().unwrap();
        while path.len() < 108 {
            path.push('x');
        }
        // With no room for the zero behind it, which `std` does not allow.
        let longest = rustix::net::SocketAddrUnix::new(path.as_str()).unwrap();
        let listener = UnixListener::bind(folder.join("listener")).unwrap();
        let client = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&client, &longest).unwrap();
        let at = rustix::net::SocketAddrUnix::new(folder.join("listener")).unwrap();
        rustix::net::connect(&client, &at).unwrap();
        let (_stream, peer) = listener.accept().unwrap();
        assert_eq!(peer.as_pathname().unwrap().to_str(), Some(path.as_str()));
        std::fs::remove_file(&path).unwrap();
        let receiver = UnixDatagram::bind(folder.join("receiver")).unwrap();
        let sender = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
        rustix::net::bind(&sender, &longest).unwrap();
        let to = rustix::net::SocketAddrUnix::new(folder.join("receiver")).unwrap();
        rustix::net::sendto(&sender, b"hello", rustix::net::SendFlags::empty(), &to).unwrap();
        assert_eq!(receiver.peek_from(&mut [0; 8]).unwrap().0, 5);
        assert_eq!(receiver.recv_from(&mut [0; 8]).unwrap().0, 5);
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
