//! The stack that the system has given a thread: how large it is, and where it ends.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// The kernel keeps so much free below the stack of a process's first thread, and other libraries guard theirs by less.
const GAP: usize = 1 << 20;

/// A page, of the largest size there is: an old C library counts the guard as part of the stack.
const PAGE: usize = 64 << 10;

/// Where the stack of a thread ends, and its size.
///
/// ```
/// let stack = sisal_context::stack::ThreadStack::of_this_thread().expect("the system tells");
/// let here = &raw const stack as usize;
/// assert!(!stack.is_overflow(here) && stack.size() > 0);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ThreadStack {
    low: usize,
    size: usize,
}

impl ThreadStack {
    /// That of the calling thread; none if the system doesn't tell. It may read a file for that.
    pub fn of_this_thread() -> Option<ThreadStack> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the calling thread is alive, and there is room for what is written.
        if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        let (mut low, mut size) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: written above, and not used after it is destroyed.
        let failed = unsafe {
            let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            failed
        };
        (failed == 0).then(|| ThreadStack { low: low.addr(), size })
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a fault at this address is what running out of it looks like.
    pub fn is_overflow(&self, address: usize) -> bool {
        self.end().contains(&address)
    }

    fn end(&self) -> Range<usize> {
        self.low.saturating_sub(GAP)..self.low + PAGE.min(self.size / 2)
    }
}
