//! Pipes, as [`std::io::pipe`] makes them, for fibers and threads.
#![allow(unsafe_code, reason = "a number is taken over as a descriptor, which is unsafe in std too")]

use super::MOST_SLICES;
use super::kin::Kin;
use super::patience::Timeout;
use super::source::{Direction, Request, Source};
use crate::prim::reason::{Place, Reason};
use rustix::fs::{Mode, OFlags};
use rustix::io::DupFlags;
use rustix::pipe::PipeFlags;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::Location;
use std::process::Stdio;
use std::time::Duration;

/// The two ends of a new pipe: what is written to the one is read from the other.
///
/// The ends may go to other processes: as an [`OwnedFd`] or a [`Stdio`] they block, as others expect.
///
/// # Errors
/// Those of the system.
///
/// ```
/// use std::io::{Read, Write};
/// sisal::run(|| {
///     let (mut reader, mut writer) = sisal::io::pipe()?;
///     let writing = sisal::spawn(move || writer.write_all(b"hello"));
///     let mut hello = String::new();
///     reader.read_to_string(&mut hello)?;
///     assert_eq!(hello, "hello");
///     writing.join().unwrap()
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let (reader, writer) = (Source::nonblocking(reader), Source::nonblocking(writer));
    let reader = PipeReader { source: reader, kin: Kin::default(), timeout: Timeout::default() };
    Ok((reader, PipeWriter { source: writer, kin: Kin::default(), timeout: Timeout::default() }))
}

/// The end of a [`pipe`] that is read: [`std::io::PipeReader`] for fibers and threads.
///
/// ```
/// use std::io::{Read, Write};
/// let (reader, mut writer) = sisal::io::pipe()?;
/// writer.write_all(b"!")?;
/// assert_eq!((&reader).read(&mut [0; 8])?, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PipeReader {
    source: Source,
    /// Its clones.
    kin: Kin,
    timeout: Timeout,
}

/// The end of a [`pipe`] that is written: [`std::io::PipeWriter`] for fibers and threads.
///
/// Writing what nobody can read any more is an error of the kind [`BrokenPipe`](io::ErrorKind::BrokenPipe).
///
/// ```
/// use std::io::{ErrorKind, Write};
/// let (reader, mut writer) = sisal::io::pipe()?;
/// drop(reader);
/// assert_eq!(writer.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PipeWriter {
    source: Source,
    /// Its clones.
    kin: Kin,
    timeout: Timeout,
}

impl PipeReader {
    /// The same end under another descriptor.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let (reader, mut writer) = sisal::io::pipe()?;
    /// writer.write_all(b"!")?;
    /// assert_eq!(reader.try_clone()?.read(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<PipeReader> {
        let source = Source::nonblocking(self.as_fd().try_clone_to_owned()?);
        Ok(PipeReader { source, kin: self.kin.share(), timeout: self.timeout.clone() })
    }

    /// How long a read waits at most; none for as long as it takes. Then it fails with [`TimedOut`](io::ErrorKind::TimedOut). A clone has one of
    /// its own, which is the same at first.
    ///
    /// # Errors
    /// If the time is zero.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// use std::time::Duration;
    /// let (mut reader, _writer) = sisal::io::pipe()?;
    /// reader.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.timeout.set(timeout)
    }

    /// What was [set](Self::set_read_timeout).
    ///
    /// # Errors
    /// None; sockets have the same call.
    ///
    /// ```
    /// let (reader, _writer) = sisal::io::pipe()?;
    /// assert_eq!(reader.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.timeout.get())
    }

    fn request(&self, place: Place) -> Request {
        Request { direction: Direction::Read, reason: Reason::Read, place, deadline: self.timeout.deadline() }
    }

    /// Wakes all who read here; they, and all who come later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// let (reader, _writer) = sisal::io::pipe()?;
    /// reader.close();
    /// assert_eq!((&reader).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.source.close();
    }
}

