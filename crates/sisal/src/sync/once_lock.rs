//! A value that is written once: [`RawOnce`] says whether it is there.
#![allow(unsafe_code, reason = "the value is there or not, as the state says")]

use super::raw_once::{Panicking, RawOnce};
use crate::prim::const_fn;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

/// A value that is written once, and read by everybody.
///
/// Who waits for it parks its fiber, or blocks its thread outside of fibers. The wait is not [cancelled](crate::Cancelled) by
/// anything.
///
/// ```
/// use sisal::sync::OnceLock;
/// static NAME: OnceLock<String> = OnceLock::new();
/// assert!(NAME.get().is_none());
/// assert_eq!(NAME.get_or_init(|| "agave".to_owned()), "agave");
/// assert_eq!(NAME.get_or_init(|| unreachable!()), "agave");
/// ```
pub struct OnceLock<T> {
    raw: RawOnce,
    /// INVARIANT: initialised if and only if `raw` is complete.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: whoever has it may take the value out.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: the value is written by one, on whatever thread, before it is read by others.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// As std's: a value is there as a whole, or not at all.
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    const_fn! {
        /// One without a value.
        ///
        /// ```
        /// static CELL: sisal::sync::OnceLock<u32> = sisal::sync::OnceLock::new();
        /// assert_eq!(CELL.get(), None);
        /// ```
        pub fn new() -> OnceLock<T> {
            OnceLock { raw: RawOnce::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
        }
    }

    /// The value, if it is there.
    ///
    /// ```
    /// assert_eq!(sisal::sync::OnceLock::from(7).get(), Some(&7));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it is there.
        self.raw.is_complete().then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value, if it is there.
    ///
    /// ```
    /// let mut cell = sisal::sync::OnceLock::from(7);
    /// *cell.get_mut().unwrap() = 8;
    /// assert_eq!(cell.into_inner(), Some(8));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: it is there, and nobody else has it.
        self.raw.is_complete().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// The value; if it is not there, it is made by `f`, or by another who does so already.
    ///
    /// # Panics
    /// If `f` does; then there is no value, and the next one tries. And if `f` asks for the value it is to make, in the same fiber.
    ///
    /// ```
    /// assert_eq!(*sisal::sync::OnceLock::new().get_or_init(|| 7), 7);
    /// ```
    #[track_caller]
    #[inline]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.raw.call(Panicking::LeavesIncomplete, Location::caller(), |_| {
            let value = f();
            // SAFETY: incomplete, and run by nobody else.
            unsafe { (*self.value.get()).write(value) };
        });
        // SAFETY: complete now.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Writes the value, if there is none; waits if another is about to make it.
    ///
    /// # Errors
    /// Gives back `value` if there is one already.
    ///
    /// ```
    /// let cell = sisal::sync::OnceLock::new();
    /// assert_eq!(cell.set(7), Ok(()));
    /// assert_eq!(cell.set(8), Err(8));
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.raw.call(Panicking::LeavesIncomplete, Location::caller(), |_| {
            if let Some(value) = value.take() {
                // SAFETY: incomplete, and run by nobody else.
                unsafe { (*self.value.get()).write(value) };
            }
        });
        value.map_or(Ok(()), Err)
    }

    /// Waits until the value is there.
    ///
    /// ```
    /// static CELL: sisal::sync::OnceLock<u32> = sisal::sync::OnceLock::new();
    /// let writer = std::thread::spawn(|| CELL.set(7));
    /// assert_eq!(*CELL.wait(), 7);
    /// # writer.join().unwrap().unwrap();
    /// ```
    #[track_caller]
    pub fn wait(&self) -> &T {
        if !self.raw.is_complete() {
            self.raw.wait(Panicking::LeavesIncomplete, Location::caller());
        }
        // SAFETY: complete now.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Takes the value out, and leaves it as it was before it was written.
    ///
    /// ```
    /// let mut cell = sisal::sync::OnceLock::from(7);
    /// assert_eq!(cell.take(), Some(7));
    /// assert_eq!(cell.get(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        // SAFETY: it was there, nobody else has it, and now it is known not to be.
        self.raw.reset().then(|| unsafe { self.value.get_mut().assume_init_read() })
    }

    /// The value, if it is there.
    ///
    /// ```
    /// assert_eq!(sisal::sync::OnceLock::from(7).into_inner(), Some(7));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        let cell = OnceLock::new();
        cell.raw.call(Panicking::LeavesIncomplete, Location::caller(), |_| {
            // SAFETY: nobody else has it.
            unsafe { (*cell.value.get()).write(value) };
        });
        cell
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => debug.field(value),
            None => debug.field(&format_args!("<none>")),
        };
        debug.finish()
    }
}
