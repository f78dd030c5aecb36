//! Running a piece of code on a bigger stack.
#![allow(unsafe_code, reason = "code is called on another stack")]

use super::{overflow, worker};
use sisal_context::fault::{self, AltStack};
use sisal_context::stack::{Depot, SizeClass, Stack};
use sisal_context::switch::{self, sanitizer};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

/// Runs `f` on a stack with at least `size` usable bytes, and returns what it returns. For the part of a program that goes
/// deep, so that the rest can do with small stacks.
///
/// In a fiber, `f` may do whatever the fiber may, also wait. Outside of fibers it works too. Panics pass through.
///
/// These stacks don't count against `max_stacks`.
///
/// # Panics
/// If `size` is impossible: below 4 KiB, or above 1 GiB; and if the system has no memory for it.
///
/// ```
/// fn depth(n: u64) -> u64 {
///     let pad = std::hint::black_box([n; 64]);
///     if n == 0 { 0 } else { 1 + depth(n - 1) + pad[0] - n }
/// }
/// sisal::run(|| {
///     let deep = sisal::spawn(|| sisal::stack::grow(256 << 20, || depth(100_000)));
///     assert_eq!(deep.join().unwrap(), 100_000);
/// });
/// ```
#[track_caller]
pub fn grow<T>(size: usize, f: impl FnOnce() -> T) -> T {
    let class = match SizeClass::for_usable(size) {
        Ok(class) => class,
        Err(error) => panic!("sisal: stack::grow({size}): {error}"),
    };
    let result = worker::with_fiber(|running| match running {
        None => call_outside(class, f),
        Some((worker, me)) => {
            let stack = take(&worker.shared.others, class);
            let before = worker.stack.replace(Some(stack));
            me.stack.set(Some(stack));
            let result = call_on(before, stack, f);
            if stack.needs_canary_check() && !stack.canary_intact() {
                overflow::abort_for(&me, stack);
            }
            me.stack.set(before);
            worker.stack.set(before);
            // SAFETY: the call has returned, so nothing is left on it.
            unsafe { worker.shared.others.give(&[stack]) };
            worker.shared.watch.note_dirty(&worker.shared.others, 1);
            result
        }
    });
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

thread_local! {
    /// The stack that a thread outside of fibers has gone to.
    static OF_THREAD: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// The stack on which the calling thread runs something outside of fibers, if it has gone to one for that.
pub(super) fn of_thread() -> Option<Stack> {
    OF_THREAD.get()
}

fn call_outside<T>(class: SizeClass, f: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static OF_THREADS: OnceLock<Depot> = OnceLock::new();
    let depot = OF_THREADS.get_or_init(|| Depot::new(None));
    let stack = take(depot, class);
    // There may be no runtime, which would have done both. Without memory for the second an overflow would not be reported.
    fault::install(overflow::on_fault);
    let _alternate = AltStack::ensure();
    let before = OF_THREAD.replace(Some(stack));
    let result = call_on(before, stack, f);
    if stack.needs_canary_check() && !stack.canary_intact() {
        overflow::abort_outside(stack);
    }
    OF_THREAD.set(before);
    // SAFETY: the call has returned, so nothing is left on it.
    unsafe { depot.give(&[stack]) };
    // Nobody watches this depot.
    depot.trim();
    result
}

fn take(depot: &Depot, class: SizeClass) -> Stack {
    let mut one = Vec::with_capacity(1);
    depot.take(class, 1, &mut one);
    sanitizer::take_up();
    one.pop().unwrap_or_else(|| panic!("sisal: stack::grow: no memory for a stack of {} bytes", class.usable()))
}

/// What goes to the other stack and what comes back.
struct Call<F, T> {
    f: Option<F>,
    /// The stack to come back to; none for the thread's own.
    back: Option<Stack>,
    result: Option<Result<T, Box<dyn Any + Send>>>,
}

fn call_on<F: FnOnce() -> T, T>(back: Option<Stack>, stack: Stack, f: F) -> Result<T, Box<dyn Any + Send>> {
    let mut call = Call { f: Some(f), back, result: None };
    sanitizer::fresh(stack);
    let left = sanitizer::start(Some(stack), true);
    // SAFETY: the stack is free and as large as was asked for; `perform` takes a `Call` of these types.
    unsafe { switch::call_on(stack.top(), perform::<F, T>, (&raw mut call).cast()) };
    sanitizer::finish(Some(left));
    sanitizer::close(stack);
    sanitizer::let_go(stack);
    call.result.take().unwrap_or_else(|| unreachable!("INVARIANT: the call has been made"))
}

extern "C" fn perform<F: FnOnce() -> T, T>(call: *mut u8) {
    // SAFETY: `call_on` passes a `Call` of these types that lives until this returns.
    let call = unsafe { &mut *call.cast::<Call<F, T>>() };
    sanitizer::finish(None);
    if let Some(f) = call.f.take() {
        call.result = Some(catch_unwind(AssertUnwindSafe(f)));
    }
    sanitizer::start_return(call.back);
}
