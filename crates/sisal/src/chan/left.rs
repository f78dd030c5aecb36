//! What a future of a channel leaves behind when it is dropped while it waits. The protocol is in [`receiving`](super::receiving).
#![allow(unsafe_code, reason = "what is left behind goes to whoever unparks it")]

use crate::fiber::task_record::TaskRecord;
use crate::prim::task_parker::Remains;
use std::mem::MaybeUninit;

/// A handle of a channel, whose futures wait by records.
///
/// # Safety
/// Whoever claims a record does it by a handle of the same channel. If messages may not leave their thread, neither may handles.
pub(super) unsafe trait Side<T>: Clone {
    /// What was given to one that nobody polls any more goes on to others. The record was claimed and unparked.
    fn give_on(&self, record: &TaskRecord<MaybeUninit<T>>);
}

/// A future goes whose record was claimed: what it was given goes on, now, or when the unpark comes.
pub(super) fn leave<T, S: Side<T>>(side: &S, record: TaskRecord<MaybeUninit<T>>) {
    if record.parker().is_unparked() {
        return side.give_on(&record);
    }
    let parker = record.parker().clone();
    let remains: Box<dyn Send + '_> = Box::new(Left { side: side.clone(), record });
    // SAFETY: only the lifetime is another. It is dropped while messages of this type may exist, since the unpark is done by a call of a
    // handle of the channel; or later, if a cancellation closes the channel, and then messages borrow nothing (`Nursery::close_on`).
    let remains = unsafe { std::mem::transmute::<Box<dyn Send + '_>, Remains>(remains) };
    // If the unpark has come meanwhile, it is dropped here.
    let _ = parker.leave_behind(remains);
}

struct Left<T, S: Side<T>> {
    side: S,
    record: TaskRecord<MaybeUninit<T>>,
}

// SAFETY: it is dropped by whoever has claimed the wait, by a handle of the same channel. If messages may not leave their thread, neither
// may handles, so that is the same thread.
unsafe impl<T, S: Side<T>> Send for Left<T, S> {}

impl<T, S: Side<T>> Drop for Left<T, S> {
    fn drop(&mut self) {
        self.side.give_on(&self.record);
    }
}
