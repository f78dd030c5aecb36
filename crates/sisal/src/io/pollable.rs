//! Any other descriptor that can be waited for.

use super::MOST_SLICES;
use super::patience::Timeout;
use super::source::{Direction, Request, Source};
use crate::prim::fork;
use crate::prim::reason::{Place, Reason};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::Location;
use std::time::Duration;

/// Any descriptor that can be waited for: an eventfd, inotify, a terminal, a pipe of another crate.
///
/// What it holds does the work; it is told when to try again. The descriptor is set to not blocking, which all its duplicates share, until
/// this is dropped or [given back](Self::into_inner). So of one file there should be one `Pollable`, which may be shared: of two, the one that
/// stays would block its worker when the other has gone. Files on a disk never have to be waited for in this sense: see `sisal::fs` for those.
///
/// Who waits for it parks its fiber, or blocks its thread outside of fibers.
///
/// ```
/// use rustix::event::{EventfdFlags, eventfd};
/// use sisal::io::Pollable;
/// use std::io::{Read, Write};
///
/// sisal::run(|| {
///     let counter = std::sync::Arc::new(Pollable::new(eventfd(0, EventfdFlags::CLOEXEC)?)?);
///     let waiter = sisal::spawn({
///         let counter = counter.clone();
///         move || {
///             let mut count = [0; 8];
///             (&*counter).read_exact(&mut count).map(|()| u64::from_ne_bytes(count))
///         }
///     });
///     (&*counter).write_all(&3u64.to_ne_bytes())?;
///     assert_eq!(waiter.join().unwrap()?, 3);
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Pollable<T: AsFd> {
    /// A duplicate of the descriptor in `inner`, dropped first.
    source: Source,
    /// Taken when this goes.
    inner: Option<T>,
    read_timeout: Timeout,
    write_timeout: Timeout,
    /// Whether it blocked before.
    was_blocking: bool,
}

