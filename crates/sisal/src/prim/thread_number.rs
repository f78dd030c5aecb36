//! A small number for each thread, never given twice.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// From 1 on.
pub(crate) type ThreadNumber = u32;

thread_local! {
    static NUMBER: Cell<ThreadNumber> = const { Cell::new(0) };
}

/// The calling thread's.
#[inline(always)]
pub(crate) fn current() -> ThreadNumber {
    let number = NUMBER.with(Cell::get);
    if number == 0 { assign() } else { number }
}

#[cold]
fn assign() -> ThreadNumber {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(number < u32::MAX, "INVARIANT: fewer than four thousand million threads");
    NUMBER.with(|own| own.set(number));
    number
}
