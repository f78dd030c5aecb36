//! Whether the kernel has rings for this process (`io_uring`), and how to do without.
#![allow(unsafe_code, reason = "a ring is asked for, and a filter for system calls installed")]

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
    let statement = |code: u32, yes, no, value| libc::sock_filter { code: code as u16, jt: yes, jf: no, k: value };
    let mut filter = [
        // The number of the system call.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is as long as it says, and the kernel copies it.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        ]
    };
    assert_eq!(results, [0, 0]);
    assert!(!has_rings());
}
