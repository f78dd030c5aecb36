//! What input and output return when something from outside ended them.

use crate::prim::cancel::{Cancelled, Cause};
use rustix::io::Errno;
use std::fmt;
use std::io;

/// Whether an operation ended because something from outside ended the fiber's waits: an enclosing deadline, a request, or the end of
/// the runtime. The right thing to do then is to come to an end, not to try again.
///
/// ```
/// use sisal::io::is_cancelled;
/// use std::io;
/// assert!(!is_cancelled(&io::Error::from(io::ErrorKind::TimedOut)));
/// ```
pub fn is_cancelled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Cancelled>())
}

/// So that waits which return [`Cancelled`] go together with input and output: `sisal::sleep(pause)?`. [`is_cancelled`] tells such an error.
impl From<Cancelled> for io::Error {
    fn from(cancelled: Cancelled) -> io::Error {
        self::cancelled(cancelled.cause)
    }
}

/// Of the kind `Other`: `std` tries again after `Interrupted`, and many crates do after `WouldBlock`.
pub(crate) fn cancelled(cause: Cause) -> io::Error {
    io::Error::other(Cancelled::by(cause))
}

/// The call's own time is up.
pub(crate) fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// Another fiber or thread has closed it.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, Closed)
}

/// Whether an operation ended because another fiber or thread has closed what it was about.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Closed>())
}

#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed by another fiber or thread")
    }
}

impl std::error::Error for Closed {}

/// Whether the system has none of something left just now, so that it is worth trying again.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOSPC))
}
