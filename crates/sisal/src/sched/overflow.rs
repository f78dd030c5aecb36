//! What is said when a stack ends: the fiber, where it was spawned, how large its stack is. Then the process aborts.
//!
//! This runs in a signal handler on the alternate stack: nothing here allocates or locks.

use super::worker;
use crate::fiber::current;
use crate::fiber::header::Header;
use sisal_context::fault;
use sisal_context::stack::Stack;
use std::fmt::Write;

/// Called with the address of a memory fault on the faulting thread; true if it was a fiber's overflow.
pub(super) fn on_fault(address: usize) -> bool {
    let stack = worker::with_current(|worker| worker.and_then(|worker| worker.stack.get()));
    let Some(stack) = stack.filter(|stack| stack.guard().contains(&address)) else { return false };
    match current::fiber() {
        Some(fiber) => report(&fiber, stack),
        None => fault::write_stderr(&[b"sisal: stack overflow in the scheduler\n"]),
    }
    true
}

/// A canary was overwritten: too late to go on.
pub(super) fn abort_for(fiber: &Header, stack: Stack) -> ! {
    report(fiber, stack);
    std::process::abort();
}

fn report(fiber: &Header, stack: Stack) {
    let mut line = Line::default();
    let name = fiber.name.as_deref();
    let (open, name, close) = name.map_or(("", "", ""), |name| ("'", name, "' "));
    // A line that does not fit is cut off, which is no error here.
    let _ = writeln!(
        line,
        "sisal: stack overflow in fiber {open}{name}{close}(#{}), spawned at {}, on its stack of {} bytes. \
         Give it a larger one with Builder::stack_size, or run the deep part in stack::grow.",
        fiber.id.get(),
        fiber.spawned_at,
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
