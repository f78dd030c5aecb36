//! Who waits.

use super::header::FiberRef;
use super::waiter::Identity;
use crate::prim::parker::ThreadParker;
use crate::prim::task_parker::TaskParker;
use crate::prim::thread_number::ThreadNumber;
use std::sync::Arc;

/// A fiber, a thread outside of fibers, or a task of any executor.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Fiber(FiberRef),
    Thread(Arc<ThreadParker>),
    Task(Arc<TaskParker>),
}

impl Identity for Who {
    #[inline]
    fn is_of_thread(&self, me: ThreadNumber) -> bool {
        match self {
            Who::Fiber(fiber) => fiber.thread() == me,
            Who::Thread(_) | Who::Task(_) => false,
        }
    }
}
