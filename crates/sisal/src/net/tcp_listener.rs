//! A socket that waits for TCP connections.

use super::addresses::ToSocketAddrs;
use super::incoming::Incoming;
use super::internet_address;
use super::socket::Socket;
use super::tcp_stream::TcpStream;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::time::{Duration, Instant};

/// A TCP socket that takes connections: [`std::net::TcpListener`] for fibers and threads.
///
/// Several may accept at once; each connection goes to one of them.
///
/// ```
/// use sisal::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// sisal::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let mut client = TcpStream::connect(listener.local_addr()?)?;
///     let (mut server, peer) = listener.accept()?;
///     assert_eq!(peer, client.local_addr()?);
///
///     client.write_all(b"hello")?;
///     let mut hello = [0; 5];
///     server.read_exact(&mut hello)?;
///     assert_eq!(&hello, b"hello");
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpListener {
    pub(super) socket: Socket,
}

impl TcpListener {
    /// Listens at an address; of several, at the first that can be had. Port 0 stands for any free one.
    ///
    /// As many connections may wait to be accepted as the system allows (`/proc/sys/net/core/somaxconn`).
    ///
    /// # Errors
    /// Those of the system, for the last address that was tried.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        let addrs: Vec<SocketAddr> = addr.to_socket_addrs()?.collect();
        let listener = TcpListener { socket: Socket::just_made(std::net::TcpListener::bind(&addrs[..])?)?.of_tcp() };
        listener.socket.lengthen_queue();
        Ok(listener)
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// assert!(listener.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.view::<std::net::TcpListener>().local_addr()
    }

    /// The same listening socket under another descriptor: each connection goes to one of the two. Closing one leaves the other.
    ///
    /// The kernel sees both as one that does not block. If either is turned into one of `std`'s while the other lives, it stays so,
    /// and its `accept` returns [`WouldBlock`](io::ErrorKind::WouldBlock).
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(listener.try_clone()?.local_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        Ok(TcpListener { socket: self.socket.try_clone()? })
    }

    /// Waits for a connection.
    ///
    /// A fiber that is spawned by the accepting one to serve it is placed where there is least to do.
    ///
    /// # Errors
    /// Those of the system. When there are no more descriptors (`EMFILE`, `ENFILE`) or no memory, the connection stays in the queue;
    /// accept again after some have been closed. An error is [cancelled](crate::is_cancelled) if something from outside ended the wait.
    ///
    /// ```
    /// use sisal::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let (server, peer) = listener.accept()?;
    /// assert_eq!(server.peer_addr()?, peer);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_until(None, Location::caller())
    }

    /// As [`accept`](Self::accept), for at most `timeout`.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept), and [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// ```
    /// use std::{io::ErrorKind, time::Duration};
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(listener.accept_timeout(Duration::from_millis(5)).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_until(Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`accept`](Self::accept), until `instant`.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept), and [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// ```
    /// use std::{io::ErrorKind, time::Instant};
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(listener.accept_deadline(Instant::now()).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept_deadline(&self, instant: Instant) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_until(Some(Moment::of(instant)), Location::caller())
    }

    pub(super) fn accept_until(&self, deadline: Option<Moment>, place: Place) -> io::Result<(TcpStream, SocketAddr)> {
        let (socket, peer) = self.socket.accept(deadline, place)?;
        Ok((TcpStream { socket }, internet_address::from_kernel(peer)?))
    }

    /// The connections one after the other, until the listener is closed or the wait cancelled; errors are items too.
    ///
    /// ```
    /// use sisal::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let clients = [TcpStream::connect(listener.local_addr()?)?, TcpStream::connect(listener.local_addr()?)?];
    /// for (_client, stream) in clients.iter().zip(listener.incoming()) {
    ///     assert_eq!(stream?.local_addr()?, listener.local_addr()?);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming::of(self)
    }

    /// Sets how many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_ttl(100)?;
    /// assert_eq!(listener.ttl()?, 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket.view::<std::net::TcpListener>().set_ttl(ttl)
    }

    /// How many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::TcpListener::bind("127.0.0.1:0")?.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket.view::<std::net::TcpListener>().ttl()
    }

    /// Whether it is to take connections over IPv6 only. The system wants to know that before the socket is bound, and here it is.
    ///
    /// # Errors
    /// That it is bound.
    ///
    /// ```
    /// #[allow(deprecated)]
    /// let set = sisal::net::TcpListener::bind("127.0.0.1:0")?.set_only_v6(true);
    /// assert!(set.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[deprecated(note = "it is too late when the socket is bound")]
    pub fn set_only_v6(&self, only_v6: bool) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_ipv6_v6only(&self.socket, only_v6)?)
    }

    /// Whether it takes connections over IPv6 only.
    ///
    /// # Errors
    /// Those of the system, and of a socket that is not of IPv6.
    ///
    /// ```
    /// assert!(sisal::net::TcpListener::bind("127.0.0.1:0")?.only_v6().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn only_v6(&self) -> io::Result<bool> {
        Ok(rustix::net::sockopt::ipv6_v6only(&self.socket)?)
    }

    /// Takes the error that is pending on the socket, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::TcpListener::bind("127.0.0.1:0")?.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.view::<std::net::TcpListener>().take_error()
    }

    /// Whether [`accept`](Self::accept) returns [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. This is a choice for this
    /// object: the descriptor never blocks anyway, and clones choose for themselves.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_nonblocking(true)?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.nonblocking.turn(nonblocking);
        Ok(())
    }

    /// Wakes all who wait for a connection here; they, and all who come later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected). The port is free at once, unless there are clones.
    ///
    /// ```
    /// let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
    /// listener.close();
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }
}
