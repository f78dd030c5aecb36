//! A descriptor seen as one of `std`'s sockets, for everything that never waits: addresses, options, and how it is shown.
#![allow(unsafe_code, reason = "std's sockets own their descriptor, and this one is only borrowed")]

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// See the [module](self). `T` is a socket of `std`.
pub(super) struct View<'a, T> {
    // INVARIANT: never dropped, so that the descriptor stays open, and given out only as a shared reference.
    socket: ManuallyDrop<T>,
    borrowed: PhantomData<BorrowedFd<'a>>,
}

impl<'a, T: From<OwnedFd>> View<'a, T> {
    pub(super) fn of(fd: BorrowedFd<'a>) -> View<'a, T> {
        // SAFETY: the descriptor is open as long as it is borrowed, which is as long as the view lives; the view never closes it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd.as_raw_fd()) };
        View { socket: ManuallyDrop::new(T::from(fd)), borrowed: PhantomData }
    }
}

impl<T> Deref for View<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.socket
    }
}

impl<T: fmt::Debug> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
