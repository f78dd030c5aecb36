//! The one door to unsynchronised memory shared between threads: plain, or in the models watched for races.

#[cfg(modelled)]
pub(crate) use super::checker::UnsafeCell;

#[cfg(not(modelled))]
pub(crate) use plain::UnsafeCell;

#[cfg(not(modelled))]
mod plain {
    /// As [`std::cell::UnsafeCell`], with accesses as closures, so that a model can see where they begin and end.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}
