//! Telling the thread sanitizer of switches, in builds with `--cfg sisal_tsan`. See `sanitizer.rs` for where each of these is called.
//!
//! It keeps a history of calls, and of what is known of other threads, for each of its *fibers*, as it calls them: one for every thread, and one for
//! every stack, from when that is used [anew](fresh) until it is [closed](close). It is told of a switch just before that, in the function that
//! switches: one that returned meanwhile would leave the call of another.

use crate::stack::Stack;
use std::cell::Cell;
use std::ptr;

unsafe extern "C" {
    fn __tsan_create_fiber(flags: u32) -> *mut u8;
    fn __tsan_destroy_fiber(fiber: *mut u8);
    fn __tsan_get_current_fiber() -> *mut u8;
    fn __tsan_switch_to_fiber(fiber: *mut u8, flags: u32);
    fn __tsan_acquire(object: *mut u8);
    fn __tsan_release(object: *mut u8);
}

/// What was done on stacks that were let go of comes before what is done on those that are taken up. Within a runtime the lock of its depot says so. But
/// the kernel gives the addresses of one runtime to the next, by system calls that the sanitizer does not see.
static KERNEL: u8 = 0;

/// How far above its lower end a stack keeps its fiber. Nothing comes down there but what overflows, and the canary lies below.
const AT: usize = 256;

/// The fiber that was left.
pub struct Left(*mut u8);

thread_local! {
    /// That of the thread's own stack, known when it is first left.
    static NATIVE: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
}

#[inline(always)]
fn place(stack: Stack) -> *mut *mut u8 {
    ptr::with_exposed_provenance_mut(stack.usable().start + AT)
}

/// About to leave for `stack`, or the thread's own if none.
#[inline(always)]
pub fn start(stack: Option<Stack>, _coming_back: bool) -> Left {
    // SAFETY: the thread has one, and a stack in use has one until it is closed.
    unsafe {
        let left = __tsan_get_current_fiber();
        if NATIVE.get().is_null() {
            NATIVE.set(left);
        }
        let to = stack.map_or_else(|| NATIVE.get(), |stack| place(stack).read());
        __tsan_switch_to_fiber(to, 0);
        Left(left)
    }
}

/// Has arrived, in a context that was left with `left`, or in a new one.
#[inline(always)]
pub fn finish(left: Option<Left>) {
    if let Some(Left(left)) = left {
        // SAFETY: the fiber of the stack that we are on, which is in use. Whoever switched here has said so, but one who returned has not.
        unsafe {
            if __tsan_get_current_fiber() != left {
                __tsan_switch_to_fiber(left, 0);
            }
        }
    }
}

/// Does nothing: [`finish`] will.
#[inline(always)]
pub fn start_return(_stack: Option<Stack>) {}

/// `stack` is used anew.
pub fn fresh(stack: Stack) {
    // SAFETY: it is mapped, and nothing on it is in use.
    unsafe { place(stack).write(__tsan_create_fiber(0)) };
}

/// `stack` is out of use, until it is used [anew](fresh).
pub fn close(stack: Stack) {
    // SAFETY: it is mapped; its fiber was made when it came into use, and is not the one that runs.
    unsafe { __tsan_destroy_fiber(place(stack).read()) };
}

/// The memory of `stack`, which is out of use, may become another's.
pub fn let_go(_stack: Stack) {
    // SAFETY: only a name.
    unsafe { __tsan_release((&raw const KERNEL).cast_mut()) };
}

/// Stacks have been taken up that others may have [let go](let_go) of.
pub fn take_up() {
    // SAFETY: only a name.
    unsafe { __tsan_acquire((&raw const KERNEL).cast_mut()) };
}
