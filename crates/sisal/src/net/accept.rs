//! Taking connections from a listening socket.

use super::accepted::spread_next_spawn;
use super::socket::Socket;
use crate::io::source::Direction;
use crate::prim::clock::Moment;
use crate::prim::reason::{Place, Reason};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags};
use std::io;
use std::os::fd::BorrowedFd;

/// How many connections may wait to be accepted: as many as the system allows (`somaxconn`). `std` asks for 128, which a burst of
/// clients fills before a busy program comes to accept; who finds it full tries again after a second.
const QUEUE: i32 = i32::MAX;

impl Socket {
    /// Has a socket that listens already do so with a long queue. If that fails, it keeps the one it has.
    pub(super) fn lengthen_queue(&self) {
        let _ = rustix::net::listen(self, QUEUE);
    }

    /// Waits for a connection. One that was given up before it could be taken is passed over.
    pub(super) fn accept(&self, deadline: Option<Moment>, place: Place) -> io::Result<(Socket, Option<SocketAddrAny>)> {
        let (accepted, peer) = self.perform((Direction::Read, Reason::Accept), deadline, place, |listener| {
            self.keep_from_blocking();
            if self.is_tcp {
                take(listener)
            } else {
                self.unless_shut_down(listener, take, || Err(Errno::INVAL.into()))
            }
        })?;
        spread_next_spawn(place);
        Ok((Socket { is_tcp: self.is_tcp, ..accepted }, peer))
    }
}

fn take(listener: BorrowedFd<'_>) -> io::Result<(Socket, Option<SocketAddrAny>)> {
    loop {
        // One call, so that no `exec` and no reader comes between the connection and its flags.
        match rustix::net::acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok((fd, peer)) => return Ok((Socket::fresh(fd), peer)),
            Err(Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
