//! Thread numbers in the models, whose threads are not the system's.

use super::checker;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) type ThreadNumber = u32;

checker::thread_local! {
    static NUMBER: Cell<ThreadNumber> = Cell::new(0);
}

pub(crate) fn current() -> ThreadNumber {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NUMBER.with(|own| {
        if own.get() == 0 {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        own.get()
    })
}
