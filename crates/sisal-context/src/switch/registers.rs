//! The registers from which a stack can be unwound: of a context that has been left, and of the caller.
//!
//! Call frame information describes a function as the compiler sees it. It knows nothing of what the inline assembly of a switch
//! pushes, so the registers are given as they are after the pops.

use super::{Suspended, arch};

/// Where a stack is to be unwound from.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The instruction that is next.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, whatever the function uses it for.
    pub fp: usize,
    /// The link register, where there is one and a function may have its return address there: not in contexts that were left.
    pub lr: usize,
}

impl Registers {
    /// Those of the caller, which must not return before they have been used.
    ///
    /// ```
    /// let registers = sisal_context::switch::Registers::here();
    /// let local = 0u8;
    /// assert!(registers.sp <= std::ptr::from_ref(&local).addr());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn here() -> Registers {
        arch::here()
    }
}

impl Suspended {
    /// The registers as they will be after the pops of whoever resumes this context.
    ///
    /// # Safety
    /// It was left by a [`switch`](super::switch), and is not resumed while this runs.
    #[must_use]
    pub unsafe fn registers(self) -> Registers {
        // SAFETY: the caller's promise.
        unsafe { arch::saved(self.address().cast()) }
    }
}

/// The return address of whatever [`call_on`](super::call_on) calls.
///
/// There a stack ends and the frames go on on another one, which may lie at lower addresses: unwinders take that for a broken stack. At
/// this address the frame pointer points to the frame record of `call_on`: the caller's frame pointer, then the return address.
#[must_use]
pub fn call_on_return() -> usize {
    (arch::call_on as *const ()).addr() + arch::CALL_ON_RETURN
}
