//! What is said when a stack ends: the fiber, where it was spawned, how large its stack is; of a thread outside of fibers the last only. Then the
//! process aborts. The main fiber of `run` is on its thread's own stack.
//!
//! This runs in a signal handler on the alternate stack: nothing here allocates or locks.

use super::{grow, worker};
use crate::fiber::current;
use crate::fiber::header::Header;
use sisal_context::fault;
use sisal_context::stack::Stack;
use std::fmt::Write;

/// Called with the address of a memory fault on the faulting thread; true if it was the overflow of one of our stacks.
pub(super) fn on_fault(address: usize) -> bool {
    let is_below = |stack: &Stack| stack.guard().contains(&address);
    let of_worker = worker::with_current(|worker| worker.and_then(|worker| worker.stack.get()));
    match (of_worker.filter(is_below), current::fiber()) {
        (Some(stack), Some(fiber)) => report(&fiber, stack.usable().len(), ADVICE),
        (Some(_), None) => fault::write_stderr(&[b"sisal: stack overflow in the scheduler\n"]),
        (None, fiber) => match (grow::of_thread().filter(is_below), fiber.filter(|_| of_worker.is_none())) {
            (Some(stack), _) => report_outside(stack),
            (None, Some(main)) => {
                match worker::with_current(|worker| worker.and_then(|worker| worker.thread_stack.get())) {
                    Some(own) if own.is_overflow(address) => report(&main, own.size(), ADVICE_FOR_MAIN),
                    _ => return false,
                }
            }
            (None, None) => return false,
        },
    }
    true
}

/// A canary was overwritten: too late to go on.
pub(super) fn abort_for(fiber: &Header, stack: Stack) -> ! {
    report(fiber, stack.usable().len(), ADVICE);
    std::process::abort();
}

/// As [`abort_for`], on a thread outside of fibers.
pub(super) fn abort_outside(stack: Stack) -> ! {
    report_outside(stack);
    std::process::abort();
}

const ADVICE: &str = "Give it a larger one with Builder::stack_size, or run the deep part in stack::grow.";
const ADVICE_FOR_MAIN: &str =
    "That is its thread's own: call run on a thread with a larger one, or run the deep part in stack::grow.";

fn report(fiber: &Header, size: usize, advice: &str) {
    let mut line = Line::default();
    let name = fiber.name.as_deref();
    let (open, name, close) = name.map_or(("", "", ""), |name| ("'", name, "' "));
    // A line that does not fit is cut off, which is no error here.
    let _ = writeln!(
        line,
        "sisal: stack overflow in fiber {open}{name}{close}(#{}), spawned at {}, on its stack of {size} bytes. {advice}",
        fiber.id.get(),
        fiber.spawned_at,
    );
    fault::write_stderr(&[&line.bytes[..line.length]]);
}

fn report_outside(stack: Stack) {
    let mut line = Line::default();
    let _ = writeln!(
        line,
        "sisal: stack overflow in stack::grow, outside of fibers, on a stack of {} bytes. Ask for a larger one.",
        stack.usable().len(),
    );
    fault::write_stderr(&[&line.bytes[..line.length]]);
}

/// A line of text without an allocation.
struct Line {
    bytes: [u8; 1024],
    length: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line { bytes: [0; 1024], length: 0 }
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}
