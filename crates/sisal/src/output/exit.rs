//! The ends of a process: what has to be written before, and what a forked child must not wait for.
#![allow(unsafe_code, reason = "atexit and pthread_atfork are C functions")]

use super::{STDERR, STDOUT};
use crate::prim::atomic::{AtomicU32, Ordering};
use std::sync::Once;

/// 1 in the child of a fork: the thread that writes is the parent's, and so are its locks.
static FORKED: AtomicU32 = AtomicU32::new(0);

/// 1 when the process exits: nothing may be left to the thread that writes.
static EXITING: AtomicU32 = AtomicU32::new(0);

/// Before anything is printed.
#[inline]
pub(super) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handlers live for ever. That for the fork touches an atomic only. Should there be no memory for them, a fork or exit
        // at a time when something is left to write may lose it or wait for it.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
            libc::atexit(at_exit);
        }
    });
}

#[inline]
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed) != 0
}

#[inline]
pub(super) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed) != 0
}

extern "C" fn in_child() {
    FORKED.store(1, Ordering::Relaxed);
}

extern "C" fn at_exit() {
    EXITING.store(1, Ordering::Relaxed);
    STDOUT.write_out();
    STDERR.write_out();
}
