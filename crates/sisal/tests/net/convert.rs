//! To the types of `std`, to descriptors, and back.

use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{tcp, unix_address};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{FdFlags, fcntl_getfd};
use sisal::io::{PipeReader, PipeWriter, pipe};
use sisal::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

fn blocks(fd: impl AsFd) -> bool {
    !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

fn is_inherited(fd: impl AsFd) -> bool {
    !fcntl_getfd(fd).unwrap().contains(FdFlags::CLOEXEC)
}

/// Takes a socket to `std`'s type and back, and by descriptor and number.
fn round_trip<T, S>(socket: T) -> T
where
    T: AsFd + AsRawFd + FromRawFd + IntoRawFd + From<S> + From<OwnedFd> + Into<OwnedFd>,
    S: AsFd + From<T> + From<OwnedFd> + Into<OwnedFd>,
{
    assert!(!blocks(&socket) && !is_inherited(&socket));
    let number = socket.as_raw_fd();
    let of_std = S::from(socket);
    assert!(blocks(&of_std) && !is_inherited(&of_std));
    let socket = T::from(of_std);
    assert!(!blocks(&socket));
    let fd: OwnedFd = socket.into();
    assert!(blocks(&fd));
    let socket = T::from(fd);
    assert!(!blocks(&socket));
    let raw = socket.into_raw_fd();
    assert_eq!(raw, number, "it is the same descriptor throughout");
    // SAFETY: it was just given away.
    #[allow(unsafe_code, reason = "that is what is tested")]
    unsafe {
        T::from_raw_fd(raw)
    }
}

#[test]
fn sockets_go_to_std_and_back() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        let client = round_trip::<TcpStream, std::net::TcpStream>(client);
        (&client).write_all(b"hello").unwrap();
        let mut hello = [0; 5];
        (&server).read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello");

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = round_trip::<TcpListener, std::net::TcpListener>(listener);
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(!blocks(&accepted) && !is_inherited(&accepted));

        let udp = round_trip::<UdpSocket, std::net::UdpSocket>(UdpSocket::bind("127.0.0.1:0").unwrap());
        udp.send_to(b"!", udp.local_addr().unwrap()).unwrap();
        assert_eq!(udp.recv(&mut [0; 8]).unwrap(), 1);

        let (a, b) = UnixStream::pair().unwrap();
        let a = round_trip::<UnixStream, std::os::unix::net::UnixStream>(a);
        (&a).write_all(b"!").unwrap();
        assert_eq!((&b).read(&mut [0; 8]).unwrap(), 1);

        let (a, b) = UnixDatagram::pair().unwrap();
        let a = round_trip::<UnixDatagram, std::os::unix::net::UnixDatagram>(a);
        a.send(b"!").unwrap();
        assert_eq!(b.recv(&mut [0; 8]).unwrap(), 1);

        let address = unix_address("convert");
        let listener = UnixListener::bind_addr(&address).unwrap();
        let listener = round_trip::<UnixListener, std::os::unix::net::UnixListener>(listener);
        let _client = UnixStream::connect_addr(&address).unwrap();
        listener.accept().unwrap();

        let (reader, writer) = pipe().unwrap();
        let reader = round_trip::<PipeReader, std::io::PipeReader>(reader);
        let writer = round_trip::<PipeWriter, std::io::PipeWriter>(writer);
        (&writer).write_all(b"!").unwrap();
        assert_eq!((&reader).read(&mut [0; 8]).unwrap(), 1);
    });
}

#[test]
fn a_socket_that_was_waited_for_works_elsewhere() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        server.set_read_timeout(Some(Duration::from_millis(3))).unwrap();
        assert_eq!((&server).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
        server.set_read_timeout(None).unwrap();
        let server = std::net::TcpStream::from(server);
        (&client).write_all(b"hello").unwrap();
        let mut hello = [0; 5];
        (&server).read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello");
        let server = TcpStream::from(server);
        (&client).write_all(b"hello").unwrap();
        (&server).read_exact(&mut hello).unwrap();
    });
}

#[test]
fn timeouts_and_choices_go_along() {
    in_fibers_and_a_thread(|| {
        let (read, write) = (Some(Duration::from_millis(1500)), Some(Duration::from_millis(2500)));
        let (client, _server) = tcp();
        client.set_read_timeout(read).unwrap();
        client.set_write_timeout(write).unwrap();
        let clone = client.try_clone().unwrap();
        assert_eq!((clone.read_timeout().unwrap(), clone.write_timeout().unwrap()), (read, write));
        let of_std = std::net::TcpStream::from(client);
        assert_eq!((of_std.read_timeout().unwrap(), of_std.write_timeout().unwrap()), (read, write));
        let client = TcpStream::from(of_std);
        assert_eq!((client.read_timeout().unwrap(), client.write_timeout().unwrap()), (read, write));
        client.set_read_timeout(None).unwrap();
        client.set_nonblocking(true).unwrap();
        let of_std = std::net::TcpStream::from(client);
        assert!(!blocks(&of_std));
        assert_eq!(of_std.read_timeout().unwrap(), None);
    });
}

