//! A pair of barriers of which one side pays for both.
//!
//! Two threads that each write one word and then read the other's need a full barrier between: then at least one sees the other's
//! write. If one side does so often and the other hardly ever, the kernel can run a barrier on every thread of the process at the
//! request of the seldom side (0.6 us with one other thread running, Linux 6.18), and the other pays nothing.

use super::atomic::{Ordering, fence};
use std::sync::OnceLock;

/// Whether there is such a pair.
pub(crate) fn is_supported() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(register)
}

/// The often side. Orders nothing by itself, but keeps the compiler from reordering.
#[inline(always)]
pub(crate) fn light() {
    // ORDERING: pairs with `heavy`, which has the processor do the rest of a full fence just here, wherever this thread is.
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The seldom side: as if every thread had done a full barrier. Only if [`is_supported`].
#[cold]
pub(crate) fn heavy() {
    // ORDERING: pairs with `light` of all other threads. What was written before is there when they pass their barriers, and what is read
    // after is not older than those: so at least one of both sides sees what the other has written.
    fence(Ordering::SeqCst);
    run_everywhere();
    fence(Ordering::SeqCst);
}

#[cfg(all(target_os = "linux", not(any(miri, sisal_tsan))))]
#[allow(unsafe_code, reason = "a system call without arguments that matter")]
mod kernel {
    const MEMBARRIER_CMD_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn register() -> bool {
        membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    pub(super) fn run_everywhere() {
        let done = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        assert!(done, "INVARIANT: a barrier that was registered works");
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, sisal_tsan)))))]
mod kernel {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn run_everywhere() {
        unreachable!("INVARIANT: not supported here")
    }
}

use kernel::{register, run_everywhere};
