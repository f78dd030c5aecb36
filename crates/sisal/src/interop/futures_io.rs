//! `futures-io`'s traits for streams, by value and by shared reference.
#![allow(unsafe_code, reason = "bytes that are written need not have been")]

use crate::net::polled::PollStream;
use crate::net::{TcpStream, UnixStream};
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A buffer as one whose bytes may be anything, for somebody who only puts bytes there.
fn writable(buf: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the layout is the same, and `poll_receive` writes nothing that is no byte.
    unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) }
}

macro_rules! read_and_write {
    ($($stream:ty),*) => { $(
        impl AsyncRead for $stream {
            fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
                self.poll_receive(context, writable(buf))
            }
        }

        impl AsyncWrite for $stream {
            fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.poll_send(context, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_send_vectored(context, bufs)
            }

            /// Is ready at once: nothing is held back.
            fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends the sending; what comes in can still be read.
            fn poll_close(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.end_sending())
            }
        }
    )* };
}

read_and_write!(TcpStream, &TcpStream, UnixStream, &UnixStream);
