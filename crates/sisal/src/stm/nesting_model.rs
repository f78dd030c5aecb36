//! Who runs a transaction, in the models: their threads share one real thread, and nest nothing.

/// A thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(loom::thread::ThreadId);

pub(super) fn me() -> Key {
    Key(loom::thread::current().id())
}

pub(super) fn refuse_inside(_what: &str) {}

pub(super) struct Inside;

impl Inside {
    pub(super) fn enter() -> Inside {
        Inside
    }
}
