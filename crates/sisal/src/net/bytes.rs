//! The streams as readers and writers, by value and by shared reference.

use super::{TcpStream, UnixStream};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::panic::Location;

impl Read for &TcpStream {
    #[inline]
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.read_stream(buf, Location::caller())
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.socket.read_stream_vectored(bufs, Location::caller())
    }
}

impl Write for &TcpStream {
    #[inline]
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.socket.write_stream(buf, Location::caller())
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.write_stream_vectored(bufs, Location::caller())
    }

    /// Does nothing: nothing is held back.
    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for &UnixStream {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buf, rustix::net::RecvFlags::empty(), Location::caller())
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.socket.receive_vectored(bufs, Location::caller())
    }
}

impl Write for &UnixStream {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.socket.send(buf, Location::caller())
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.send_vectored(bufs, Location::caller())
    }

    /// Does nothing: nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! as_by_reference {
    ($stream:ident) => {
        impl Read for $stream {
            #[inline]
            #[track_caller]
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                (&*self).read(buf)
            }

            #[track_caller]
            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*self).read_vectored(bufs)
            }
        }

        impl Write for $stream {
            #[inline]
            #[track_caller]
            fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                (&*self).write(buf)
            }

            #[track_caller]
            fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self).write_vectored(bufs)
            }

            #[inline]
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}

as_by_reference!(TcpStream);
as_by_reference!(UnixStream);
