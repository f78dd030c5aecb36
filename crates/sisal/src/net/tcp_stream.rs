//! A TCP connection.

use super::addresses::{self, ToSocketAddrs};
use super::connect;
use super::socket::Socket;
use crate::io::patience;
use crate::prim::clock::Moment;
use rustix::net::RecvFlags;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::panic::Location;
use std::time::Duration;

/// A TCP connection: [`std::net::TcpStream`] for fibers and threads.
///
/// It is read and written through [`Read`](io::Read) and [`Write`](io::Write), which the shared reference implements, too: one fiber
/// may read while another writes. Several who read at once take turns, and so do several who write.
///
/// Dropping it closes the connection; [`close`](Self::close) first wakes whoever waits for it.
///
/// ```
/// use sisal::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// sisal::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let address = listener.local_addr()?;
///     let echo = sisal::spawn(move || {
///         let (stream, _) = listener.accept()?;
///         std::io::copy(&mut &stream, &mut &stream)
///     });
///
///     let mut stream = TcpStream::connect(address)?;
///     stream.write_all(b"hello")?;
///     stream.shutdown(std::net::Shutdown::Write)?;
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer)?;
///     assert_eq!(answer, "hello");
///     assert_eq!(echo.join().unwrap()?, 5);
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpStream {
    pub(super) socket: Socket,
}

impl TcpStream {
    /// Connects to an address; of several, to the first that answers. Names are looked up without blocking a worker.
    ///
    /// # Errors
    /// Those of the system, for the last address that was tried. An error is [cancelled](crate::is_cancelled) if something from outside
    /// ended the wait; the connection is given up then.
    ///
    /// ```
    /// use sisal::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(("localhost", listener.local_addr()?.port()))?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let place = Location::caller();
        addresses::first(addr, |address| Ok(TcpStream { socket: connect::tcp(&address, None, place)? }))
    }

    /// Connects to one address in at most `timeout`.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect); [`TimedOut`](io::ErrorKind::TimedOut); [`InvalidInput`](io::ErrorKind::InvalidInput) if
    /// `timeout` is zero.
    ///
    /// ```
    /// use sisal::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(60))?;
    /// assert!(TcpStream::connect_timeout(&listener.local_addr()?, Duration::ZERO).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        let place = Location::caller();
        let deadline = Moment::now().after(patience::positive(timeout)?);
        Ok(TcpStream { socket: connect::tcp(addr, Some(deadline), place)? })
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.view().peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.view().local_addr()
    }

    /// Ends one direction of the connection or both, for all clones. Whoever waits to read sees the end.
    ///
    /// # Errors
    /// Those of the system; [`NotConnected`](io::ErrorKind::NotConnected) if the peer has ended the connection already.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::{io::Read, net::Shutdown};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let (mut server, _) = listener.accept()?;
    /// client.shutdown(Shutdown::Write)?;
    /// assert_eq!(server.read(&mut [0; 8])?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    /// The same connection under another descriptor, with the timeouts of this one. From then on each has its own, and closing one
    /// leaves the other.
    ///
    /// Where it is only to be shared, an `Arc` does it without a second descriptor.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.try_clone()?.local_addr()?, stream.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        Ok(TcpStream { socket: self.socket.try_clone()? })
    }

    /// Sets how long one read may wait; `None` is without end. A read that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::{io::ErrorKind, io::Read, time::Duration};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_read_timeout(Some(Duration::from_millis(5)))?;
    /// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.read_timeout.set(dur)
    }

    /// Sets how long one write may wait; `None` is without end. A write that waited so long returns
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is zero.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    /// assert!(stream.set_write_timeout(Some(Duration::ZERO)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.socket.write_timeout.set(dur)
    }

    /// How long one read may wait.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.read_timeout()?, None);
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
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.socket.write_timeout.get())
    }

    /// Waits for bytes and looks at them: the next read gets them again.
    ///
    /// # Errors
    /// Those of a read.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// # let (mut server, _) = listener.accept()?;
    /// client.write_all(b"!")?;
    /// let mut byte = [0; 1];
    /// assert_eq!(server.peek(&mut byte)?, 1);
    /// assert_eq!(server.read(&mut byte)?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buf, RecvFlags::PEEK, Location::caller())
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`), rather than gathered for a moment.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nodelay(true)?;
    /// assert!(stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.view().set_nodelay(nodelay)
    }

    /// Whether small writes are sent at once.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(!TcpStream::connect(listener.local_addr()?)?.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        self.view().nodelay()
    }

    /// Sets how many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_ttl(100)?;
    /// assert_eq!(stream.ttl()?, 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.view().set_ttl(ttl)
    }

    /// How many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(TcpStream::connect(listener.local_addr()?)?.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.view().ttl()
    }

    /// Takes the error that is pending on the socket, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(TcpStream::connect(listener.local_addr()?)?.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.view().take_error()
    }

    /// Whether reads and writes return [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. This is a choice for this object:
    /// the descriptor never blocks anyway, and clones choose for themselves.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::io::{ErrorKind, Read};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nonblocking(true)?;
    /// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
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
    /// # use sisal::net::{TcpListener, TcpStream};
    /// use std::io::{ErrorKind, Read};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.close();
    /// assert_eq!((&stream).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&self) {
        self.socket.close();
    }

    fn view(&self) -> super::view::View<'_, std::net::TcpStream> {
        self.socket.view()
    }
}