impl<T: AsFd> Pollable<T> {
    /// Takes a descriptor over.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(inner: T) -> io::Result<Pollable<T>> {
        let fd = inner.as_fd().try_clone_to_owned()?;
        let was_blocking = !rustix::fs::fcntl_getfl(&fd)?.contains(OFlags::NONBLOCK);
        let source = Source::new(fd)?;
        Ok(Pollable {
            source,
            inner: Some(inner),
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
            was_blocking,
        })
    }

    /// Waits until there is something to read, or an end.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) after the [read timeout](Self::set_read_timeout), [cancelled](crate::is_cancelled) if
    /// something from outside ended the wait, and those of the system.
    ///
    /// ```
    /// use std::io::Write;
    /// let (reader, mut writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// writer.write_all(b"!")?;
    /// reader.readable()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn readable(&self) -> io::Result<()> {
        let place = Location::caller();
        self.source.perform(&self.request(Direction::Read, place), |fd| is_ready(fd, PollFlags::IN))
    }

    /// Waits until there is room to write, or nobody to read it.
    ///
    /// # Errors
    /// As for [`readable`](Self::readable), with the [write timeout](Self::set_write_timeout).
    ///
    /// ```
    /// let (_reader, writer) = std::io::pipe()?;
    /// sisal::io::Pollable::new(writer)?.writable()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn writable(&self) -> io::Result<()> {
        let place = Location::caller();
        self.source.perform(&self.request(Direction::Write, place), |fd| is_ready(fd, PollFlags::OUT))
    }

    /// Calls `op`, and whenever that returns [`WouldBlock`](io::ErrorKind::WouldBlock), waits until there may be something to read and
    /// calls it again. `op` is to return that only if the descriptor said so.
    ///
    /// # Errors
    /// Those of `op`, and as for [`readable`](Self::readable).
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let (reader, mut writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// writer.write_all(b"hello")?;
    /// assert_eq!(reader.read_with(|mut pipe| pipe.read(&mut [0; 16]))?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn read_with<R>(&self, op: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.with(Direction::Read, Location::caller(), op)
    }

    /// As [`read_with`](Self::read_with), to write.
    ///
    /// # Errors
    /// Those of `op`, and as for [`writable`](Self::writable).
    ///
    /// ```
    /// use std::io::Write;
    /// let (_reader, writer) = std::io::pipe()?;
    /// let writer = sisal::io::Pollable::new(writer)?;
    /// assert_eq!(writer.write_with(|mut pipe| pipe.write(b"hello"))?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn write_with<R>(&self, op: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.with(Direction::Write, Location::caller(), op)
    }

    fn with<R>(&self, direction: Direction, place: Place, mut op: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.source.perform(&self.request(direction, place), |_| op(self.get_ref()))
    }

    fn request(&self, direction: Direction, place: Place) -> Request {
        let (reason, deadline) = match direction {
            Direction::Read => (Reason::Read, self.read_timeout.deadline()),
            Direction::Write => (Reason::Write, self.write_timeout.deadline()),
        };
        Request { direction, reason, place, deadline }
    }

    /// Sets how long one read, or wait for one, may take; `None` is without end.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::{io::ErrorKind, time::Duration};
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// reader.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(reader.readable().unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.read_timeout.set(timeout)
    }

    /// Sets how long one write, or wait for one, may take; `None` is without end.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// let (_reader, writer) = std::io::pipe()?;
    /// let writer = sisal::io::Pollable::new(writer)?;
    /// writer.set_write_timeout(Some(std::time::Duration::from_secs(5)))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.write_timeout.set(timeout)
    }

    /// What was [set](Self::set_read_timeout).
    ///
    /// # Errors
    /// None; sockets have the same call.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// reader.set_read_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(reader.read_timeout()?, Some(Duration::from_secs(1)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.read_timeout.get())
    }

    /// What was [set](Self::set_write_timeout).
    ///
    /// # Errors
    /// None; sockets have the same call.
    ///
    /// ```
    /// let (_reader, writer) = std::io::pipe()?;
    /// assert_eq!(sisal::io::Pollable::new(writer)?.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.write_timeout.get())
    }

    /// What it holds.
    ///
    /// ```
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// let pipe: &std::io::PipeReader = reader.get_ref();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().unwrap_or_else(|| unreachable!("INVARIANT: taken when this goes"))
    }

    /// Gives back what it holds, blocking if it was before.
    ///
    /// ```
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader: std::io::PipeReader = sisal::io::Pollable::new(reader)?.into_inner();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn into_inner(mut self) -> T {
        self.give_back().unwrap_or_else(|| unreachable!("INVARIANT: taken when this goes"))
    }

    fn give_back(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        if self.was_blocking && !fork::is_child() {
            let _ = rustix::io::ioctl_fionbio(&inner, false);
        }
        Some(inner)
    }

    /// Wakes all who wait here; they, and all who come later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected). What it holds stays open.
    ///
    /// ```
    /// let (reader, _writer) = std::io::pipe()?;
    /// let reader = sisal::io::Pollable::new(reader)?;
    /// reader.close();
    /// assert_eq!(reader.readable().unwrap_err().kind(), std::io::ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.source.close();
    }
}

/// Sets it to blocking again if it was before: what it holds may be borrowed, or have duplicates, as the terminal has.
impl<T: AsFd> Drop for Pollable<T> {
    fn drop(&mut self) {
        drop(self.give_back());
    }
}

/// What `poll` says now; an error or a hang-up is something to see, too.
fn is_ready(fd: BorrowedFd<'_>, flags: PollFlags) -> io::Result<()> {
    match rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, flags)], Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

/// Reads from the descriptor itself, past any buffer of what it holds.
impl<T: AsFd> Read for &Pollable<T> {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_with(|inner| Ok(rustix::io::read(inner, &mut *buf)?))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let most = bufs.len().min(MOST_SLICES);
        self.read_with(|inner| Ok(rustix::io::readv(inner, &mut bufs[..most])?))
    }
}

/// Writes to the descriptor itself, past any buffer of what it holds.
impl<T: AsFd> Write for &Pollable<T> {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_with(|inner| Ok(rustix::io::write(inner, buf)?))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = bufs.len().min(MOST_SLICES);
        self.write_with(|inner| Ok(rustix::io::writev(inner, &bufs[..most])?))
    }

    /// Does nothing: nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads from the descriptor itself, past any buffer of what it holds.
impl<T: AsFd> Read for Pollable<T> {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }
}

/// Writes to the descriptor itself, past any buffer of what it holds.
impl<T: AsFd> Write for Pollable<T> {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: AsFd> AsFd for Pollable<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsFd> AsRawFd for Pollable<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_fd().as_raw_fd()
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Pollable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pollable").field(self.get_ref()).finish()
    }
}
