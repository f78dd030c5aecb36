//! The streams as futures use them: what would block says so, and wakes the task when it is worth another try.
//!
//! The timeouts of a stream are for the calls that wait, and play no part here.

use super::socket::{Socket, send, send_vectored, wanted_of};
use super::{TcpStream, UnixStream};
use crate::io::source::Direction;
use crate::park::gives_way_for_system_call;
use rustix::net::RecvFlags;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};

/// A stream that can be polled.
pub(crate) trait PollStream {
    fn socket(&self) -> &Socket;

    /// Receives into `buf`; returns how many bytes of it, from the first on, have been written.
    fn poll_receive(&self, context: &mut Context<'_>, buf: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>> {
        let wanted = buf.len();
        poll(self.socket(), Direction::Read, wanted, context, |fd| {
            let ((received, _), _) = rustix::net::recv(fd, &mut *buf, RecvFlags::DONTWAIT)?;
            Ok(received.len())
        })
    }

    fn poll_send(&self, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        poll(self.socket(), Direction::Write, buf.len(), context, |fd| send(fd, buf))
    }

    fn poll_send_vectored(&self, context: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let wanted = wanted_of(bufs);
        if wanted == 0 && !self.socket().source.is_closed() {
            return Poll::Ready(Ok(0));
        }
        poll(self.socket(), Direction::Write, wanted, context, |fd| send_vectored(fd, bufs))
    }

    /// Nothing more will be sent. Without a connection that is so already.
    fn end_sending(&self) -> io::Result<()> {
        self.socket().end_sending()
    }
}

fn poll(
    socket: &Socket,
    direction: Direction,
    wanted: usize,
    context: &mut Context<'_>,
    op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    if gives_way_for_system_call(context) {
        return Poll::Pending;
    }
    socket.poll(direction, wanted, context, op)
}

impl<S: PollStream> PollStream for &S {
    fn socket(&self) -> &Socket {
        (**self).socket()
    }
}

impl PollStream for TcpStream {
    fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl PollStream for UnixStream {
    fn socket(&self) -> &Socket {
        &self.socket
    }
}
