//! Waiting for the end of a fiber as a task, in any executor.
//!
//! A [`JoinHandle`] is one word, and stays so: it does not own the record of its wait. That belongs to whoever unparks it, stands in the
//! fiber's list until then, and is found there when the handle is polled again. The [`SharedHandle`]s of a fiber have one each, and
//! know it.
#![allow(unsafe_code, reason = "records of tasks are linked to the fiber's end")]

use super::error::JoinError;
use super::handle::JoinHandle;
use crate::fiber::end::EndWord;
use crate::fiber::task_record::TaskRecord;
use crate::fiber::who::Who;
use crate::prim::task_parker::TaskParker;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A handle can be awaited, in any executor. Dropping it detaches the fiber as ever, and so does dropping a future that owns it; what
/// has only borrowed it (`(&mut handle).await`) can be dropped without loss.
///
/// # Panics
/// If it is polled or [joined](JoinHandle::join) after it has given its result.
///
/// ```
/// sisal::run(|| {
///     let (one, two) = (sisal::spawn(|| 1), sisal::spawn(|| 2));
///     let sum = sisal::block_on(async { one.await.unwrap() + two.await.unwrap() });
///     assert_eq!(sum, 3);
/// });
/// ```
impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let handle = self.get_mut();
        handle.poll_end(context.waker()).map(|()| handle.give_outcome())
    }
}

impl<T> JoinHandle<T> {
    /// Whether the fiber has ended; if not, the waker will be called when it does.
    pub(crate) fn poll_end(&self, waker: &Waker) -> Poll<()> {
        let end = &self.fiber().end;
        if !end.is_done() && must_wait(end, &mut end.find(task), waker) { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// Sees to it that the waker is called at the fiber's end; false if that has come. `linked` is what stands in the list already.
pub(super) fn must_wait(end: &EndWord<Who>, linked: &mut Option<Arc<TaskParker>>, waker: &Waker) -> bool {
    if let Some(parker) = linked {
        // If the unpark has come meanwhile, so has the end.
        return parker.set_waker(waker);
    }
    let record = TaskRecord::new(waker.clone(), ());
    let parker = Arc::clone(record.parker());
    let waiter = std::ptr::from_ref(record.waiter());
    parker.entrust(Box::new(record));
    // SAFETY: the record is the parker's now, which keeps it until the unpark; or the handle goes, and takes it off.
    let waits = unsafe { end.enlist(&*waiter) };
    if waits {
        *linked = Some(parker);
    } else {
        parker.withdraw();
    }
    waits
}

fn task(who: &Who) -> Option<Arc<TaskParker>> {
    if let Who::Task(parker) = who { Some(Arc::clone(parker)) } else { None }
}

/// A handle goes that has put this task into the list.
pub(super) fn take_off(end: &EndWord<Who>, task: &Arc<TaskParker>) {
    let is_it = |who: &Who| matches!(who, Who::Task(other) if Arc::ptr_eq(task, other));
    if let Some(who) = end.take(is_it) {
        forget(who);
    }
}

/// Drops the record of a task that was taken off the list.
pub(super) fn forget(who: Who) {
    if let Who::Task(parker) = who {
        parker.withdraw();
    }
}
