//! Registers on x86_64.
#![allow(unsafe_code, reason = "what the kernel saved is read through a pointer")]

use super::UnwindRegisters;
use sisal_context::switch::Registers;

/// Where unwinding starts. The highest address of code tells nothing here.
pub(super) fn start(from: Registers, _highest: u64) -> UnwindRegisters {
    UnwindRegisters::new(from.pc as u64, from.sp as u64, from.fp as u64)
}

pub(super) fn frame_pointer(registers: &UnwindRegisters) -> u64 {
    registers.bp()
}

/// The registers after a return from a function that kept a frame record; returns the address it returns to.
pub(super) fn set_returned(registers: &mut UnwindRegisters, sp: u64, fp: u64, address: u64) -> u64 {
    *registers = UnwindRegisters::new(address, sp, fp);
    address
}

/// The registers of whatever was interrupted by a signal.
///
/// # Safety
/// The context is the one that the kernel passed to the handler that runs.
pub(super) unsafe fn interrupted(context: *const libc::c_void) -> Registers {
    // SAFETY: the caller's promise.
    let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |index: i32| saved[index as usize] as usize;
    Registers { pc: register(libc::REG_RIP), sp: register(libc::REG_RSP), fp: register(libc::REG_RBP), lr: 0 }
}
