//! `fork` without `exec` leaves a child with one thread and none of the workers: no call into sisal can work there.
//!
//! The handler registered here raises a flag in the child. Hot paths don't read it: `sched::current` forgets the
//! worker of the forking thread at the same moment, so every call takes the path for threads outside a runtime,
//! and that one looks.
#![allow(unsafe_code, reason = "pthread_atfork is a C function")]

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IN_FORKED_CHILD: AtomicBool = AtomicBool::new(false);

/// From now on a child knows that it is one. Called before the first thread of the crate's own starts.
pub(crate) fn watch() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| register(raise_flag));
}

/// As [`watch`]; and `in_child` is called on the forking thread in the child of every later `fork`. Once per process.
pub(crate) fn watch_with(in_child: extern "C" fn()) {
    static REGISTERED: Once = Once::new();
    watch();
    REGISTERED.call_once(|| register(in_child));
}

fn register(in_child: extern "C" fn()) {
    // SAFETY: the handlers are `extern "C"` functions that live for ever and touch only an atomic and a thread-local cell, which is allowed
    // in the child of a multi-threaded process.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0;
    assert!(!failed, "sisal: out of memory while registering the fork handler");
}

extern "C" fn raise_flag() {
    IN_FORKED_CHILD.store(true, Ordering::Relaxed);
}

/// Whether this process is the child of a `fork` made while sisal was in use.
pub(crate) fn is_child() -> bool {
    IN_FORKED_CHILD.load(Ordering::Relaxed)
}

/// Aborts with a message if this process is the child of a `fork` made while sisal was in use.
pub(crate) fn refuse_in_child() {
    if is_child() {
        abort_in_child();
    }
}

#[cold]
fn abort_in_child() -> ! {
    sisal_context::fault::write_stderr(&[
        b"sisal: called in the child of a fork() without exec(). The worker threads exist only in the parent. ",
        b"Start child processes with std::process::Command, or fork before the first use of sisal.\n",
    ]);
    std::process::abort();
}
