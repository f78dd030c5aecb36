//! The symmetric switch: leave one stack, go on on another.
//!
//! Owns all assembly of the project, one file per architecture with the same names: `root`, `switch`,
//! `call_on` and `return_by_jump`, and for those who read stacks ([`Registers`]) `saved` and `here`. It knows stack pointers and nothing else: who owns a stack,
//! and who may resume it, is the caller's business.
//!
//! A suspended context is one word, the stack pointer it was left with. On top of its stack lies
//! the *saved frame*:
//!
//! ```text
//!   higher addresses
//!   ┌──────────────────────┐
//!   │ frames of the caller │
//!   ├──────────────────────┤
//!   │ frame pointer        │  the two registers that inline assembly may not
//!   │ LLVM's base register │  name as clobbers
//!   │ resume address       │  ← Suspended points here
//!   └──────────────────────┘
//!   lower addresses
//! ```
//!
//! All other registers are named as clobbered, so the compiler saves those that are alive around the
//! call and no more. The resume address is taken by a *jump*: a `ret` would be predicted by the
//! return-address stack of the processor, which holds the frames of the stack being left, and so
//! would be wrong every time.
//!
//! The word passed to `switch` arrives as its result on the other side (or as the argument of the
//! entry function, the first time). The floating-point control words are not switched: they belong to
//! the thread, as Rust assumes them to be at their defaults.
#![allow(unsafe_code, reason = "leaving one stack for another can't be said in safe Rust")]

mod registers;
#[cfg_attr(sisal_tsan, path = "thread_sanitizer.rs")]
#[cfg_attr(not(any(sisal_asan, sisal_tsan)), path = "no_sanitizer.rs")]
pub mod sanitizer;

pub use registers::{Registers, call_on_return};

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("sisal runs on x86_64 and aarch64");

/// A context that has been left and can be resumed once: the stack pointer of its saved frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Suspended(*mut u8);

impl Suspended {
    /// No context. Resuming it is not allowed.
    pub const NONE: Suspended = Suspended(std::ptr::null_mut());

    /// The address of the saved frame, for prefetching it or to see how deep a stack is.
    #[inline]
    pub fn address(self) -> *mut u8 {
        self.0
    }
}

/// What a fresh stack runs: called once with the word passed by whoever switches there first.
pub type Entry = extern "C" fn(usize) -> !;

/// Words laid on a fresh stack, from the stack pointer upwards: where to resume, what to call there, and two words that keep the
/// stack aligned at that call.
const FIRST_FRAME_WORDS: usize = 4;

/// Lays a first frame on an unused stack, so that the first switch there calls `entry`.
///
/// # Safety
/// `top` is 16-byte aligned and the end of at least 4 KiB of writable memory that nothing uses.
#[inline]
pub unsafe fn prepare(top: *mut u8, entry: Entry) -> Suspended {
    let frame = top.cast::<[usize; FIRST_FRAME_WORDS]>().wrapping_sub(1);
    // SAFETY: the words below `top` are writable and unused, by the caller's promise.
    unsafe { frame.write([arch::root as *const () as usize, entry as *const () as usize, 0, 0]) };
    Suspended(frame.cast())
}

/// Leaves the running context in `save` and resumes `to`; returns the word that whoever resumes
/// `save` later passes.
///
/// # Safety
/// - `to` was made by [`prepare`] or left by a [`switch`], has not been resumed since, and its stack
///   is still mapped.
/// - If `to` was left by a `switch`, it was left on this OS thread.
/// - `save` is valid for a write; it is written before `to` runs.
/// - The frames left behind are resumed, or never touched again: they are not unwound.
#[inline(always)]
pub unsafe fn switch(save: *mut Suspended, to: Suspended, word: usize) -> usize {
    // SAFETY: the caller's promises are the ones asked for; `Suspended` is transparent.
    unsafe { arch::switch(save.cast(), to.0, word) }
}

/// Calls `f(data)` on the stack that ends at `top` and comes back.
///
/// # Safety
/// `top` is 16-byte aligned and the end of writable memory that nothing uses and that is large enough
/// for `f`; `f` may be called with `data`.
pub unsafe fn call_on(top: *mut u8, f: extern "C" fn(*mut u8), data: *mut u8) {
    // SAFETY: the caller's promises are the ones asked for.
    unsafe { arch::call_on(top, f, data) }
}

/// A function that switches in the middle, for [`return_by_jump`].
pub type Leaving = unsafe extern "C-unwind" fn(*const (), *mut (), *const ()) -> usize;

/// Calls `f` with these words and returns what it returns, by a jump where that is better than a `ret`.
///
/// A processor predicts where a `ret` goes from the calls before it, which after a switch were another context's. That costs as much as a hundred
/// instructions where the two have come from different places. The target of a jump it learns. So a function whose last call is to
/// this one, with an `f` that switches, returns to its caller as predicted.
///
/// # Safety
/// `f` may be called with these words.
#[inline(always)]
pub unsafe fn return_by_jump(a: *const (), b: *mut (), c: *const (), f: Leaving) -> usize {
    // SAFETY: the caller's promise.
    unsafe { arch::return_by_jump(a, b, c, f) }
}
