//! What the process was started with, as it was before Rust's library changed it.
//!
//! Before `main`, the library opens `/dev/null` for each standard stream that is closed, and ignores SIGPIPE. The first keeps files from being
//! opened where a stream is looked for, and the second makes a write to a pipe that nobody reads an error. Both are wanted here. But who reads from or
//! writes to a closed stream is to hear of it, as with any other program; and whether SIGPIPE ends the process is for those to say who start it.
//! So this is noted earlier: by a function that runs with the initializers of C, before that of the library.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

// ORDERING: Relaxed, all of them: they are written before there is a second thread.
static STDIN_IS_CLOSED: AtomicBool = AtomicBool::new(false);
static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);
static IGNORES_BROKEN_PIPES: AtomicBool = AtomicBool::new(false);

/// # Errors
/// If standard input was closed: then what stands in its place is not to be read.
pub(crate) fn check_stdin() -> io::Result<()> {
    check(&STDIN_IS_CLOSED)
}

/// # Errors
/// If standard output was closed: then what stands in its place is not to be written to.
pub(crate) fn check_stdout() -> io::Result<()> {
    check(&STDOUT_IS_CLOSED)
}

/// Whether who writes where nobody reads is to be told so, and not to end by the signal.
pub(crate) fn ignores_broken_pipes() -> bool {
    IGNORES_BROKEN_PIPES.load(Ordering::Relaxed)
}

fn check(is_closed: &AtomicBool) -> io::Result<()> {
    if is_closed.load(Ordering::Relaxed) { Err(io::Error::from_raw_os_error(libc::EBADF)) } else { Ok(()) }
}

#[allow(unsafe_code, reason = "the only place that comes before the library")]
mod early {
    use super::*;

    // SAFETY: the section is an array of such functions, which the C library calls one by one before `main`. This one needs nothing of Rust's
    // library that has to be set up.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static NOTE: extern "C" fn() = note;

    extern "C" fn note() {
        STDIN_IS_CLOSED.store(is_closed(libc::STDIN_FILENO), Ordering::Relaxed);
        STDOUT_IS_CLOSED.store(is_closed(libc::STDOUT_FILENO), Ordering::Relaxed);
        IGNORES_BROKEN_PIPES.store(ignores(libc::SIGPIPE), Ordering::Relaxed);
    }

    fn is_closed(descriptor: libc::c_int) -> bool {
        // SAFETY: this looks at a descriptor, which need not be open, and changes nothing.
        unsafe { libc::fcntl(descriptor, libc::F_GETFD) == -1 }
    }

    fn ignores(signal: libc::c_int) -> bool {
        // SAFETY: all bits zero are such a structure; without a new action, the call does nothing but fill it.
        let action = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            action
        };
        action.sa_sigaction == libc::SIG_IGN
    }
}