impl PipeWriter {
    /// The same end under another descriptor. The reader sees the end when both are gone.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::io::Write;
    /// let (_reader, writer) = sisal::io::pipe()?;
    /// writer.try_clone()?.write_all(b"!")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<PipeWriter> {
        let source = Source::nonblocking(self.as_fd().try_clone_to_owned()?);
        Ok(PipeWriter { source, kin: self.kin.share(), timeout: self.timeout.clone() })
    }

    /// How long a write waits at most; none for as long as it takes. Then it fails with [`TimedOut`](io::ErrorKind::TimedOut). A clone has one of
    /// its own, which is the same at first.
    ///
    /// # Errors
    /// If the time is zero.
    ///
    /// ```
    /// use std::io::{ErrorKind, Write};
    /// use std::time::Duration;
    /// let (_reader, mut writer) = sisal::io::pipe()?;
    /// writer.set_write_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(writer.write_all(&vec![0; 1 << 24]).unwrap_err().kind(), ErrorKind::TimedOut, "nobody reads");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.timeout.set(timeout)
    }

    /// What was [set](Self::set_write_timeout).
    ///
    /// # Errors
    /// None; sockets have the same call.
    ///
    /// ```
    /// let (_reader, writer) = sisal::io::pipe()?;
    /// assert_eq!(writer.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.timeout.get())
    }

    fn request(&self, place: Place) -> Request {
        Request { direction: Direction::Write, reason: Reason::Write, place, deadline: self.timeout.deadline() }
    }

    /// Wakes all who write here; they, and all who come later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// ```
    /// use std::io::{ErrorKind, Write};
    /// let (_reader, writer) = sisal::io::pipe()?;
    /// writer.close();
    /// assert_eq!((&writer).write(b"!").unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.source.close();
    }
}

impl Read for &PipeReader {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.source.perform(&self.request(Location::caller()), |fd| Ok(rustix::io::read(fd, &mut *buf)?))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let most = bufs.len().min(MOST_SLICES);
        self.source.perform(&self.request(Location::caller()), |fd| Ok(rustix::io::readv(fd, &mut bufs[..most])?))
    }
}

impl Read for PipeReader {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }
}

impl Write for &PipeWriter {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.source.perform(&self.request(Location::caller()), |fd| Ok(rustix::io::write(fd, buf)?))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = bufs.len().min(MOST_SLICES);
        self.source.perform(&self.request(Location::caller()), |fd| Ok(rustix::io::writev(fd, &bufs[..most])?))
    }

    /// Does nothing: nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for PipeWriter {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(bufs)
    }

    /// Does nothing: nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts another open file of the same pipe behind the number, so that it can be set to blocking by itself. If there can't be one (where
/// `/proc` is not mounted), it stays the one that its clones have, which then block as well.
fn part(fd: &mut OwnedFd, access: OFlags) {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    // Not blocking, or it would wait for the other end to be opened.
    let flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK;
    if let Ok(own) = rustix::fs::open(path, flags, Mode::empty()) {
        let _ = rustix::io::dup3(&own, fd, DupFlags::CLOEXEC);
    }
}

macro_rules! descriptor_of {
    ($end:ident, $flags:expr) => {
        impl AsFd for $end {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.source.as_fd()
            }
        }

        impl AsRawFd for $end {
            fn as_raw_fd(&self) -> RawFd {
                self.source.as_fd().as_raw_fd()
            }
        }

        /// Takes the descriptor over and sets it, and all its duplicates, to not blocking. If that fails it is no pipe, and all
        /// operations return errors.
        impl From<OwnedFd> for $end {
            fn from(fd: OwnedFd) -> $end {
                let _ = rustix::io::ioctl_fionbio(&fd, true);
                $end { source: Source::nonblocking(fd), kin: Kin::default(), timeout: Timeout::default() }
            }
        }

        /// Sets the descriptor to blocking, but not its clones.
        impl From<$end> for OwnedFd {
            fn from(end: $end) -> OwnedFd {
                let mut fd = end.source.into_fd();
                if end.kin.has_others() {
                    part(&mut fd, $flags);
                }
                let _ = rustix::io::ioctl_fionbio(&fd, false);
                fd
            }
        }

        /// As from an `OwnedFd`.
        impl FromRawFd for $end {
            unsafe fn from_raw_fd(fd: RawFd) -> $end {
                // SAFETY: the caller gives an open descriptor away, as is asked for here.
                $end::from(unsafe { OwnedFd::from_raw_fd(fd) })
            }
        }

        /// As into an `OwnedFd`.
        impl IntoRawFd for $end {
            fn into_raw_fd(self) -> RawFd {
                OwnedFd::from(self).into_raw_fd()
            }
        }

        impl From<std::io::$end> for $end {
            fn from(end: std::io::$end) -> $end {
                $end::from(OwnedFd::from(end))
            }
        }

        impl From<$end> for std::io::$end {
            fn from(end: $end) -> std::io::$end {
                OwnedFd::from(end).into()
            }
        }

        impl From<$end> for Stdio {
            fn from(end: $end) -> Stdio {
                OwnedFd::from(end).into()
            }
        }

        impl fmt::Debug for $end {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($end)).field(&self.as_raw_fd()).finish()
            }
        }
    };
}

descriptor_of!(PipeReader, OFlags::RDONLY);
descriptor_of!(PipeWriter, OFlags::WRONLY);
