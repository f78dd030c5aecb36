//! How long the operations of a socket wait: until it is done, for some time, or not at all.

use crate::prim::clock::Moment;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The longest time one direction of a socket waits. Everybody who uses the socket may read and set it.
///
/// Relaxed throughout: it guards nothing, and an operation under way keeps what it read.
#[derive(Default)]
pub(super) struct Timeout(
    /// In nanoseconds; 0 means without end.
    AtomicU64,
);

impl Timeout {
    pub(super) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// As in `std`, a time of nothing is an error.
    pub(super) fn set(&self, timeout: Option<Duration>) -> io::Result<()> {
        let nanos = match timeout {
            None => 0,
            Some(timeout) => positive(timeout)?.as_nanos().try_into().unwrap_or(u64::MAX),
        };
        self.0.store(nanos, Ordering::Relaxed);
        Ok(())
    }

    /// When an operation that begins now has to end. Reads the clock only if there is a time to keep.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Moment> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Moment::now().after(Duration::from_nanos(nanos))),
        }
    }
}

impl Clone for Timeout {
    fn clone(&self) -> Timeout {
        Timeout(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Refuses a time of nothing, as `std` does: it would mean "without end" to the kernel.
pub(super) fn positive(timeout: Duration) -> io::Result<Duration> {
    if timeout.is_zero() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
    }
    Ok(timeout)
}

/// A choice that everybody who uses the socket may read and make. Relaxed, as for [`Timeout`].
#[derive(Default)]
pub(super) struct Switch(AtomicBool);

impl Switch {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn turn(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

impl Clone for Switch {
    fn clone(&self) -> Switch {
        Switch(AtomicBool::new(self.is_on()))
    }
}
