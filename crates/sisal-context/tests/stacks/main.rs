//! Stacks as their users see them: taken, given back, trimmed, guarded; and faults, each in a child process
//! of its own.
#![allow(unsafe_code, reason = "stacks are raw memory, and faults are raised on purpose")]

mod child;
mod depot;
mod faults;
mod refusals;

use sisal_context::stack::{Depot, SizeClass, Stack};

const CLASS: SizeClass = SizeClass::DEFAULT;

fn take(depot: &Depot, class: SizeClass, want: usize) -> Vec<Stack> {
    let mut stacks = Vec::new();
    assert_eq!(depot.take(class, want, &mut stacks), stacks.len());
    stacks
}

fn give(depot: &Depot, stacks: &[Stack]) {
    // SAFETY: tests run nothing on their stacks, and give each back once to where it came from.
    unsafe { depot.give(stacks) };
}

fn top_word(stack: Stack) -> *mut usize {
    stack.top().cast::<usize>().wrapping_sub(1)
}

fn touch(stack: Stack, value: usize) {
    // SAFETY: the highest word of a stack that is out.
    unsafe { top_word(stack).write(value) };
}

fn read(stack: Stack) -> usize {
    // SAFETY: as above.
    unsafe { top_word(stack).read() }
}

fn tops(stacks: &[Stack]) -> Vec<usize> {
    stacks.iter().map(|stack| stack.top() as usize).collect()
}
