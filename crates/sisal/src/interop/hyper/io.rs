//! hyper's traits for streams.
#![allow(unsafe_code, reason = "bytes are received into memory that need not have been written")]

use crate::net::polled::PollStream;
use crate::net::{TcpStream, UnixStream};
use ::hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// One of our streams, for hyper to read and write.
///
/// ```
/// use sisal::{compat::hyper::Io, net::UnixStream};
/// let (one, _other) = UnixStream::pair().unwrap();
/// let io = Io::new(one);
/// assert!(io.get_ref().peer_addr().is_ok());
/// io.into_inner();
/// ```
#[derive(Debug)]
pub struct Io<T>(T);

impl<T> Io<T> {
    /// Wraps a stream.
    ///
    /// ```
    /// use sisal::{compat::hyper::Io, net::UnixStream};
    /// let (one, _other) = UnixStream::pair().unwrap();
    /// fn for_hyper(_: &(impl hyper::rt::Read + hyper::rt::Write)) {}
    /// for_hyper(&Io::new(one));
    /// ```
    pub fn new(stream: T) -> Io<T> {
        Io(stream)
    }

    /// The stream.
    ///
    /// ```
    /// use sisal::{compat::hyper::Io, net::UnixStream};
    /// let (one, _other) = UnixStream::pair().unwrap();
    /// assert!(Io::new(one).get_ref().peer_addr().is_ok());
    /// ```
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// The stream, to be changed.
    ///
    /// ```
    /// use sisal::{compat::hyper::Io, net::UnixStream};
    /// use std::io::{Read, Write};
    /// let (one, mut other) = UnixStream::pair().unwrap();
    /// Io::new(one).get_mut().write_all(b"hello").unwrap();
    /// let mut said = String::new();
    /// other.read_to_string(&mut said).unwrap();
    /// assert_eq!(said, "hello");
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Gives the stream back.
    ///
    /// ```
    /// use sisal::{compat::hyper::Io, net::UnixStream};
    /// let (one, _other) = UnixStream::pair().unwrap();
    /// let stream: UnixStream = Io::new(one).into_inner();
    /// assert!(stream.peer_addr().is_ok());
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

fn read(stream: &dyn PollStream, context: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
    // SAFETY: bytes are put there, and none that were are made anything else.
    let room = unsafe { buf.as_mut() };
    let received = ready!(stream.poll_receive(context, room))?;
    // SAFETY: so many have been written.
    unsafe { buf.advance(received) };
    Poll::Ready(Ok(()))
}

macro_rules! read_and_write {
    ($($stream:ty),*) => { $(
        impl Read for Io<$stream> {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buf: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                read(&self.0, context, buf)
            }
        }

        impl Write for Io<$stream> {
            fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll_send(context, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_send_vectored(context, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Is ready at once: nothing is held back.
            fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends the sending; what comes in can still be read.
            fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.0.end_sending())
            }
        }
    )* };
}

read_and_write!(TcpStream, UnixStream);
