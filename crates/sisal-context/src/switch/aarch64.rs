//! The switch on aarch64, AAPCS64 calling convention.

use super::Registers;
use std::arch::{asm, naked_asm};

/// The root frame of every stack. Arrives by a jump with the stack pointer still at the first frame and
/// the passed word in `x2`.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn root() {
    naked_asm!(
        ".cfi_startproc",
        // A landing pad for the jump, where branch targets are enforced.
        "hint #36",
        // Unwinders and backtraces stop here: the caller of this frame does not exist.
        ".cfi_undefined lr",
        // Zero frame pointer and return address end walks along frame pointers too.
        "mov x29, xzr",
        "mov x30, xzr",
        "ldr x3, [sp, #8]",
        "add sp, sp, #32",
        "mov x0, x2",
        "blr x3",
        // `entry` never returns.
        "brk #1",
        ".cfi_endproc",
    )
}

/// See [`super::switch`].
#[inline(always)]
pub(super) unsafe fn switch(save: *mut *mut u8, to: *mut u8, word: usize) -> usize {
    let passed;
    // SAFETY: every register is saved by hand or named as clobbered, the stack pointer comes back with
    // the value it had, and the caller vouches for `save` and `to`.
    unsafe {
        asm!(
            "sub sp, sp, #32",
            "stp x19, x29, [sp, #8]",
            "adr x3, 2f",
            "str x3, [sp]",
            "mov x4, sp",
            "str x4, [x0]",
            "mov sp, x1",
            "ldr x3, [sp]",
            "br x3",
            "2:",
            "hint #36",
            "ldp x19, x29, [sp, #8]",
            "add sp, sp, #32",
            inout("x0") save => _,
            inout("x1") to => _,
            inout("x2") word => passed,
            out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _,
            out("x25") _, out("x26") _, out("x27") _, out("x28") _, out("x30") _,
            out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _,
            clobber_abi("C"),
        );
    }
    passed
}

/// See [`super::call_on`]. Keeps a frame record, by which unwinders find the way back.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn call_on(top: *mut u8, f: extern "C" fn(*mut u8), data: *mut u8) {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        "ret",
        ".cfi_endproc",
    )
}

/// See [`super::return_by_jump`]. Here it is a plain call after all: where the targets of jumps are enforced, only a `ret` may go back to a caller.
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn return_by_jump(
    a: *const (),
    b: *mut (),
    c: *const (),
    f: super::Leaving,
) -> usize {
    naked_asm!(
        ".cfi_startproc",
        "hint #34",
        // By this register a jump may enter a function.
        "mov x16, x3",
        "br x16",
        ".cfi_endproc",
    )
}

/// How far the instruction after the call in [`call_on`] is from its start.
pub(super) const CALL_ON_RETURN: usize = 5 * 4;

/// What the words of a saved frame make of the registers; it starts at `frame`.
///
/// # Safety
/// A frame that [`switch`] has saved is there, and stays while it is read.
pub(super) unsafe fn saved(frame: *const usize) -> Registers {
    // SAFETY: the caller's promise.
    let [pc, _x19, x29] = unsafe { frame.cast::<[usize; 3]>().read() };
    // The link register is named as clobbered, so the function has it in its frame.
    Registers { pc, sp: frame.wrapping_add(4).addr(), fp: x29, lr: 0 }
}

/// The registers as they are in the function that this is inlined into.
#[inline(always)]
pub(super) fn here() -> Registers {
    let (lr, pc, sp, fp);
    // SAFETY: reads four registers. The link register comes first: it may be chosen for one of the others.
    unsafe {
        asm!("mov {}, x30", "adr {}, .", "mov {}, sp", "mov {}, x29", out(reg) lr, out(reg) pc, out(reg) sp, out(reg) fp,
             options(nomem, nostack));
    }
    Registers { pc, sp, fp, lr }
}
