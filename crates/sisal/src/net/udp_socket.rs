//! A UDP socket. Its options for broadcast and multicast are in [`udp_options`](super::udp_options).

use super::addresses::{self, ToSocketAddrs, no_address};
use super::internet_address;
use super::socket::Socket;
use super::view::View;
use rustix::net::RecvFlags;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::time::Duration;

/// A UDP socket: [`std::net::UdpSocket`] for fibers and threads.
///
/// ```
/// use sisal::net::UdpSocket;
/// sisal::run(|| {
///     let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
///     a.send_to(b"hello", b.local_addr()?)?;
///     let mut buf = [0; 16];
///     let (length, sender) = b.recv_from(&mut buf)?;
///     assert_eq!((&buf[..length], sender), (&b"hello"[..], a.local_addr()?));
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UdpSocket {
    pub(super) socket: Socket,
}

impl UdpSocket {
    /// Opens a socket at an address; of several, at the first that can be had. Port 0 stands for any free one.
    ///
    /// # Errors
    /// Those of the system, for the last address that was tried.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        let addrs: Vec<SocketAddr> = addr.to_socket_addrs()?.collect();
        Ok(UdpSocket { socket: Socket::just_made(std::net::UdpSocket::bind(&addrs[..])?)? })
    }

    /// Waits for a message; returns its length, cut to the room there is, and who sent it.
    ///
    /// # Errors
    /// Those of the system, [`TimedOut`](io::ErrorKind::TimedOut) after the read timeout, and [cancelled](crate::is_cancelled) if
    /// something from outside ended the wait.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"to myself", socket.local_addr()?)?;
    /// assert_eq!(socket.recv_from(&mut [0; 16])?, (9, socket.local_addr()?));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, sender) = self.socket.receive_from(buf, RecvFlags::empty(), Location::caller())?;
        Ok((length, internet_address::from_kernel(sender)?))
    }

    /// As [`recv_from`](Self::recv_from), but the message is received again.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"to myself", socket.local_addr()?)?;
    /// assert_eq!(socket.peek_from(&mut [0; 16])?, socket.recv_from(&mut [0; 16])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, sender) = self.socket.receive_from(buf, RecvFlags::PEEK, Location::caller())?;
        Ok((length, internet_address::from_kernel(sender)?))
    }

    /// Sends a message to an address; of several, to the first.
    ///
    /// # Errors
    /// Those of the system, [`TimedOut`](io::ErrorKind::TimedOut) after the write timeout, and [cancelled](crate::is_cancelled) if
    /// something from outside ended the wait.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.send_to(b"to myself", socket.local_addr()?)?, 9);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let place = Location::caller();
        let address = addr.to_socket_addrs()?.next().ok_or_else(no_address)?;
        self.socket.send_to(buf, &address, place)
    }

    /// The address it is [connected](Self::connect) to.
    ///
    /// # Errors
    /// Those of the system; [`NotConnected`](io::ErrorKind::NotConnected) if it is not connected.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.peer_addr().unwrap_err().kind(), std::io::ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.view().peer_addr()
    }

    /// The address it receives at.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(socket.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.view().local_addr()
    }

    /// The same socket under another descriptor, with the timeouts of this one. From then on each has its own, and closing one leaves
    /// the other.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.try_clone()?.local_addr()?, socket.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        Ok(UdpSocket { socket: self.socket.try_clone()? })
    }

    /// From now on messages go to, and come from, this address only; of several, the first that can be had.
    ///
    /// # Errors
    /// Those of the system, for the last address that was tried.
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.connect(socket.local_addr()?)?;
    /// assert_eq!(socket.peer_addr()?, socket.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        addresses::first(addr, |address| Ok(rustix::net::connect(&self.socket, &internet_address::swap(address))?))
    }

    /// Sends a message to the address it is [connected](Self::connect) to.
    ///
    /// # Errors
    /// As for [`send_to`](Self::send_to). An earlier message that found nobody may be reported here or at the next receive
    /// ([`ConnectionRefused`](io::ErrorKind::ConnectionRefused)).
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.connect(socket.local_addr()?)?;
    /// assert_eq!(socket.send(b"to myself")?, 9);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.socket.send(buf, Location::caller())
    }

    /// Waits for a message; returns its length, cut to the room there is.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"to myself", socket.local_addr()?)?;
    /// assert_eq!(socket.recv(&mut [0; 4])?, 4, "the rest is lost");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.socket.receive_from(buf, RecvFlags::empty(), Location::caller())?.0)
    }

    /// As [`recv`](Self::recv), but the message is received again.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// ```
    /// # let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"to myself", socket.local_addr()?)?;
    /// assert_eq!(socket.peek(&mut [0; 16])?, socket.recv(&mut [0; 16])?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.socket.receive_from(buf, RecvFlags::PEEK, Location::caller())?.0)
    }

    /// Sets how long one receive may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::{io::ErrorKind, time::Duration};
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.read_timeout.set(dur)
    }

    /// Sets how long one send may wait; `None` is without end. One that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_write_timeout(Some(Duration::from_secs(5)))?;
    /// assert!(socket.set_write_timeout(Some(Duration::ZERO)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.write_timeout.set(dur)
    }

    /// How long one receive may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
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
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
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
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
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
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_nonblocking(true)?;
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.nonblocking.turn(nonblocking);
        Ok(())
    }

    /// Wakes all who wait here; they, and all who send or receive later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected). The port is free at once, unless there are clones.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.close();
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }

    pub(super) fn view(&self) -> View<'_, std::net::UdpSocket> {
        self.socket.view()
    }
}