#[test]
fn what_is_no_socket_refuses_everything() {
    in_fibers_and_a_thread(|| {
        let file = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let stream = TcpStream::from(file);
        assert!((&stream).read(&mut [0; 8]).is_err());
        assert!((&stream).write(&[0; 8]).is_err());
        assert!(stream.peer_addr().is_err());
        let file = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        assert!(TcpListener::from(file).accept().is_err());
    });
}

#[test]
fn a_duplicate_that_is_set_to_blocking_blocks_no_stream() {
    in_fibers_and_a_thread(|| {
        let (_client, server) = tcp();
        let of_std = std::net::TcpStream::from(server.try_clone().unwrap());
        assert!(blocks(&server), "they share it");
        server.set_nonblocking(true).unwrap();
        assert_eq!((&server).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(of_std);
    });
}

#[test]
fn they_are_shown_as_those_of_std() {
    in_fibers_and_a_thread(|| {
        let (client, _server) = tcp();
        let shown = format!("{client:?}");
        let of_std = std::net::TcpStream::from(client);
        assert_eq!(shown, format!("{of_std:?}"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert!(format!("{listener:?}").contains(&address));
        assert!(format!("{:?}", UdpSocket::bind("127.0.0.1:0").unwrap()).starts_with("UdpSocket"));
        assert!(format!("{:?}", UnixStream::pair().unwrap().0).starts_with("UnixStream"));
        assert!(format!("{:?}", UnixDatagram::unbound().unwrap()).starts_with("UnixDatagram"));
        assert!(format!("{:?}", listener.incoming()).contains(&address));
        assert!(format!("{:?}", pipe().unwrap()).starts_with("(PipeReader("));
    });
}

#[test]
fn they_may_go_anywhere() {
    fn anywhere<T: Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {}
    anywhere::<TcpListener>();
    anywhere::<TcpStream>();
    anywhere::<UdpSocket>();
    anywhere::<UnixDatagram>();
    anywhere::<UnixListener>();
    anywhere::<UnixStream>();
    anywhere::<PipeReader>();
    anywhere::<PipeWriter>();
    anywhere::<sisal::io::Pollable<OwnedFd>>();
}

#[test]
fn a_listener_is_not_made_to_block_by_a_clone_that_goes_elsewhere() {
    in_fibers_and_a_thread(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let of_std = std::net::TcpListener::from(listener.try_clone().unwrap());
        assert_eq!(of_std.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        // Somebody insists.
        of_std.set_nonblocking(false).unwrap();
        assert_eq!(listener.accept_timeout(Duration::from_millis(2)).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(of_std);
        assert!(blocks(std::net::TcpListener::from(listener)), "it has no clones any more");

        let listener = UnixListener::bind_addr(&unix_address("clone")).unwrap();
        let of_std = std::os::unix::net::UnixListener::from(listener.try_clone().unwrap());
        of_std.set_nonblocking(false).unwrap();
        assert_eq!(listener.accept_timeout(Duration::from_millis(2)).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn the_end_of_a_pipe_that_goes_elsewhere_blocks_alone() {
    in_fibers_and_a_thread(|| {
        let (reader, writer) = pipe().unwrap();
        let clone = writer.try_clone().unwrap();
        let number = clone.as_raw_fd();
        let of_std = std::io::PipeWriter::from(clone);
        assert_eq!(of_std.as_raw_fd(), number);
        assert!(blocks(&of_std) && !is_inherited(&of_std));
        assert!(!blocks(&writer));
        (&of_std).write_all(b"here").unwrap();
        (&writer).write_all(b" and there").unwrap();
        drop((of_std, writer));
        let of_std = std::io::PipeReader::from(reader.try_clone().unwrap());
        assert!(blocks(&of_std) && !blocks(&reader));
        let mut text = String::new();
        (&of_std).read_to_string(&mut text).unwrap();
        assert_eq!(text, "here and there");
        // One whose reader has gone.
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let of_std = std::io::PipeWriter::from(writer.try_clone().unwrap());
        assert_eq!((&of_std).write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}
