//! Connections as an iterator.

use super::{TcpListener, TcpStream, UnixListener, UnixStream};
use std::io;
use std::iter::FusedIterator;

/// The connections of a listener, one after the other, without end: what [`TcpListener::incoming`] and [`UnixListener::incoming`]
/// return.
///
/// ```
/// use sisal::net::{TcpListener, TcpStream};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let client = TcpStream::connect(listener.local_addr()?)?;
/// let server = listener.incoming().next().unwrap()?;
/// assert_eq!(server.peer_addr()?, client.local_addr()?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Incoming<'a, L = TcpListener> {
    listener: &'a L,
}

impl<'a, L> Incoming<'a, L> {
    pub(super) fn of(listener: &'a L) -> Incoming<'a, L> {
        Incoming { listener }
    }
}

impl Iterator for Incoming<'_, TcpListener> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl FusedIterator for Incoming<'_, TcpListener> {}

impl Iterator for Incoming<'_, UnixListener> {
    type Item = io::Result<UnixStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl FusedIterator for Incoming<'_, UnixListener> {}
