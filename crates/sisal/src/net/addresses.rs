//! Addresses by name: as `std::net::ToSocketAddrs`, but looking a name up does not block a worker.

use std::io;
use std::iter::Cloned;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::{option, slice, vec};

/// What gives addresses: an address itself, or a name that is looked up.
///
/// The same as [`std::net::ToSocketAddrs`], for the same types, except that names are looked up on a thread of their own while the
/// fiber waits; the lookup can't be cancelled. What is an address already, also as text, is not looked up at all.
///
/// ```
/// use sisal::net::ToSocketAddrs;
/// let addrs: Vec<_> = "127.0.0.1:80".to_socket_addrs()?.collect();
/// assert_eq!(addrs, ["127.0.0.1:80".parse().unwrap()]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToSocketAddrs {
    /// What the addresses come from.
    type Iter: Iterator<Item = SocketAddr>;

    /// The addresses, in the order in which they are to be tried.
    ///
    /// # Errors
    /// Those of the lookup, and [`InvalidInput`](io::ErrorKind::InvalidInput) for what is not of the form `host:port`.
    ///
    /// ```
    /// use sisal::net::ToSocketAddrs;
    /// assert_eq!(("::1", 443).to_socket_addrs()?.next(), Some("[::1]:443".parse().unwrap()));
    /// assert!("no port".to_socket_addrs().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn to_socket_addrs(&self) -> io::Result<Self::Iter>;
}

impl ToSocketAddrs for SocketAddr {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(Some(*self).into_iter())
    }
}

impl ToSocketAddrs for SocketAddrV4 {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        SocketAddr::V4(*self).to_socket_addrs()
    }
}

impl ToSocketAddrs for SocketAddrV6 {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        SocketAddr::V6(*self).to_socket_addrs()
    }
}

impl ToSocketAddrs for (IpAddr, u16) {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        SocketAddr::from(*self).to_socket_addrs()
    }
}

impl ToSocketAddrs for (Ipv4Addr, u16) {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        SocketAddr::from(*self).to_socket_addrs()
    }
}

impl ToSocketAddrs for (Ipv6Addr, u16) {
    type Iter = option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        SocketAddr::from(*self).to_socket_addrs()
    }
}

impl ToSocketAddrs for (&str, u16) {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, port)].into_iter()),
            Err(_) => off_the_worker(|| std::net::ToSocketAddrs::to_socket_addrs(&(host, port))),
        }
    }
}

impl ToSocketAddrs for (String, u16) {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (self.0.as_str(), self.1).to_socket_addrs()
    }
}

impl ToSocketAddrs for str {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        match self.parse() {
            Ok(address) => Ok(vec![address].into_iter()),
            Err(_) => off_the_worker(|| std::net::ToSocketAddrs::to_socket_addrs(self)),
        }
    }
}

impl ToSocketAddrs for String {
    type Iter = vec::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        self.as_str().to_socket_addrs()
    }
}

impl<'a> ToSocketAddrs for &'a [SocketAddr] {
    type Iter = Cloned<slice::Iter<'a, SocketAddr>>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(self.iter().cloned())
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    type Iter = T::Iter;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (**self).to_socket_addrs()
    }
}

/// Calls `f` where it may block.
fn off_the_worker<T: Send, F: FnOnce() -> T + Send>(f: F) -> T {
    f()
}

/// Calls `f` with one address after the other until it succeeds; the last error counts.
pub(super) fn first<A: ToSocketAddrs, T>(addrs: A, mut f: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut last = None;
    for address in addrs.to_socket_addrs()? {
        match f(address) {
            Ok(done) => return Ok(done),
            // Whoever is to come to an end does not try the next.
            Err(error) if crate::io::is_cancelled(&error) => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

pub(super) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any addresses")
}
