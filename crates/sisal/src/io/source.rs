//! A descriptor that fibers and threads wait for.

use super::error;
use crate::park;
use crate::prim::clock::Moment;
use crate::prim::reason::{Place, Reason};
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// What is waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What is to be done with a descriptor.
#[derive(Copy, Clone)]
pub(crate) struct Request {
    pub(crate) direction: Direction,
    pub(crate) reason: Reason,
    pub(crate) place: Place,
    pub(crate) deadline: Option<Moment>,
}

/// See the [module](self).
pub(crate) struct Source {
    fd: OwnedFd,
    closed: AtomicBool,
}

impl Source {
    /// Takes a descriptor over, and makes it one that does not block.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Source> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Source::nonblocking(fd))
    }

    /// Takes over a descriptor that does not block.
    pub(crate) fn nonblocking(fd: OwnedFd) -> Source {
        Source { fd, closed: AtomicBool::new(false) }
    }

    /// Gives the descriptor back, as one that does not block.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Ends all waits for it, now and later. The number is free when the source is dropped.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Does `op`, and whenever that would block, waits and does it again.
    pub(crate) fn perform<T>(
        &self,
        request: &Request,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            if self.closed.load(Ordering::Relaxed) {
                return Err(error::closed());
            }
            match op(self.fd.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => {
                    park::pay_fuel(request.place);
                    return other;
                }
            }
            let flags = match request.direction {
                Direction::Read => PollFlags::IN,
                Direction::Write => PollFlags::OUT,
            };
            rustix::event::poll(&mut [PollFd::new(&self.fd, flags)], None)?;
        }
    }

    /// As [`perform`](Self::perform) for the bytes of a TCP stream, where less than the `wanted` count means that no more are there, or
    /// that there is no room for more.
    pub(crate) fn transfer(
        &self,
        request: &Request,
        wanted: usize,
        op: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let _ = wanted;
        self.perform(request, op)
    }

    /// Does `op`; if that would block, the task of `context` is woken when it may not any more.
    pub(crate) fn poll<T>(
        &self,
        direction: Direction,
        context: &mut Context<'_>,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let _ = (direction, context);
        Poll::Ready(op(self.fd.as_fd()))
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
