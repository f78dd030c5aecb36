//! Connections as an iterator.

use super::{TcpListener, TcpStream, UnixListener, UnixStream};
use crate::io::error::{is_cancelled, is_closed};
use std::io;
use std::iter::FusedIterator;
use std::panic::Location;

/// The connections of a listener, one after the other: what [`TcpListener::incoming`] and [`UnixListener::incoming`] return.
///
/// It ends when the listener is [closed](TcpListener::close), and when the fiber's waits are [cancelled](crate::io::is_cancelled): whoever
/// goes on after errors, as one does, would else go on for ever.
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
    /// None when it has ended.
    listener: Option<&'a L>,
}

impl<'a, L> Incoming<'a, L> {
    pub(super) fn of(listener: &'a L) -> Incoming<'a, L> {
        Incoming { listener: Some(listener) }
    }
}

impl<L> Incoming<'_, L> {
    fn accept<S, A>(&mut self, accept: impl FnOnce(&L) -> io::Result<(S, A)>) -> Option<io::Result<S>> {
        match accept(self.listener?) {
            Err(error) if is_cancelled(&error) || is_closed(&error) => {
                self.listener = None;
                None
            }
            other => Some(other.map(|(stream, _)| stream)),
        }
    }
}

impl Iterator for Incoming<'_, TcpListener> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        let place = Location::caller();
        self.accept(|listener| listener.accept_until(None, place))
    }
}

impl FusedIterator for Incoming<'_, TcpListener> {}

impl Iterator for Incoming<'_, UnixListener> {
    type Item = io::Result<UnixStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        let place = Location::caller();
        self.accept(|listener| listener.accept_until(None, place))
    }
}

impl FusedIterator for Incoming<'_, UnixListener> {}
