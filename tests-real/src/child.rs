//! Child processes that never outlive the test.
#![allow(unsafe_code, reason = "what a child does between fork and exec")]

use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the kernel send the child a signal when the thread that started it ends, even if a watchdog aborts the process and no
/// destructor runs. That thread therefore has to live as long as the child is to.
pub(crate) fn dies_with_this_thread(command: &mut Command, signal: Signal) {
    let ask = move || set_parent_process_death_signal(Some(signal)).map_err(Into::into);
    // SAFETY: between fork and exec only what is safe in a signal handler may be done. This is one system call, and an error
    // made of its number. It comes after a change of user, which would undo it.
    unsafe { command.pre_exec(ask) };
}
