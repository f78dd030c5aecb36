//! tokio's traits for streams, by value and by shared reference.
#![allow(unsafe_code, reason = "bytes are received into memory that need not have been written")]

use crate::net::polled::PollStream;
use crate::net::{TcpStream, UnixStream};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

fn read(stream: &dyn PollStream, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    // SAFETY: bytes are put there, and none that were are made anything else.
    let room = unsafe { buf.unfilled_mut() };
    let received = ready!(stream.poll_receive(context, room))?;
    // SAFETY: so many have been written.
    unsafe { buf.assume_init(received) };
    buf.advance(received);
    Poll::Ready(Ok(()))
}

macro_rules! read_and_write {
    ($($stream:ty),*) => { $(
        impl AsyncRead for $stream {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                read(&*self, context, buf)
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

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Is ready at once: nothing is held back.
            fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends the sending; what comes in can still be read.
            fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.end_sending())
            }
        }
    )* };
}

read_and_write!(TcpStream, &TcpStream, UnixStream, &UnixStream);
