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
    /// That of the fiber which has its thread's stack.
    pub(crate) const MAIN: FiberId = FiberId(0);

    /// The bare number.
    ///
    /// ```
    /// sisal::run(|| assert_eq!(sisal::fiber::current().unwrap().id().get(), 0));
    /// ```
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A fiber's number or none, in one word.
#[derive(Copy, Clone)]
pub(crate) struct MaybeFiberId(u64);

impl MaybeFiberId {
    #[inline]
    pub(crate) fn new(id: Option<FiberId>) -> MaybeFiberId {
        MaybeFiberId(id.map_or(0, |id| id.0 + 1))
    }

    pub(crate) fn get(self) -> Option<FiberId> {
        self.0.checked_sub(1).map(FiberId)
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
