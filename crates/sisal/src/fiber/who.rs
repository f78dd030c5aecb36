//! Who waits.

use super::header::FiberRef;
use super::waiter::Identity;
use crate::prim::parker::ThreadParker;
use crate::prim::thread_number;
use std::sync::Arc;

/// A fiber, or a thread outside of fibers.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Fiber(FiberRef),
    Thread(Arc<ThreadParker>),
}

impl Identity for Who {
    #[inline]
    fn is_of_this_thread(&self) -> bool {
        match self {
            Who::Fiber(fiber) => fiber.thread() == thread_number::current(),
            Who::Thread(_) => false,
        }
    }
}
