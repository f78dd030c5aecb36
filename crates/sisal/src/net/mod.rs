//! Sockets, as in `std::net` and `std::os::unix::net`, for fibers and threads.
//!
//! The types and methods have the names they have in `std`, so that a program is moved by changing its `use` lines. Whoever waits parks
//! its fiber, or blocks its thread outside of fibers; both may use one socket. What there is more:
//! - [`close`](TcpStream::close) ends all waits of one socket, through a shared reference.
//! - Every wait ends when its [`timeout`](crate::timeout), nursery or fiber does; [`is_cancelled`](crate::is_cancelled) tells such an error.
//! - [`copy_bidirectional`] joins two streams, as a proxy does.
//! - [`accept_timeout`](TcpListener::accept_timeout) and [`accept_deadline`](TcpListener::accept_deadline).
//!
//! What differs:
//! - A read or write whose own [time limit](TcpStream::set_read_timeout) is up fails with [`TimedOut`](std::io::ErrorKind::TimedOut), which
//!   `std` has on some systems only; on Linux it has `WouldBlock`.
//! - A clone made by [`try_clone`](TcpStream::try_clone) has time limits of its own.
//! - [`incoming`](TcpListener::incoming) ends when the listener is closed, or the wait cancelled.
//! - The addresses of Unix sockets are called [`UnixSocketAddr`], since both kinds of sockets are here.
//!
//! ```
//! use sisal::net::{TcpListener, TcpStream};
//! use std::io::{Read, Write};
//!
//! sisal::run(|| {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     let server = sisal::spawn(move || -> std::io::Result<()> {
//!         let (mut stream, _) = listener.accept()?;
//!         stream.write_all(b"hello")
//!     });
//!     let mut hello = String::new();
//!     TcpStream::connect(address)?.read_to_string(&mut hello)?;
//!     assert_eq!(hello, "hello");
//!     server.join().unwrap()
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Where things are
//! `socket` is what all types share; `accept` and `connect` make connections; `bytes` makes streams
//! readers and writers; `convert` is about descriptors; `view` lends `std`'s methods. One file for each type.

mod accept;
mod accepted;
mod addresses;
mod bidirectional;
mod bytes;
mod connect;
mod convert;
mod incoming;
mod internet_address;
#[cfg(any(feature = "futures", feature = "hyper", feature = "tokio"))]
pub(crate) mod polled;
mod socket;
mod tcp_listener;
mod tcp_options;
mod tcp_stream;
#[cfg(test)]
mod tests;
mod udp_options;
mod udp_socket;
mod unix_address;
mod unix_datagram;
mod unix_listener;
mod unix_stream;
mod view;

pub use self::{
    addresses::ToSocketAddrs,
    bidirectional::{Duplex, copy_bidirectional},
    incoming::Incoming,
    tcp_listener::TcpListener,
    tcp_stream::TcpStream,
    udp_socket::UdpSocket,
    unix_datagram::UnixDatagram,
    unix_listener::UnixListener,
    unix_stream::UnixStream,
};
#[doc(no_inline)]
pub use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6};
#[doc(no_inline)]
pub use std::os::unix::net::SocketAddr as UnixSocketAddr;
