//! What can't be told from outside: what it was that ended a wait.

use super::UnixDatagram;
use super::unix_address::to_kernel;
use crate::io::pauses;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::panic::Location;
use std::sync::Arc;
use std::thread;

/// A socket at an address where there is no room for a message.
fn full(name: &str) -> (UnixDatagram, SocketAddr) {
    let address = SocketAddr::from_abstract_name(format!("sisal-{name}-{}", std::process::id())).unwrap();
    let receiver = UnixDatagram::bind_addr(&address).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to_addr(b"filled", &address).is_ok() {}
    (receiver, address)
}

/// Sends, and looks again for room only after an hour; returns the error.
fn send_late(socket: &UnixDatagram, address: &SocketAddr) -> ErrorKind {
    let (place, address) = (Location::caller(), to_kernel(address).unwrap());
    let sent = socket.socket.send_with_pauses(b"late", &address, pauses::tests::of_an_hour(), place);
    sent.unwrap_err().kind()
}

/// Closes the socket when somebody waits there.
fn close_when_awaited(socket: &UnixDatagram) {
    while !socket.socket.source.has_pausing() {
        crate::yield_now();
    }
    socket.close();
}

#[test]
fn closing_wakes_those_who_wait_for_room_that_nothing_tells_of() {
    crate::run(|| {
        let (_receiver, address) = full("closing");
        let address = Arc::new(address);
        let begin = || {
            let socket = Arc::new(UnixDatagram::unbound().unwrap());
            let (sending, address) = (Arc::clone(&socket), Arc::clone(&address));
            (socket, move || send_late(&sending, &address))
        };
        let (socket, send) = begin();
        let fiber = crate::spawn(send);
        close_when_awaited(&socket);
        assert_eq!(fiber.join().unwrap(), ErrorKind::NotConnected);

        let (socket, send) = begin();
        let thread = thread::spawn(send);
        close_when_awaited(&socket);
        assert_eq!(thread.join().unwrap(), ErrorKind::NotConnected);
    });
}

#[test]
fn a_cancel_ends_such_a_wait_and_leaves_the_socket_as_it_was() {
    crate::run(|| {
        let (receiver, address) = full("cancelling");
        let socket = Arc::new(UnixDatagram::unbound().unwrap());
        let (sending, target) = (Arc::clone(&socket), address.clone());
        let fiber = crate::spawn(move || send_late(&sending, &target));
        while !socket.socket.source.has_pausing() {
            crate::yield_now();
        }
        fiber.cancel();
        assert_eq!(fiber.join().unwrap(), ErrorKind::Other);
        assert!(!socket.socket.source.has_pausing());
        receiver.recv(&mut [0; 8]).unwrap();
        assert_eq!(socket.send_to_addr(b"late", &address).unwrap(), 4);
    });
}
