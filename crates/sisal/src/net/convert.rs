//! The descriptors of the sockets, and how they are turned into those of `std` and back.
#![allow(unsafe_code, reason = "a number is taken over as a descriptor, which is unsafe in std too")]

use super::socket::Socket;
use super::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

macro_rules! descriptor_of {
    ($socket:ident, $std:ty) => {
        impl AsFd for $socket {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.socket.as_fd()
            }
        }

        impl AsRawFd for $socket {
            fn as_raw_fd(&self) -> RawFd {
                self.socket.as_fd().as_raw_fd()
            }
        }

        /// Takes the descriptor over and sets it, and all its duplicates, to not blocking. If that fails it is no socket, and all
        /// operations return errors.
        impl From<OwnedFd> for $socket {
            fn from(fd: OwnedFd) -> $socket {
                $socket { socket: Socket::adopt(fd) }
            }
        }

        /// Sets the descriptor, and all its duplicates, to blocking, unless `set_nonblocking` said otherwise. Only a listener stays
        /// not blocking as long as it has clones, whose workers would be blocked else.
        impl From<$socket> for OwnedFd {
            fn from(socket: $socket) -> OwnedFd {
                socket.socket.release()
            }
        }

        /// As from an `OwnedFd`.
        impl FromRawFd for $socket {
            unsafe fn from_raw_fd(fd: RawFd) -> $socket {
                // SAFETY: the caller gives an open descriptor away, as is asked for here.
                $socket::from(unsafe { OwnedFd::from_raw_fd(fd) })
            }
        }

        /// As into an `OwnedFd`.
        impl IntoRawFd for $socket {
            fn into_raw_fd(self) -> RawFd {
                OwnedFd::from(self).into_raw_fd()
            }
        }

        /// Keeps the timeouts. Operations wait, also if those of the original did not.
        impl From<$std> for $socket {
            fn from(socket: $std) -> $socket {
                $socket::from(OwnedFd::from(socket))
            }
        }

        /// Keeps the timeouts, and whether operations wait.
        impl From<$socket> for $std {
            fn from(socket: $socket) -> $std {
                <$std>::from(OwnedFd::from(socket))
            }
        }

        impl fmt::Debug for $socket {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.socket.view::<$std>().fmt(f)
            }
        }
    };
}

descriptor_of!(TcpListener, std::net::TcpListener);
descriptor_of!(TcpStream, std::net::TcpStream);
descriptor_of!(UdpSocket, std::net::UdpSocket);
descriptor_of!(UnixDatagram, std::os::unix::net::UnixDatagram);
descriptor_of!(UnixListener, std::os::unix::net::UnixListener);
descriptor_of!(UnixStream, std::os::unix::net::UnixStream);
