//! `madvise` on many ranges of this process at once.
//!
//! `process_madvise` on oneself takes the advices used here since Linux 6.13, by the self descriptor
//! since 6.14. Where it is refused, or stops half way, every range is advised by itself: all advices
//! used here may be repeated.
//!
//! Why vectored: `MADV_DONTNEED` for a stack with one resident page takes 1.7 us in a call of its own, and
//! 17-19 us if another thread of the process runs (its TLB must be told); as one of 64 in a call it takes
//! 0.5 us in both cases (2 cores, Linux 6.18).
#![allow(unsafe_code, reason = "system calls on raw memory ranges")]

use libc::{c_int, c_void, iovec};
use std::io;

/// `PIDFD_SELF_THREAD`: the calling thread, and so its memory, with no descriptor to open or close.
const PIDFD_SELF: c_int = -10_000;

/// The kernel's `UIO_MAXIOV`: no vectored call takes more ranges.
pub(super) const MAX_RANGES: usize = 1024;

/// Gives `advice` for all `ranges`, in one system call if the kernel can. Stops at the first range that
/// is refused.
///
/// # Safety
///
/// The ranges are page-aligned parts of mappings that the caller owns, and nobody relies on the contents
/// that the advice may discard.
pub(super) unsafe fn advise(ranges: &[iovec], advice: c_int) -> io::Result<()> {
    for batch in ranges.chunks(MAX_RANGES) {
        // SAFETY: passed on.
        unsafe {
            if !advise_vectored(batch, advice) {
                advise_one_by_one(batch, advice)?;
            }
        }
    }
    Ok(())
}

/// Whether the kernel took all of the ranges.
///
/// # Safety
///
/// As for [`advise`], and at most [`MAX_RANGES`].
unsafe fn advise_vectored(ranges: &[iovec], advice: c_int) -> bool {
    let total: usize = ranges.iter().map(|range| range.iov_len).sum();
    // SAFETY: pointer and count describe a live slice; what the advice does is the caller's promise.
    let advised =
        unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF, ranges.as_ptr(), ranges.len(), advice, 0) };
    usize::try_from(advised) == Ok(total)
}

/// # Safety
///
/// As for [`advise`].
unsafe fn advise_one_by_one(ranges: &[iovec], advice: c_int) -> io::Result<()> {
    for range in ranges {
        // SAFETY: passed on.
        if unsafe { libc::madvise(range.iov_base, range.iov_len, advice) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// A range for [`advise`].
pub(super) fn range(start: *mut u8, len: usize) -> iovec {
    iovec { iov_base: start.cast::<c_void>(), iov_len: len }
}
