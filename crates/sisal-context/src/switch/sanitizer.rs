//! Telling the address sanitizer of switches, in builds with `--cfg sisal_asan`.
//!
//! It keeps a shadow of every stack and has to know where the running one lies. Around every switch: [`start`] before it, with the
//! bounds of the stack gone to, and [`finish`] on arrival. A stack that is used anew still has the shadow of frames that were
//! left for good: [`fresh`] clears it. One that is out of use is [closed](close), so that whoever still touches a frame on it is found, until
//! it is [let go](let_go).

use crate::stack::Stack;
use std::cell::Cell;
use std::ptr;

unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const u8, size: usize);
    fn __asan_unpoison_memory_region(start: *const u8, size: usize);
    fn __sanitizer_start_switch_fiber(save: *mut *mut u8, bottom: *const u8, size: usize);
    fn __sanitizer_finish_switch_fiber(saved: *mut u8, bottom_left: *mut *const u8, size_left: *mut usize);
}

/// What the sanitizer keeps for a context that is left.
pub struct Left(*mut u8);

thread_local! {
    /// The bounds of the thread's own stack, known when it is first left.
    static NATIVE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// About to leave for `stack`, or the thread's own if none. `coming_back` is false if the present context is left for good.
#[inline(never)]
pub fn start(stack: Option<Stack>, coming_back: bool) -> Left {
    let (bottom, size) = stack.map_or_else(|| NATIVE.get(), |stack| (stack.usable().start, stack.usable().len()));
    let mut left = Left(ptr::null_mut());
    let save = if coming_back { &raw mut left.0 } else { ptr::null_mut() };
    // SAFETY: the bounds are those of the stack gone to; `save` is null or a place for a pointer.
    unsafe { __sanitizer_start_switch_fiber(save, ptr::with_exposed_provenance(bottom), size) };
    left
}

/// Has arrived, in a context that was left with `left`, or in a new one.
#[inline(never)]
pub fn finish(left: Option<Left>) {
    let (mut bottom, mut size) = (ptr::null(), 0);
    let saved = left.map_or(ptr::null_mut(), |left| left.0);
    // SAFETY: called once after each switch, with what `start` returned here.
    unsafe { __sanitizer_finish_switch_fiber(saved, &mut bottom, &mut size) };
    if NATIVE.get().1 == 0 {
        NATIVE.set((bottom.expose_provenance(), size));
    }
}

/// About to return to `stack`, or the thread's own, from a call on the present one.
pub fn start_return(stack: Option<Stack>) {
    start(stack, false);
}

/// `stack` is used anew.
pub fn fresh(stack: Stack) {
    // SAFETY: it is mapped, and nothing on it is in use.
    unsafe { __asan_unpoison_memory_region(ptr::with_exposed_provenance(stack.usable().start), stack.usable().len()) };
}

/// `stack` is out of use: nobody may touch it until it is used [anew](fresh), or [let go](let_go).
pub fn close(stack: Stack) {
    // SAFETY: it is mapped, and nothing on it is in use.
    unsafe { __asan_poison_memory_region(ptr::with_exposed_provenance(stack.usable().start), stack.usable().len()) };
}

/// The memory of `stack`, which is out of use, may become something else.
pub fn let_go(stack: Stack) {
    fresh(stack);
}

/// Does nothing: a stack is used [anew](fresh) when it is used.
#[inline(always)]
pub fn take_up() {}
