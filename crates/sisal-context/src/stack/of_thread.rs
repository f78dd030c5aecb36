//! The stack that the system has given a thread: how large it is, and where it ends.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// The kernel keeps so much free below the stack of a process's first thread.
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
    /// What lies below it, and is no memory.
    guard: usize,
}

impl ThreadStack {
    /// That of the calling thread; none if the system doesn't tell. It may read a file for that.
    pub fn of_this_thread() -> Option<ThreadStack> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the calling thread is alive, and there is room for what is written.
        if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        let (mut low, mut size, mut guard) = (ptr::null_mut::<c_void>(), 0, 0);
        // SAFETY: written above, and not used after it is destroyed. The two numbers are those of the caller.
        let (failed, is_first) = unsafe {
            let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size) != 0
                || libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard) != 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            (failed, libc::getpid() == libc::gettid())
        };
        let guard = if is_first { GAP } else { guard };
        (!failed).then(|| ThreadStack { low: low.addr(), size, guard })
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
        self.low.saturating_sub(self.guard)..self.low + PAGE.min(self.size / 2)
    }
}
