//! A socket that waits for connections from Unix sockets.

use super::incoming::Incoming;
use super::socket::Socket;
use super::unix_address;
use super::unix_stream::UnixStream;
use super::view::View;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::io;
use std::os::unix::net::SocketAddr;
use std::panic::Location;
use std::path::Path;
use std::time::{Duration, Instant};

/// A Unix socket that takes connections: [`std::os::unix::net::UnixListener`] for fibers and threads.
///
/// Several may accept at once; each connection goes to one of them.
///
/// ```
/// use sisal::net::{UnixListener, UnixStream};
/// use std::io::{Read, Write};
///
/// let path = std::env::temp_dir().join(format!("sisal-doc-listener-{}", std::process::id()));
/// sisal::run(|| {
///     let listener = UnixListener::bind(&path)?;
///     let mut client = UnixStream::connect(&path)?;
///     let (mut server, _) = listener.accept()?;
///     client.write_all(b"hello")?;
///     let mut hello = [0; 5];
///     server.read_exact(&mut hello)?;
///     assert_eq!(&hello, b"hello");
///     std::fs::remove_file(&path)
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixListener {
    pub(super) socket: Socket,
}

impl UnixListener {
    /// Listens at a path, where nothing may be yet. The file stays when the listener is dropped.
    ///
    /// As many connections may wait to be accepted as the system allows (`/proc/sys/net/core/somaxconn`).
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UnixListener::bind("/no/such/folder/socket").is_err());
    /// ```
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        UnixListener::listening(std::os::unix::net::UnixListener::bind(path)?)
    }

    /// Listens at an address, which may be abstract.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use sisal::net::{UnixListener, UnixSocketAddr};
    /// use std::os::linux::net::SocketAddrExt;
    /// let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-bind-{}", std::process::id()))?;
    /// assert!(UnixListener::bind_addr(&address)?.local_addr()?.as_abstract_name().is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        UnixListener::listening(std::os::unix::net::UnixListener::bind_addr(socket_addr)?)
    }

    fn listening(listener: std::os::unix::net::UnixListener) -> io::Result<UnixListener> {
        let listener = UnixListener { socket: Socket::just_made(listener)? };
        listener.socket.lengthen_queue();
        Ok(listener)
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
    /// # use sisal::net::{UnixListener, UnixSocketAddr, UnixStream};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-accept-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// let client = UnixStream::connect_addr(&address)?;
    /// let (_server, peer) = listener.accept()?;
    /// assert!(peer.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_until(None, Location::caller())
    }

    /// As [`accept`](Self::accept), for at most `timeout`.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept), and [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// use std::{io::ErrorKind, time::Duration};
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-accept-timeout-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// assert_eq!(listener.accept_timeout(Duration::from_millis(5)).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_until(Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`accept`](Self::accept), until `instant`.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept), and [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// use std::{io::ErrorKind, time::Instant};
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-accept-deadline-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// assert_eq!(listener.accept_deadline(Instant::now()).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept_deadline(&self, instant: Instant) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_until(Some(Moment::of(instant)), Location::caller())
    }

    pub(super) fn accept_until(&self, deadline: Option<Moment>, place: Place) -> io::Result<(UnixStream, SocketAddr)> {
        let (socket, peer) = self.socket.accept(deadline, place)?;
        let stream = UnixStream { socket };
        let peer = match unix_address::from_kernel(peer)? {
            Some(peer) => peer,
            None => stream.peer_addr()?,
        };
        Ok((stream, peer))
    }

    /// The connections one after the other, until the listener is closed or the wait cancelled; errors are items too.
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr, UnixStream};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-incoming-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// let client = UnixStream::connect_addr(&address)?;
    /// assert!(listener.incoming().next().unwrap()?.peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_, UnixListener> {
        Incoming::of(self)
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
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-clone-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// assert!(!listener.try_clone()?.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixListener> {
        Ok(UnixListener { socket: self.socket.try_clone()? })
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-local-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// assert_eq!(listener.local_addr()?.as_abstract_name(), address.as_abstract_name());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.view().local_addr()
    }

    /// Takes the error that is pending on the socket, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-error-{}", std::process::id()))?;
    /// assert!(UnixListener::bind_addr(&address)?.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.view().take_error()
    }

    /// Whether [`accept`](Self::accept) returns [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. This is a choice for this
    /// object: the descriptor never blocks anyway, and clones choose for themselves.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-nonblocking-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// listener.set_nonblocking(true)?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.nonblocking.turn(nonblocking);
        Ok(())
    }

    /// Wakes all who wait for a connection here; they, and all who come later, get an error of the kind
    /// [`NotConnected`](io::ErrorKind::NotConnected). New connections are refused at once, unless there are clones.
    ///
    /// ```
    /// # use sisal::net::{UnixListener, UnixSocketAddr};
    /// # use std::os::linux::net::SocketAddrExt;
    /// # let address = UnixSocketAddr::from_abstract_name(format!("sisal-doc-close-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// listener.close();
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }

    fn view(&self) -> View<'_, std::os::unix::net::UnixListener> {
        self.socket.view()
    }
}

impl<'a> IntoIterator for &'a UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = Incoming<'a, UnixListener>;

    fn into_iter(self) -> Incoming<'a, UnixListener> {
        self.incoming()
    }
}
