//! Options of TCP streams: what becomes of bytes that are under way when it is closed, and when those that came are acknowledged.

use super::tcp_stream::TcpStream;
use rustix::net::sockopt;
use std::io;
use std::time::Duration;

impl TcpStream {
    /// What closing does with bytes that are still to be sent. `None` leaves them to the kernel, which is the default. With a time of nothing they
    /// are thrown away, and the peer sees a reset. With any other, whoever drops the last owner is *blocked* for so long, and with a
    /// fiber its worker: [`shutdown`](Self::shutdown) and a read until the end do better.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use sisal::net::{TcpListener, TcpStream};
    /// use std::{io::ErrorKind, io::Read, time::Duration};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// let (mut peer, _) = listener.accept()?;
    /// stream.set_linger(Some(Duration::ZERO))?;
    /// drop(stream);
    /// assert_eq!(peer.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(&self.socket, linger)?)
    }

    /// What closing does with bytes that are still to be sent: see [`set_linger`](Self::set_linger).
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.linger()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(sockopt::socket_linger(&self.socket)?)
    }

    /// Whether what is received is acknowledged at once and not a little later, together with an answer. The kernel goes back to its own
    /// choice after a while.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_quickack(true)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_quickack(&self.socket, quickack)?)
    }

    /// Whether what is received is acknowledged at once: see [`set_quickack`](Self::set_quickack).
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// # use sisal::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_quickack(false)?;
    /// assert!(!stream.quickack()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn quickack(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_quickack(&self.socket)?)
    }
}
