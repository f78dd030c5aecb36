//! Who waits.

use super::header::FiberRef;
use crate::prim::parker::ThreadParker;
use std::sync::Arc;

/// A fiber, or a thread outside of fibers.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Fiber(FiberRef),
    Thread(Arc<ThreadParker>),
}
