//! A connection between Unix sockets.

use super::socket::Socket;
use super::view::View;
use super::{connect, unix_address};
use rustix::net::RecvFlags;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::SocketAddr;
use std::panic::Location;
use std::path::Path;
use std::time::Duration;

/// A connection between Unix sockets: [`std::os::unix::net::UnixStream`] for fibers and threads.
///
/// It is read and written as a [`TcpStream`](super::TcpStream) is.
///
/// ```
/// use sisal::net::UnixStream;
/// use std::io::{Read, Write};
/// sisal::run(|| {
///     let (mut a, mut b) = UnixStream::pair()?;
///     a.write_all(b"hello")?;
///     drop(a);
///     let mut hello = String::new();
///     b.read_to_string(&mut hello)?;
///     assert_eq!(hello, "hello");
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixStream {
    pub(super) socket: Socket,
}

impl UnixStream {
    /// Connects to the socket at a path. While the listener's queue is full, it tries again from time to time.
    ///
    /// # Errors
    /// Those of the system. An error is [cancelled](crate::is_cancelled) if something from outside ended the wait.
    ///
    /// ```
    /// use sisal::net::UnixStream;
    /// assert!(UnixStream::connect("/no/such/socket").is_err());
    /// ```
    #[track_caller]
    pub fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        let place = Location::caller();
        Ok(UnixStream { socket: connect::unix(&unix_address::of_path(path.as_ref())?, place)? })
    }

    /// As [`connect`](Self::connect), to an address, which may be abstract.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    ///
    /// ```
    /// use sisal::net::{UnixListener, UnixSocketAddr, UnixStream};
    /// use std::os::linux::net::SocketAddrExt;
    /// let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-connect-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// UnixStream::connect_addr(&address)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        let place = Location::caller();
        Ok(UnixStream { socket: connect::unix(&unix_address::to_kernel(socket_addr)?, place)? })
    }

    /// Two streams that are connected with each other and have no address.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixStream::pair()?;
    /// assert!(a.local_addr()?.is_unnamed() && b.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = Socket::unix_pair(rustix::net::SocketType::STREAM)?;
        Ok((UnixStream { socket: a }, UnixStream { socket: b }))
    }

    /// The same connection under another descriptor, with the timeouts of this one. From then on each has its own, and closing one
    /// leaves the other.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let (a, mut b) = sisal::net::UnixStream::pair()?;
    /// a.try_clone()?.write_all(b"!")?;
    /// assert_eq!(b.read(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixStream> {
        Ok(UnixStream { socket: self.socket.try_clone()? })
    }

    /// The address of this end.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixStream::pair()?.0.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.view().local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixStream::pair()?.0.peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.view().peer_addr()
    }

    /// Ends one direction of the connection or both, for all clones. Whoever waits to read sees the end.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::{io::Read, net::Shutdown};
    /// let (a, mut b) = sisal::net::UnixStream::pair()?;
    /// a.shutdown(Shutdown::Write)?;
    /// assert_eq!(b.read(&mut [0; 8])?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    /// Waits for bytes and looks at them: the next read gets them again.
    ///
    /// # Errors
    /// Those of a read.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let (mut a, mut b) = sisal::net::UnixStream::pair()?;
    /// a.write_all(b"!")?;
    /// assert_eq!(b.peek(&mut [0; 8])?, b.read(&mut [0; 8])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buf, RecvFlags::PEEK, Location::caller())
    }

    /// Sets how long one read may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::{io::ErrorKind, io::Read, time::Duration};
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!((&socket).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.read_timeout.set(timeout)
    }

    /// Sets how long one write may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// socket.set_write_timeout(Some(Duration::from_secs(5)))?;
    /// assert!(socket.set_write_timeout(Some(Duration::ZERO)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.write_timeout.set(timeout)
    }

    /// How long one read may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// assert_eq!(socket.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.socket.read_timeout.get())
    }

    /// How long one write may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// assert_eq!(socket.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.socket.write_timeout.get())
    }
    /// Takes the error that is pending on the socket, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// assert!(socket.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.view().take_error()
    }

    /// Whether operations return [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. This is a choice for this object: the
    /// descriptor never blocks anyway, and clones choose for themselves.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// socket.set_nonblocking(true)?;
    /// assert_eq!((&socket).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.nonblocking.turn(nonblocking);
        Ok(())
    }

    /// Wakes all who wait here; they, and all who read or write later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// The peer sees the end at once, unless there are clones; [`shutdown`](Self::shutdown) ends the connection for those, too.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// let (socket, _peer) = sisal::net::UnixStream::pair()?;
    /// socket.close();
    /// assert_eq!((&socket).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }

    fn view(&self) -> View<'_, std::os::unix::net::UnixStream> {
        self.socket.view()
    }
}
