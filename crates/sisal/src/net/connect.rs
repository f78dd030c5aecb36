//! Reaching a peer.
//!
//! A TCP connection is begun once and waited for; it stands when the socket has no error and has a peer. A Unix socket connects at once
//! or, when the listener's queue is full, not at all: see [`pauses`](crate::io::pauses).
//!
//! Whatever ends the attempt, the socket goes with it.

use super::internet_address;
use super::socket::Socket;
use crate::io::pauses::Pauses;
use crate::io::source::Direction;
use crate::prim::clock::Moment;
use crate::prim::reason::{Place, Reason};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// A TCP connection to one address.
pub(super) fn tcp(address: &SocketAddr, deadline: Option<Moment>, place: Place) -> io::Result<Socket> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = stream(family)?.of_tcp();
    let address = internet_address::swap(*address);
    let mut has_begun = false;
    socket.perform((Direction::Write, Reason::Connect), deadline, place, |fd| {
        if has_begun { outcome(fd) } else { begin(fd, &address, &mut has_begun) }
    })?;
    Ok(socket)
}

fn begin(fd: BorrowedFd<'_>, address: &impl SocketAddrArg, has_begun: &mut bool) -> io::Result<()> {
    *has_begun = true;
    match rustix::net::connect(fd, address) {
        // It goes on also when the call was interrupted.
        Err(Errno::INPROGRESS | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        // Here this is no request to wait.
        Err(Errno::AGAIN) => Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "no local port is free")),
        other => Ok(other?),
    }
}

/// Looks at the peer, too: one may be woken before there is any outcome.
fn outcome(fd: BorrowedFd<'_>) -> io::Result<()> {
    rustix::net::sockopt::socket_error(fd)??;
    match rustix::net::getpeername(fd) {
        Err(Errno::NOTCONN) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// A stream to a Unix socket.
pub(super) fn unix(address: &SocketAddrUnix, place: Place) -> io::Result<Socket> {
    let socket = stream(AddressFamily::UNIX)?;
    let mut pauses = Pauses::new(Reason::Connect, None, place);
    loop {
        match rustix::net::connect(&socket, address) {
            Ok(()) => return Ok(socket),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => pauses.pause()?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn stream(family: AddressFamily) -> io::Result<Socket> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(Socket::fresh(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?))
}
