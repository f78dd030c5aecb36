//! The pipes to a child.

use crate::io::MOST_SLICES;
use crate::io::source::{Direction, Request, Source};
use crate::prim::reason::Reason;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::Location;
use std::process::Stdio;

/// The writing end of a pipe to a child's standard input. Dropping it closes it, and the child reads the end.
///
/// ```
/// use sisal::process::{ChildStdin, Command, Stdio};
/// use std::io::Write;
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
/// let mut stdin: ChildStdin = child.stdin.take().unwrap();
/// stdin.write_all(b"to the child")?;
/// drop(stdin);
/// assert!(child.wait()?.success());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStdin(Source);

/// The reading end of a pipe from a child's standard output.
///
/// ```
/// use sisal::process::{ChildStdout, Command, Stdio};
/// use std::io::Read;
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let mut stdout: ChildStdout = child.stdout.take().unwrap();
/// let mut text = String::new();
/// stdout.read_to_string(&mut text)?;
/// assert_eq!(text, "hello\n");
/// # child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStdout(pub(super) Source);

/// The reading end of a pipe from a child's standard error.
///
/// ```
/// use sisal::process::{ChildStderr, Command, Stdio};
/// use std::io::Read;
/// let mut child = Command::new("sh").args(["-c", "echo wrong >&2"]).stderr(Stdio::piped()).spawn()?;
/// let mut stderr: ChildStderr = child.stderr.take().unwrap();
/// let mut text = String::new();
/// stderr.read_to_string(&mut text)?;
/// assert_eq!(text, "wrong\n");
/// # child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStderr(pub(super) Source);

#[track_caller]
fn request(direction: Direction) -> Request {
    let reason = match direction {
        Direction::Read => Reason::Read,
        Direction::Write => Reason::Write,
    };
    Request { direction, reason, place: Location::caller(), deadline: None }
}

fn read(source: &Source, buffer: &mut [u8]) -> io::Result<usize> {
    source.perform(&request(Direction::Read), |fd| Ok(rustix::io::read(fd, &mut *buffer)?))
}

fn read_vectored(source: &Source, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let most = buffers.len().min(MOST_SLICES);
    source.perform(&request(Direction::Read), |fd| Ok(rustix::io::readv(fd, &mut buffers[..most])?))
}

/// Gives a pipe to one who does not expect that it does not block.
fn into_blocking(source: Source) -> OwnedFd {
    let fd = source.into_fd();
    // It can't fail for a pipe; if it did, the other side would see an error and not wait.
    let _ = rustix::io::ioctl_fionbio(&fd, false);
    fd
}

/// Takes over a pipe. One that can't be told not to block is waited for by whoever uses it.
fn from_pipe(pipe: OwnedFd) -> Source {
    let _ = rustix::io::ioctl_fionbio(&pipe, true);
    Source::nonblocking(pipe)
}

impl ChildStdin {
    pub(super) fn new(pipe: impl Into<OwnedFd>) -> io::Result<ChildStdin> {
        Source::new(pipe.into()).map(ChildStdin)
    }
}

impl ChildStdout {
    pub(super) fn new(pipe: impl Into<OwnedFd>) -> io::Result<ChildStdout> {
        Source::new(pipe.into()).map(ChildStdout)
    }
}

impl ChildStderr {
    pub(super) fn new(pipe: impl Into<OwnedFd>) -> io::Result<ChildStderr> {
        Source::new(pipe.into()).map(ChildStderr)
    }
}

impl Write for &ChildStdin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.perform(&request(Direction::Write), |fd| Ok(rustix::io::write(fd, bytes)?))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = slices.len().min(MOST_SLICES);
        self.0.perform(&request(Direction::Write), |fd| Ok(rustix::io::writev(fd, &slices[..most])?))
    }

    /// Does nothing: what is written is in the pipe.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for ChildStdin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for ChildStdout {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.0, buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        read_vectored(&self.0, buffers)
    }
}

impl Read for ChildStderr {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.0, buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        read_vectored(&self.0, buffers)
    }
}

impl AsFd for ChildStdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for ChildStdout {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for ChildStderr {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for ChildStdin {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl AsRawFd for ChildStdout {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl AsRawFd for ChildStderr {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl From<ChildStdin> for OwnedFd {
    fn from(pipe: ChildStdin) -> OwnedFd {
        into_blocking(pipe.0)
    }
}

impl From<ChildStdout> for OwnedFd {
    fn from(pipe: ChildStdout) -> OwnedFd {
        into_blocking(pipe.0)
    }
}

impl From<ChildStderr> for OwnedFd {
    fn from(pipe: ChildStderr) -> OwnedFd {
        into_blocking(pipe.0)
    }
}

/// Takes over a pipe, which does not block from now on.
impl From<OwnedFd> for ChildStdin {
    fn from(pipe: OwnedFd) -> ChildStdin {
        ChildStdin(from_pipe(pipe))
    }
}

impl IntoRawFd for ChildStdin {
    fn into_raw_fd(self) -> RawFd {
        OwnedFd::from(self).into_raw_fd()
    }
}

/// Takes over a pipe, which does not block from now on.
impl From<OwnedFd> for ChildStdout {
    fn from(pipe: OwnedFd) -> ChildStdout {
        ChildStdout(from_pipe(pipe))
    }
}

impl IntoRawFd for ChildStdout {
    fn into_raw_fd(self) -> RawFd {
        OwnedFd::from(self).into_raw_fd()
    }
}

/// Takes over a pipe, which does not block from now on.
impl From<OwnedFd> for ChildStderr {
    fn from(pipe: OwnedFd) -> ChildStderr {
        ChildStderr(from_pipe(pipe))
    }
}

impl IntoRawFd for ChildStderr {
    fn into_raw_fd(self) -> RawFd {
        OwnedFd::from(self).into_raw_fd()
    }
}

/// So that one child writes what another reads.
impl From<ChildStdin> for Stdio {
    fn from(pipe: ChildStdin) -> Stdio {
        OwnedFd::from(pipe).into()
    }
}

/// So that one child reads what another writes.
impl From<ChildStdout> for Stdio {
    fn from(pipe: ChildStdout) -> Stdio {
        OwnedFd::from(pipe).into()
    }
}

/// So that one child reads what another writes.
impl From<ChildStderr> for Stdio {
    fn from(pipe: ChildStderr) -> Stdio {
        OwnedFd::from(pipe).into()
    }
}

impl fmt::Debug for ChildStdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildStdin").field(&self.as_raw_fd()).finish()
    }
}

impl fmt::Debug for ChildStdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildStdout").field(&self.as_raw_fd()).finish()
    }
}

impl fmt::Debug for ChildStderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildStderr").field(&self.as_raw_fd()).finish()
    }
}
