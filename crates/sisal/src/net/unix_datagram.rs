//! A Unix socket for messages.

use super::socket::Socket;
use super::unix_address;
use super::view::View;
use rustix::net::{RecvFlags, SocketAddrAny};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::SocketAddr;
use std::panic::Location;
use std::path::Path;
use std::time::Duration;

/// A Unix socket for messages: [`std::os::unix::net::UnixDatagram`] for fibers and threads.
///
/// ```
/// use sisal::net::UnixDatagram;
/// sisal::run(|| {
///     let (a, b) = UnixDatagram::pair()?;
///     a.send(b"hello")?;
///     let mut buf = [0; 16];
///     let length = b.recv(&mut buf)?;
///     assert_eq!(&buf[..length], b"hello");
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixDatagram {
    pub(super) socket: Socket,
}

impl UnixDatagram {
    /// Opens a socket at a path, where nothing may be yet.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::bind("/no/such/folder/socket").is_err());
    /// ```
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { socket: Socket::just_made(std::os::unix::net::UnixDatagram::bind(path)?)? })
    }

    /// Opens a socket at an address, which may be abstract.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use sisal::net::{UnixDatagram, UnixSocketAddr};
    /// use std::os::linux::net::SocketAddrExt;
    /// let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-datagram-{}", std::process::id()))?;
    /// assert!(UnixDatagram::bind_addr(&address)?.local_addr()?.as_abstract_name().is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { socket: Socket::just_made(std::os::unix::net::UnixDatagram::bind_addr(socket_addr)?)? })
    }

    /// A socket without an address: it sends, and nobody can answer.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::unbound()?.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn unbound() -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { socket: Socket::just_made(std::os::unix::net::UnixDatagram::unbound()?)? })
    }

    /// Two sockets that are connected with each other and have no address.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// b.send(b"!")?;
    /// assert_eq!(a.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = Socket::unix_pair(rustix::net::SocketType::DGRAM)?;
        Ok((UnixDatagram { socket: a }, UnixDatagram { socket: b }))
    }

    /// From now on messages go to, and come from, the socket at this path only.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::unbound()?.connect("/no/such/socket").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.view().connect(path)
    }

    /// As [`connect`](Self::connect), to an address, which may be abstract.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use sisal::net::{UnixDatagram, UnixSocketAddr};
    /// let nobody = UnixSocketAddr::from_pathname("/no/such/socket")?;
    /// assert!(UnixDatagram::unbound()?.connect_addr(&nobody).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect_addr(&self, socket_addr: &SocketAddr) -> io::Result<()> {
        self.view().connect_addr(socket_addr)
    }

    /// The same socket under another descriptor, with the timeouts of this one. From then on each has its own, and closing one leaves
    /// the other.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// a.try_clone()?.send(b"!")?;
    /// assert_eq!(b.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { socket: self.socket.try_clone()? })
    }

    /// The address it receives at.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::unbound()?.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.view().local_addr()
    }

    /// The address it is [connected](Self::connect) to.
    ///
    /// # Errors
    /// Those of the system; [`NotConnected`](io::ErrorKind::NotConnected) if it is not connected.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::pair()?.0.peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.view().peer_addr()
    }

    /// Waits for a message; returns its length, cut to the room there is, and who sent it. (A sender whose path leaves no room for the zero behind it
    /// can't be said, and is without a name.)
    ///
    /// # Errors
    /// Those of the system, [`TimedOut`](io::ErrorKind::TimedOut) after the read timeout, and [cancelled](crate::is_cancelled) if
    /// something from outside ended the wait.
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// a.send(b"hello")?;
    /// let (length, sender) = b.recv_from(&mut [0; 16])?;
    /// assert_eq!((length, sender.is_unnamed()), (5, true));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, sender) = self.socket.receive_from(buf, RecvFlags::empty(), Location::caller())?;
        Ok((length, sender_of(sender)?))
    }

    /// Waits for a message; returns its length, cut to the room there is.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// a.send(b"hello")?;
    /// assert_eq!(b.recv(&mut [0; 3])?, 3, "the rest is lost");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.socket.receive_from(buf, RecvFlags::empty(), Location::caller())?.0)
    }

    /// As [`recv_from`](Self::recv_from), but the message is received again.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// a.send(b"hello")?;
    /// assert_eq!(b.peek_from(&mut [0; 16])?.0, b.recv(&mut [0; 16])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, sender) = self.socket.receive_from(buf, RecvFlags::PEEK, Location::caller())?;
        Ok((length, sender_of(sender)?))
    }

    /// As [`recv`](Self::recv), but the message is received again.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// let (a, b) = sisal::net::UnixDatagram::pair()?;
    /// a.send(b"hello")?;
    /// assert_eq!(b.peek(&mut [0; 16])?, b.recv(&mut [0; 16])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.socket.receive_from(buf, RecvFlags::PEEK, Location::caller())?.0)
    }

    /// Sends a message to the socket at a path. While that has no room it tries again from time to time; to a socket it is
    /// [connected](Self::connect) to, it is told of room at once.
    ///
    /// # Errors
    /// Those of the system, [`TimedOut`](io::ErrorKind::TimedOut) after the write timeout, and [cancelled](crate::is_cancelled) if
    /// something from outside ended the wait.
    ///
    /// ```
    /// assert!(sisal::net::UnixDatagram::unbound()?.send_to(b"hello", "/no/such/socket").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn send_to<P: AsRef<Path>>(&self, buf: &[u8], path: P) -> io::Result<usize> {
        let place = Location::caller();
        self.socket.send_to_unix(buf, &unix_address::of_path(path.as_ref())?, place)
    }

    /// As [`send_to`](Self::send_to), to an address, which may be abstract.
    ///
    /// # Errors
    /// As for [`send_to`](Self::send_to).
    ///
    /// ```
    /// use sisal::net::{UnixDatagram, UnixSocketAddr};
    /// use std::os::linux::net::SocketAddrExt;
    /// let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-send-{}", std::process::id()))?;
    /// let socket = UnixDatagram::bind_addr(&address)?;
    /// UnixDatagram::unbound()?.send_to_addr(b"hello", &address)?;
    /// assert_eq!(socket.recv(&mut [0; 16])?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn send_to_addr(&self, buf: &[u8], socket_addr: &SocketAddr) -> io::Result<usize> {
        let place = Location::caller();
        self.socket.send_to_unix(buf, &unix_address::to_kernel(socket_addr)?, place)
    }

    /// Sends a message to the socket it is [connected](Self::connect) to; waits while that has no room.
    ///
    /// # Errors
    /// As for [`send_to`](Self::send_to).
    ///
    /// ```
    /// let (a, _b) = sisal::net::UnixDatagram::pair()?;
    /// assert_eq!(a.send(b"hello")?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.socket.send(buf, Location::caller())
    }

    /// Ends one direction or both, for all clones.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let (a, _b) = sisal::net::UnixDatagram::pair()?;
    /// a.shutdown(std::net::Shutdown::Both)?;
    /// assert_eq!(a.send(b"hello").unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    /// Sets how long one receive may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::{io::ErrorKind, time::Duration};
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
    /// socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.read_timeout.set(timeout)
    }

    /// Sets how long one send may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
    /// socket.set_write_timeout(Some(Duration::from_secs(5)))?;
    /// assert!(socket.set_write_timeout(Some(Duration::ZERO)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.write_timeout.set(timeout)
    }

    /// How long one receive may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
    /// assert_eq!(socket.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.socket.read_timeout.get())
    }

    /// How long one send may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
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
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
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
    /// use std::io::ErrorKind;
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
    /// socket.set_nonblocking(true)?;
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.nonblocking.turn(nonblocking);
        Ok(())
    }

    /// Wakes all who wait here; they, and all who send or receive later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// let (socket, _peer) = sisal::net::UnixDatagram::pair()?;
    /// socket.close();
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }

    fn view(&self) -> View<'_, std::os::unix::net::UnixDatagram> {
        self.socket.view()
    }
}

/// Who has sent a message. One that can't be told is nobody: the message is not to be lost.
fn sender_of(address: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    unix_address::from_kernel(address)?.map_or_else(unix_address::unnamed, Ok)
}
