//! What all sockets share: the descriptor that is waited for, and how long.
//!
//! Whatever may wait goes through [`Socket::perform`] or [`Socket::transfer`]; whatever never does goes through a
//! [view](Socket::view) of the descriptor as one of `std`'s sockets.
//!
//! Bytes are moved by `recv` and `send` with `MSG_DONTWAIT`, and not by `read` and `write`: `O_NONBLOCK` belongs to the open file and
//! not to the descriptor, so whoever has a duplicate can take it away, and the next `read` would block the worker.

use super::internet_address;
use super::view::View;
use crate::io::MOST_SLICES;
use crate::io::error;
use crate::io::kin::Kin;
use crate::io::patience::{Switch, Timeout};
use crate::io::pauses::Pauses;
use crate::io::source::{Direction, Request, Source};
use crate::park;
use crate::prim::clock::Moment;
use crate::prim::reason::{Place, Reason};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{self, Timeout as Which};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrAny, SocketAddrUnix,
    SocketFlags, SocketType, ipproto,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

/// `MSG_NOSIGNAL`: a peer that is gone is an error and not a signal, also where `SIGPIPE` is not ignored.
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// See the [module](self).
pub(crate) struct Socket {
    pub(super) source: Source,
    pub(super) read_timeout: Timeout,
    pub(super) write_timeout: Timeout,
    /// Whether operations return `WouldBlock` instead of waiting.
    pub(super) nonblocking: Switch,
    /// Whether its bytes are a stream that gives all it has. (One of Unix sockets stops where descriptors or credentials are sent with them; and
    /// what was given to us as a TCP socket may be anything.)
    pub(super) is_tcp: bool,
    /// Its clones.
    pub(super) kin: Kin,
}

impl Socket {
    /// Takes over a descriptor that does not block and was just made.
    pub(super) fn fresh(fd: OwnedFd) -> Socket {
        Socket {
            source: Source::nonblocking(fd),
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
            nonblocking: Switch::default(),
            is_tcp: false,
            kin: Kin::default(),
        }
    }

    /// The same, known to be one of TCP.
    pub(super) fn of_tcp(self) -> Socket {
        Socket { is_tcp: true, ..self }
    }

