//! Registers on aarch64.
#![allow(unsafe_code, reason = "what the kernel saved is read through a pointer")]

use super::UnwindRegisters;
use framehop::aarch64::PtrAuthMask;
use sisal_context::switch::Registers;

/// Where unwinding starts. Return addresses may be signed, in the bits above those that the `highest` address of code has.
pub(super) fn start(from: Registers, highest: u64) -> UnwindRegisters {
    let mask = PtrAuthMask::from_max_known_address(highest);
    UnwindRegisters::new_with_ptr_auth_mask(mask, from.lr as u64, from.sp as u64, from.fp as u64)
}

pub(super) fn frame_pointer(registers: &UnwindRegisters) -> u64 {
    registers.fp()
}

/// The registers after a return from a function that kept a frame record; returns the address it returns to.
pub(super) fn set_returned(registers: &mut UnwindRegisters, sp: u64, fp: u64, address: u64) -> u64 {
    let address = registers.lr_mask().strip_ptr_auth(address);
    registers.set_sp(sp);
    registers.set_fp(fp);
    registers.set_lr(address);
    address
}

/// The registers of whatever was interrupted by a signal.
///
/// # Safety
/// The context is the one that the kernel passed to the handler that runs.
pub(super) unsafe fn interrupted(context: *const libc::c_void) -> Registers {
    // SAFETY: the caller's promise.
    let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    let register = |index: usize| saved.regs[index] as usize;
    Registers { pc: saved.pc as usize, sp: saved.sp as usize, fp: register(29), lr: register(30) }
}
