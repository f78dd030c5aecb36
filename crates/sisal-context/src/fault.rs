//! Faults: telling a stack overflow from any other `SIGSEGV` or `SIGBUS`.
//!
//! A thread that touches the guard of the stack it runs on has no stack left to run a handler on: the
//! kernel runs it on the thread's *alternate* stack, which every thread that runs on our stacks must have
//! ([`AltStack`]).
//!
//! The handler, on the thread that faulted:
//! 1. asks the callback whether the address is an overflow; the callback reports it and says yes;
//! 2. yes: aborts, with the default action for `SIGABRT`, so that nobody returns to the broken stack;
//! 3. no: the fault goes to the handler that was there before us. If that was the default action, it is
//!    put back and the handler returns: the instruction faults again, and the process ends as it would
//!    have without us, core dump included.
//!
//! Everything the handler reads is written before it is installed. It takes no lock and allocates nothing.
#![allow(unsafe_code, reason = "signal actions and alternate stacks")]

mod alt_stack;

pub use alt_stack::AltStack;

use libc::{c_int, c_void, sigaction, siginfo_t};
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::{Once, OnceLock};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Decides on a fault; see [`install`].
static ON_FAULT: OnceLock<fn(usize) -> bool> = OnceLock::new();

/// The actions that were there before, in the order of [`SIGNALS`].
static PREVIOUS: [OnceLock<sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];

/// Installs the process-wide handler for `SIGSEGV` and `SIGBUS`. The first call does, others change nothing.
///
/// `on_fault(address)` is called on the faulting thread's alternate stack and must be async-signal-safe:
/// no lock, no allocation, output by [`write_stderr`]. It returns true if the address was an overflow that
/// it has reported; then the process is aborted. Else the fault goes to the handler that was there before.
///
/// ```
/// use sisal_context::fault;
///
/// fn on_fault(_address: usize) -> bool {
///     false // no stacks yet, so no overflow
/// }
/// fault::install(on_fault);
/// ```
pub fn install(on_fault: fn(usize) -> bool) {
    // The handler may run as soon as the first action is set, hence the callback before it.
    ON_FAULT.get_or_init(|| on_fault);
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| SIGNALS.into_iter().zip(&PREVIOUS).for_each(install_for));
}

fn install_for((signal, previous): (c_int, &OnceLock<sigaction>)) {
    // The mask stays what the handler before, which we may call, expects; and so does whether the signal may come again in it, which one that never
    // returns relies on.
    let mut action = *previous.get_or_init(|| current_action(signal));
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (action.sa_flags & libc::SA_NODEFER);
    set_action(signal, &action);
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo to handlers with SA_SIGINFO.
    let info_ref = unsafe { &*info };
    // Codes above zero are the kernel's; else somebody sent the signal, and there is no address.
    let is_fault = info_ref.si_code > 0;
    if is_fault {
        // SAFETY: faults have an address.
        let address = unsafe { info_ref.si_addr() } as usize;
        if ON_FAULT.get().is_some_and(|on_fault| on_fault(address)) {
            abort();
        }
    }
    chain(signal, is_fault, info, context);
}

fn abort() -> ! {
    set_action(libc::SIGABRT, &default_action());
    // SAFETY: async-signal-safe, no obligations.
    unsafe { libc::abort() }
}

/// Does what would have happened without us.
fn chain(signal: c_int, is_fault: bool, info: *mut siginfo_t, context: *mut c_void) {
    let place = SIGNALS.iter().position(|&candidate| candidate == signal);
    let previous = place.and_then(|place| PREVIOUS[place].get());
    match previous {
        Some(action) if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
            call(action, signal, info, context);
        }
        Some(action) if action.sa_sigaction == libc::SIG_IGN && !is_fault => {}
        // A fault can't be ignored: the kernel ends the process as by default.
        _ => fall_back_to_default(signal, is_fault),
    }
}

fn call(action: &sigaction, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    type Plain = extern "C" fn(c_int);
    type Informed = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
    // SAFETY: the address is neither SIG_DFL nor SIG_IGN, so it is a function, of the type that the flag
    // says; it gets what the kernel gave us.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO == 0 {
            std::mem::transmute::<usize, Plain>(action.sa_sigaction)(signal);
        } else {
            std::mem::transmute::<usize, Informed>(action.sa_sigaction)(signal, info, context);
        }
    }
}

/// Restores the default action. A fault repeats itself when the handler returns; a signal that was sent
/// must be sent again.
fn fall_back_to_default(signal: c_int, is_fault: bool) {
    set_action(signal, &default_action());
    if !is_fault {
        // SAFETY: async-signal-safe, no obligations.
        unsafe { libc::raise(signal) };
    }
}

fn default_action() -> sigaction {
    // SAFETY: integers and an optional function: zero is valid, and means SIG_DFL with an empty mask.
    unsafe { std::mem::zeroed() }
}

fn current_action(signal: c_int) -> sigaction {
    let mut action = default_action();
    // SAFETY: reads into a live struct. Can't fail: the signal exists.
    unsafe { sigaction(signal, ptr::null(), &mut action) };
    action
}

fn set_action(signal: c_int, action: &sigaction) {
    // SAFETY: the action is valid: what the kernel gave us, the default, or `handle` with its flags.
    // Can't fail: the signal exists and may be caught.
    unsafe { sigaction(signal, action, ptr::null_mut()) };
}

/// Writes the pieces to standard error, one after the other, with `write(2)`: async-signal-safe. What
/// can't be written is lost.
///
/// ```
/// sisal_context::fault::write_stderr(&[b"stack overflow in fiber ", b"17", b"\n"]);
/// ```
pub fn write_stderr(pieces: &[&[u8]]) {
    // SAFETY: borrowed for this call. Should the program have closed it, writing fails, which is fine.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match rustix::io::retry_on_intr(|| rustix::io::write(stderr, rest)) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ => return,
            }
        }
    }
}
