//! A value that is made when it is first asked for: a [`OnceLock`] with its initialiser.
#![allow(unsafe_code, reason = "the initialiser is taken by one only, as the state says")]

use super::once_lock::OnceLock;
use crate::prim::const_fn;
use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A value that is made when it is first asked for; who comes meanwhile waits until it is there.
///
/// Who waits parks its fiber, or blocks its thread outside of fibers. The wait is not [cancelled](crate::Cancelled) by anything. The
/// initialiser may wait, too.
///
/// ```
/// use sisal::sync::LazyLock;
/// static NUMBERS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..3).collect());
/// assert_eq!(NUMBERS.len(), 3);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    /// INVARIANT: taken by whoever runs the initialisation of `value`. Gone without a value: it has panicked.
    make: Cell<Option<F>>,
}

// SAFETY: the initialiser is reached by one only, on whatever thread, and for the rest see `OnceLock`.
unsafe impl<T, F: Send> Sync for LazyLock<T, F> where OnceLock<T>: Sync {}
// As std's: who panics in the initialiser leaves nothing that could be seen.
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    const_fn! {
        /// One whose value is made by `f` when it is first asked for.
        ///
        /// ```
        /// let lazy = sisal::sync::LazyLock::new(|| 7);
        /// assert_eq!(*lazy, 7);
        /// ```
        pub fn new(f: F) -> LazyLock<T, F> {
            LazyLock { value: OnceLock::new(), make: Cell::new(Some(f)) }
        }
    }

    /// The value, which is made now if it is not there yet. [`Deref`] does the same.
    ///
    /// # Panics
    /// If the initialiser does; from then on everybody who asks for the value does, as with [`std::sync::LazyLock`]. And if the
    /// initialiser asks for the value it is to make, in the same fiber.
    ///
    /// ```
    /// use sisal::sync::LazyLock;
    /// let lazy = LazyLock::new(|| 7);
    /// assert_eq!(LazyLock::force(&lazy), &7);
    /// ```
    #[track_caller]
    #[inline]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| match this.make.take() {
            Some(make) => make(),
            None => panic!("the initialiser of this value has panicked"),
        })
    }

    /// As [`force`](Self::force), for one who has it alone. [`DerefMut`] does the same.
    ///
    /// # Panics
    /// As for [`force`](Self::force).
    ///
    /// ```
    /// use sisal::sync::LazyLock;
    /// let mut lazy = LazyLock::new(|| 7);
    /// *LazyLock::force_mut(&mut lazy) += 1;
    /// assert_eq!(*lazy, 8);
    /// ```
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        match this.value.get_mut() {
            Some(value) => value,
            None => unreachable!("INVARIANT: it was made above"),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made.
    ///
    /// ```
    /// use sisal::sync::LazyLock;
    /// let lazy = LazyLock::new(|| 7);
    /// assert_eq!(LazyLock::get(&lazy), None);
    /// LazyLock::force(&lazy);
    /// assert_eq!(LazyLock::get(&lazy), Some(&7));
    /// ```
    #[inline]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.value.get()
    }

    /// The value, if it has been made.
    ///
    /// ```
    /// use sisal::sync::LazyLock;
    /// let mut lazy = LazyLock::new(|| 7);
    /// assert_eq!(LazyLock::get_mut(&mut lazy), None);
    /// *lazy += 1;
    /// assert_eq!(LazyLock::get_mut(&mut lazy), Some(&mut 8));
    /// ```
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    #[inline]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => debug.field(value),
            None => debug.field(&format_args!("<none>")),
        };
        debug.finish()
    }
}
