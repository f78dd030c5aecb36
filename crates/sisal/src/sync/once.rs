//! Something that is done once.

use super::raw_once::{Panicking, RawOnce};
use std::fmt;
use std::panic::Location;

use crate::prim::const_fn;

/// Something that is done once, by the first who comes; whoever comes meanwhile waits until it is done.
///
/// Who waits parks its fiber, or blocks its thread outside of fibers. The wait is not [cancelled](crate::Cancelled) by anything.
///
/// ```
/// use sisal::sync::Once;
/// static ONCE: Once = Once::new();
/// let mut times = 0;
/// ONCE.call_once(|| times += 1);
/// ONCE.call_once(|| times += 1);
/// assert_eq!(times, 1);
/// ```
pub struct Once {
    raw: RawOnce,
}

impl Once {
    const_fn! {
        /// One that is still to be done.
        ///
        /// ```
        /// static ONCE: sisal::sync::Once = sisal::sync::Once::new();
        /// assert!(!ONCE.is_completed());
        /// ```
        pub fn new() -> Once {
            Once { raw: RawOnce::new() }
        }
    }

    /// Calls `f` if nobody has, or waits for whoever does. When this returns, what `f` did can be seen.
    ///
    /// # Panics
    /// If `f` does; from then on everybody who calls this does, as with [`std::sync::Once`]. And if `f` calls this for the same `Once`,
    /// in the same fiber.
    ///
    /// ```
    /// let once = sisal::sync::Once::new();
    /// once.call_once(|| ());
    /// assert!(once.is_completed());
    /// ```
    #[track_caller]
    #[inline]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.raw.call(Panicking::Poisons, Location::caller(), f);
    }

    /// Whether it is done.
    ///
    /// ```
    /// assert!(!sisal::sync::Once::new().is_completed());
    /// ```
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.raw.is_complete()
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("is_completed", &self.is_completed()).finish()
    }
}
