//! Whether the kernel has rings for this process (`io_uring`), and how to do without.
#![allow(unsafe_code, reason = "a ring is asked for")]

use super::filter::Filter;
use std::os::fd::{FromRawFd, OwnedFd};

/// Whether this process may have a ring: it is given one for a moment.
pub(crate) fn has_rings() -> bool {
    // As large as `io_uring_params`, of which zeros ask for nothing special.
    let mut parameters = [0_u64; 15];
    // SAFETY: the kernel reads the parameters and fills them in.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    let Ok(ring @ 0..) = i32::try_from(ring) else { return false };
    // SAFETY: it was made just now, and nobody else knows of it.
    drop(unsafe { OwnedFd::from_raw_fd(ring) });
    true
}

/// Has the kernel refuse rings to this thread and those it starts from now on, as if it knew nothing of them. Nobody can take that back, so
/// it is for children.
pub(crate) fn refuse_rings() {
    Filter::new().refuse(libc::SYS_io_uring_setup, &[], libc::ENOSYS).install().unwrap();
    assert!(!has_rings());
}
