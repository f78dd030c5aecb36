//! Whose threads, atomics and locks the models run on: loom's (`--cfg loom`) or shuttle's (`--cfg shuttle`).
//!
//! loom tries every schedule of a few threads, with all that the orderings of atomics allow. shuttle tries random ones of as many threads as
//! a whole scenario has, and takes every ordering for `SeqCst` and every fence for nothing. So loom proves the protocols, one at
//! a time, and shuttle looks at how they go together.

#[cfg(loom)]
pub(crate) use loom::{cell::UnsafeCell, hint, lazy_static, sync, thread, thread_local};
#[cfg(shuttle)]
pub(crate) use shuttle::{hint, lazy_static, sync, thread, thread_local};

#[cfg(shuttle)]
pub(crate) use self::watched::UnsafeCell;

/// A number for choices that are made at random outside of the models: always the same with loom, which tries all orders of the threads and
/// must not be surprised by one of its own; and from shuttle's seed.
#[cfg(loom)]
pub(crate) fn random() -> u64 {
    0
}
#[cfg(shuttle)]
pub(crate) fn random() -> u64 {
    use shuttle::rand::RngCore;
    shuttle::rand::thread_rng().next_u64()
}

/// What shuttle lacks.
#[cfg(shuttle)]
mod watched {
    use shuttle::sync::atomic::{AtomicUsize, Ordering};

    /// As loom's: fails if two access it at a time, unless both only read. Others may come to run as an access begins and as it ends.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T> {
        value: std::cell::UnsafeCell<T>,
        /// How many read it, or WRITTEN.
        readers: AtomicUsize,
    }

    const WRITTEN: usize = usize::MAX / 2;

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell { value: std::cell::UnsafeCell::new(value), readers: AtomicUsize::new(0) }
        }

        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            assert!(self.readers.fetch_add(1, Ordering::Relaxed) < WRITTEN, "read while it is written");
            let result = f(self.value.get());
            self.readers.fetch_sub(1, Ordering::Relaxed);
            result
        }

        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            assert_eq!(self.readers.fetch_add(WRITTEN, Ordering::Relaxed), 0, "written while others use it");
            let result = f(self.value.get());
            self.readers.fetch_sub(WRITTEN, Ordering::Relaxed);
            result
        }
    }
}
