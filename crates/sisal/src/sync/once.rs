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
        self.raw.call(Panicking::Poisons, Location::caller(), |_| f());
    }

    /// As [`call_once`](Self::call_once), but if another has panicked, `f` is called all the same, and is told of it.
    ///
    /// # Panics
    /// If `f` does, or calls this for the same `Once`, in the same fiber.
    ///
    /// ```
    /// use sisal::sync::Once;
    /// use std::panic::catch_unwind;
    /// let once = Once::new();
    /// catch_unwind(|| once.call_once(|| panic!("no tea"))).unwrap_err();
    /// once.call_once_force(|state| assert!(state.is_poisoned()));
    /// once.call_once_force(|_| unreachable!("it is done"));
    /// assert!(once.is_completed());
    /// ```
    #[track_caller]
    #[inline]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        self.raw.call(Panicking::PoisonsAgain, Location::caller(), |is_poisoned| f(&OnceState { is_poisoned }));
    }

    /// Waits until another has done it.
    ///
    /// # Panics
    /// If the other has panicked, before or meanwhile.
    ///
    /// ```
    /// static READY: sisal::sync::Once = sisal::sync::Once::new();
    /// let other = std::thread::spawn(|| READY.call_once(|| ()));
    /// READY.wait();
    /// assert!(READY.is_completed());
    /// # other.join().unwrap();
    /// ```
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.raw.wait(Panicking::Poisons, Location::caller());
        }
    }

    /// As [`wait`](Self::wait), and if another has panicked, until yet another has [forced](Self::call_once_force) it.
    ///
    /// ```
    /// static READY: sisal::sync::Once = sisal::sync::Once::new();
    /// std::thread::spawn(|| READY.call_once(|| panic!("no tea"))).join().unwrap_err();
    /// let other = std::thread::spawn(|| READY.call_once_force(|_| ()));
    /// READY.wait_force();
    /// assert!(READY.is_completed());
    /// # other.join().unwrap();
    /// ```
    #[track_caller]
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.raw.wait(Panicking::PoisonsAgain, Location::caller());
        }
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

/// What [`Once::call_once_force`] says to what it calls.
///
/// ```
/// sisal::sync::Once::new().call_once_force(|state| assert!(!state.is_poisoned()));
/// ```
#[derive(Debug)]
pub struct OnceState {
    is_poisoned: bool,
}

impl OnceState {
    /// Whether another has panicked before.
    ///
    /// ```
    /// let once = sisal::sync::Once::new();
    /// once.call_once_force(|state| assert!(!state.is_poisoned()));
    /// ```
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }
}
