//! The switch on x86_64, System V calling convention.

use super::Registers;
use std::arch::{asm, naked_asm};

/// The root frame of every stack. Arrives by a jump with the stack pointer above its own address and
/// the passed word in `rdx`.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn root() {
    naked_asm!(
        ".cfi_startproc",
        // Unwinders and backtraces stop here: the caller of this frame does not exist.
        ".cfi_undefined rip",
        // A zero frame pointer ends walks along frame pointers too.
        "xor ebp, ebp",
        "mov rdi, rdx",
        "pop rax",
        "call rax",
        // `entry` never returns.
        "ud2",
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
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            // Between these two lines we are on neither stack: nothing may be pushed.
            "mov rsp, rsi",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inout("rdi") save => _,
            inout("rsi") to => _,
            inout("rdx") word => passed,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        );
    }
    passed
}

/// See [`super::call_on`]. Keeps a frame pointer, by which unwinders find the way back.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn call_on(top: *mut u8, f: extern "C" fn(*mut u8), data: *mut u8) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// See [`super::return_by_jump`]. Keeps a frame pointer, as [`call_on`] does.
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn return_by_jump(
    a: *const (),
    b: *mut (),
    c: *const (),
    f: super::Leaving,
) -> usize {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "call rcx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        ".cfi_restore rbp",
        // In place of a `ret`.
        "pop rcx",
        ".cfi_def_cfa_offset 0",
        ".cfi_register rip, rcx",
        "jmp rcx",
        ".cfi_endproc",
    )
}

/// How far the instruction after the call in [`call_on`] is from its start: `push`, three times `mov`, `call`.
pub(super) const CALL_ON_RETURN: usize = 1 + 3 * 3 + 2;

/// What the words of a saved frame make of the registers; it starts at `frame`.
///
/// # Safety
/// A frame that [`switch`] has saved is there, and stays while it is read.
pub(super) unsafe fn saved(frame: *const usize) -> Registers {
    // SAFETY: the caller's promise.
    let [pc, _rbx, rbp] = unsafe { frame.cast::<[usize; 3]>().read() };
    Registers { pc, sp: frame.wrapping_add(3).addr(), fp: rbp, lr: 0 }
}

/// The registers as they are in the function that this is inlined into.
#[inline(always)]
pub(super) fn here() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads three registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp, options(nomem, nostack));
    }
    Registers { pc, sp, fp, lr: 0 }
}