    /// Takes over one of `std`'s that was just made: there is nothing to learn about it.
    pub(super) fn just_made(socket: impl Into<OwnedFd>) -> io::Result<Socket> {
        let fd = socket.into();
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Socket::fresh(fd))
    }

    /// Two Unix sockets that are connected with each other.
    pub(super) fn unix_pair(kind: SocketType) -> io::Result<(Socket, Socket)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (a, b) = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None)?;
        Ok((Socket::fresh(a), Socket::fresh(b)))
    }

    /// Takes over a descriptor from elsewhere, with the timeouts it has there.
    ///
    /// Errors are of no interest: what is no socket, or can't be set to not blocking, refuses every operation with an error of its own.
    pub(super) fn adopt(fd: OwnedFd) -> Socket {
        let _ = rustix::io::ioctl_fionbio(&fd, true);
        let timeout = |which| sockopt::socket_timeout(&fd, which).unwrap_or(None);
        let (read, write) = (timeout(Which::Recv), timeout(Which::Send));
        let is_tcp = sockopt::socket_protocol(&fd).is_ok_and(|protocol| protocol == Some(ipproto::TCP));
        let socket = Socket { is_tcp, ..Socket::fresh(fd) };
        let _ = socket.read_timeout.set(read);
        let _ = socket.write_timeout.set(write);
        socket
    }

    /// Gives the descriptor away as `std` would have it: blocking, unless that was chosen otherwise, and with its timeouts. A listener that
    /// has clones stays as it is: they accept, and there is no way to tell the kernel not to block in that.
    pub(super) fn release(self) -> OwnedFd {
        let Socket { source, read_timeout, write_timeout, nonblocking, is_tcp: _, kin } = self;
        let fd = source.into_fd();
        if !(kin.has_others() && sockopt::socket_acceptconn(&fd).unwrap_or(false)) {
            let _ = rustix::io::ioctl_fionbio(&fd, nonblocking.is_on());
        }
        let _ = sockopt::set_socket_timeout(&fd, Which::Recv, read_timeout.get());
        let _ = sockopt::set_socket_timeout(&fd, Which::Send, write_timeout.get());
        fd
    }

    /// The same socket under another descriptor.
    pub(super) fn try_clone(&self) -> io::Result<Socket> {
        if self.source.is_closed() {
            return Err(error::closed());
        }
        let fd = self.source.as_fd().try_clone_to_owned()?;
        Ok(Socket {
            source: Source::nonblocking(fd),
            read_timeout: self.read_timeout.clone(),
            write_timeout: self.write_timeout.clone(),
            nonblocking: self.nonblocking.clone(),
            is_tcp: self.is_tcp,
            kin: self.kin.share(),
        })
    }

    /// Has the kernel not block in an operation that can't be told so, if a duplicate may have been set to block.
    #[inline]
    pub(super) fn keep_from_blocking(&self) {
        if self.kin.was_shared() {
            let _ = rustix::io::ioctl_fionbio(self, true);
        }
    }

    pub(super) fn close(&self) {
        self.source.close();
    }

    /// The descriptor as one of `std`'s sockets.
    pub(super) fn view<T: From<OwnedFd>>(&self) -> View<'_, T> {
        View::of(self.source.as_fd())
    }

    /// Does `op` and waits as often as it would block, until `deadline`.
    #[inline]
    pub(super) fn perform<T>(
        &self,
        (direction, reason): (Direction, Reason),
        deadline: Option<Moment>,
        place: Place,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.nonblocking.is_on() {
            return self.attempt(place, op);
        }
        self.source.perform(&Request { direction, reason, place, deadline }, op)
    }

    /// As [`perform`](Self::perform) for the bytes of a TCP stream.
    #[inline]
    fn transfer(
        &self,
        direction: Direction,
        wanted: usize,
        place: Place,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if self.nonblocking.is_on() {
            return self.attempt(place, op);
        }
        let (reason, deadline) = self.plan(direction);
        let request = Request { direction, reason, place, deadline };
        if self.is_tcp { self.source.transfer(&request, wanted, op) } else { self.source.perform(&request, op) }
    }

    /// As [`perform`](Self::perform), to read or to write, with the timeout of that.
    #[inline]
    pub(super) fn exchange<T>(
        &self,
        direction: Direction,
        place: Place,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let (reason, deadline) = self.plan(direction);
        self.perform((direction, reason), deadline, place, op)
    }

    #[inline]
    fn plan(&self, direction: Direction) -> (Reason, Option<Moment>) {
        match direction {
            Direction::Read => (Reason::Read, self.read_timeout.deadline()),
            Direction::Write => (Reason::Write, self.write_timeout.deadline()),
        }
    }

    /// Does `op` without waiting.
    #[cold]
    fn attempt<T>(&self, place: Place, mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>) -> io::Result<T> {
        // One who asks again and again is to let others have their turn.
        park::pay_fuel_for_system_call(place);
        loop {
            if self.source.is_closed() {
                return Err(error::closed());
            }
            match op(self.source.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.source.is_closed() => {}
                other => return other,
            }
        }
    }

    /// Bytes of a TCP stream.
    #[inline]
    pub(super) fn read_stream(&self, buf: &mut [u8], place: Place) -> io::Result<usize> {
        self.transfer(Direction::Read, buf.len(), place, |fd| receive(fd, buf, RecvFlags::empty()))
    }

    /// Bytes of a TCP stream.
    #[inline]
    pub(super) fn write_stream(&self, buf: &[u8], place: Place) -> io::Result<usize> {
        self.transfer(Direction::Write, buf.len(), place, |fd| send(fd, buf))
    }

    /// Bytes of a TCP stream.
    pub(super) fn read_stream_vectored(&self, bufs: &mut [IoSliceMut<'_>], place: Place) -> io::Result<usize> {
        let wanted = bufs.iter().take(MOST_SLICES).map(|buf| buf.len()).sum();
        if wanted == 0 {
            return self.attempt(place, |_| Ok(0));
        }
        self.transfer(Direction::Read, wanted, place, |fd| receive_vectored(fd, bufs))
    }

    /// Bytes of a TCP stream.
    pub(super) fn write_stream_vectored(&self, bufs: &[IoSlice<'_>], place: Place) -> io::Result<usize> {
        let wanted = wanted_of(bufs);
        if wanted == 0 {
            return self.attempt(place, |_| Ok(0));
        }
        self.transfer(Direction::Write, wanted, place, |fd| send_vectored(fd, bufs))
    }

    /// Bytes of a Unix stream, or a look at those of any.
    pub(super) fn receive(&self, buf: &mut [u8], flags: RecvFlags, place: Place) -> io::Result<usize> {
        self.exchange(Direction::Read, place, |fd| receive(fd, buf, flags))
    }

    /// A message, or bytes of a Unix stream.
    pub(super) fn send(&self, buf: &[u8], place: Place) -> io::Result<usize> {
        self.exchange(Direction::Write, place, |fd| send(fd, buf))
    }

    /// Bytes of a Unix stream.
    pub(super) fn receive_vectored(&self, bufs: &mut [IoSliceMut<'_>], place: Place) -> io::Result<usize> {
        // As `readv`: the message that is received here would be waited for.
        if bufs.iter().take(MOST_SLICES).all(|buf| buf.is_empty()) {
            return self.attempt(place, |_| Ok(0));
        }
        self.exchange(Direction::Read, place, |fd| receive_vectored(fd, bufs))
    }

    /// Bytes of a Unix stream.
    pub(super) fn send_vectored(&self, bufs: &[IoSlice<'_>], place: Place) -> io::Result<usize> {
        if wanted_of(bufs) == 0 {
            return self.attempt(place, |_| Ok(0));
        }
        self.exchange(Direction::Write, place, |fd| send_vectored(fd, bufs))
    }

    /// A message and who sent it.
    pub(super) fn receive_from(
        &self,
        buf: &mut [u8],
        flags: RecvFlags,
        place: Place,
    ) -> io::Result<(usize, Option<SocketAddrAny>)> {
        self.exchange(Direction::Read, place, |fd| {
            self.unless_shut_down(fd, |fd| receive_from(fd, buf, flags), || Ok((0, None)))
        })
    }

    /// Nothing more will be sent. One who is gone already need not be told.
    pub(super) fn end_sending(&self) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(()),
            other => other,
        }
    }

    /// Ends it in one direction or both, for this and all that have it.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        match rustix::net::shutdown(self, how) {
            Err(_) if self.source.is_closed() => Err(error::closed()),
            other => Ok(other?),
        }
    }

    /// Does `op`, which takes a message or a connection, and after a shutdown what the kernel does for who blocks in it: `ended`. Then there is always
    /// something to be had, it says, and whoever does not block is told to wait all the same.
    pub(super) fn unless_shut_down<T>(
        &self,
        fd: BorrowedFd<'_>,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
        ended: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let would_block = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock && !self.nonblocking.is_on();
        match op(fd) {
            Err(error) if would_block(&error) && is_shut_down(fd) => match op(fd) {
                // What came before the end has come before.
                Err(error) if would_block(&error) => ended(),
                other => other,
            },
            other => other,
        }
    }

    /// A message to one internet address.
    pub(super) fn send_to(&self, buf: &[u8], address: &SocketAddr, place: Place) -> io::Result<usize> {
        self.exchange(Direction::Write, place, |fd| {
            Ok(rustix::net::sendto(fd, buf, SEND, &internet_address::swap(*address))?)
        })
    }

    /// A message to one address of a Unix socket, which tells nobody when it has room: see [`pauses`](crate::io::pauses).
    pub(super) fn send_to_unix(&self, buf: &[u8], address: &SocketAddrUnix, place: Place) -> io::Result<usize> {
        self.send_with_pauses(buf, address, Pauses::new(Reason::Write, self.write_timeout.deadline(), place), place)
    }

    /// As [`send_to_unix`](Self::send_to_unix), with these pauses.
    pub(super) fn send_with_pauses(
        &self,
        buf: &[u8],
        address: &SocketAddrUnix,
        mut pauses: Pauses,
        place: Place,
    ) -> io::Result<usize> {
        loop {
            match self.attempt(place, |fd| Ok(rustix::net::sendto(fd, buf, SEND, address)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.nonblocking.is_on() => {
                    self.source.pause(&mut pauses)?
                }
                other => return other,
            }
        }
    }

    /// Bytes of a stream, for a task.
    pub(super) fn poll_receive(&self, buf: &mut [u8], context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll(Direction::Read, buf.len(), context, |fd| receive(fd, buf, RecvFlags::empty()))
    }

    /// Bytes of a stream, for a task.
    pub(super) fn poll_send(&self, buf: &[u8], context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll(Direction::Write, buf.len(), context, |fd| send(fd, buf))
    }

    /// As [`transfer`](Self::transfer), for a task. Of what is no TCP stream no count says that nothing is left.
    pub(super) fn poll(
        &self,
        direction: Direction,
        wanted: usize,
        context: &mut Context<'_>,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.source.poll(direction, if self.is_tcp { wanted } else { 0 }, context, op)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

/// How many bytes are to be written. If there are none, nothing is done, as by `writev`, which does not ask the socket then.
pub(super) fn wanted_of(bufs: &[IoSlice<'_>]) -> usize {
    bufs.iter().take(MOST_SLICES).map(|buf| buf.len()).sum()
}

#[inline]
fn receive(fd: BorrowedFd<'_>, buf: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
    let (length, _) = rustix::net::recv(fd, buf, flags | RecvFlags::DONTWAIT)?;
    Ok(length)
}

fn receive_from(fd: BorrowedFd<'_>, buf: &mut [u8], flags: RecvFlags) -> io::Result<(usize, Option<SocketAddrAny>)> {
    let (length, _, sender) = rustix::net::recvfrom(fd, buf, flags | RecvFlags::DONTWAIT)?;
    Ok((length, sender))
}

/// Whether nothing more will come to be read.
fn is_shut_down(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::RDHUP)
}

#[inline]
pub(super) fn send(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, buf, SEND)?)
}

fn receive_vectored(fd: BorrowedFd<'_>, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let most = bufs.len().min(MOST_SLICES);
    let flags = RecvFlags::DONTWAIT;
    Ok(rustix::net::recvmsg(fd, &mut bufs[..most], &mut RecvAncillaryBuffer::default(), flags)?.bytes)
}

pub(super) fn send_vectored(fd: BorrowedFd<'_>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    let most = bufs.len().min(MOST_SLICES);
    Ok(rustix::net::sendmsg(fd, &bufs[..most], &mut SendAncillaryBuffer::default(), SEND)?)
}
