//! Who runs a transaction, in the models: their threads share one real thread, and nest nothing.

use crate::prim::checker::thread;

/// A thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(thread::ThreadId);

pub(super) fn me() -> Key {
    Key(thread::current().id())
}

pub(super) fn refuse_inside(_what: &str) {}

pub(super) struct Inside;

impl Inside {
    pub(super) fn enter() -> Inside {
        Inside
    }
}
