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

impl Socket {
    /// Waits for a connection. One that was given up before it could be taken is passed over.
    pub(super) fn accept(&self, deadline: Option<Moment>, place: Place) -> io::Result<(Socket, Option<SocketAddrAny>)> {
        let accepted = self.perform((Direction::Read, Reason::Accept), deadline, place, take)?;
        spread_next_spawn();
        Ok(accepted)
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
