//! Who waits, in the models: they know no fibers. Those differ from threads in how they are woken, not in the protocols.

use super::waiter::Identity;
use crate::prim::parker::ThreadParker;
use crate::prim::task_parker::TaskParker;
use std::sync::Arc;

/// A thread, or a task of any executor.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Thread(Arc<ThreadParker>),
    Task(Arc<TaskParker>),
}

impl Identity for Who {
    fn is_of_thread(&self, _: crate::prim::thread_number::ThreadNumber) -> bool {
        false
    }
}
