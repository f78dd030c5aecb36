//! Who runs a transaction: there are none inside others.
//!
//! A transaction should not wait for others, but if it does so nevertheless, fibers that come to run meanwhile on its thread are not
//! inside it. So the thread keeps a list of the fibers in whose transactions it is, mostly of one.

use crate::fiber::current;
use std::cell::RefCell;
use std::ptr;

/// A fiber, or a thread outside of fibers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(usize);

thread_local! {
    static RUNNING: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
    static THREAD: u8 = const { 0 };
}

/// Whoever calls this.
pub(super) fn me() -> Key {
    Key(match current::fiber() {
        Some(fiber) => fiber.as_ptr().addr().get(),
        None => THREAD.with(|thread| ptr::from_ref(thread).addr()),
    })
}

/// A thread whose thread-locals are gone has no transactions.
fn with_running<R: Default>(f: impl FnOnce(&mut Vec<Key>) -> R) -> R {
    RUNNING.try_with(|running| f(&mut running.borrow_mut())).unwrap_or_default()
}

/// Panics if the caller is inside a transaction.
#[track_caller]
pub(super) fn refuse_inside(what: &str) {
    let me = me();
    assert!(
        !with_running(|running| running.contains(&me)),
        "sisal: {what} inside a transaction. Transactions don't nest: pass the outer one's `tx` on instead"
    );
}

/// The caller is inside a transaction until this goes.
pub(super) struct Inside(Key);

impl Inside {
    pub(super) fn enter() -> Inside {
        let me = me();
        with_running(|running| running.push(me));
        Inside(me)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        with_running(|running| {
            if let Some(at) = running.iter().position(|key| *key == self.0) {
                running.swap_remove(at);
            }
        });
    }
}
