//! Names for fibers that are never used twice.

use std::fmt;

/// A fiber's number: unique in its runtime, never used again. The main fiber of [`run`](crate::run) is `#0`.
///
/// Numbers are dealt to the workers in blocks, so a higher number does not mean a later spawn.
///
/// ```
/// sisal::run(|| assert_eq!(sisal::fiber::current().unwrap().id().to_string(), "#0"));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiberId(pub(crate) u64);

impl FiberId {
    /// The bare number.
    ///
    /// ```
    /// sisal::run(|| assert_eq!(sisal::fiber::current().unwrap().id().get(), 0));
    /// ```
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FiberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Debug for FiberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FiberId({})", self.0)
    }
}
