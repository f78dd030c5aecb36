//! Who waits, in the models: they know threads only. Fibers differ in how they are woken, not in the protocols.

use crate::prim::parker::ThreadParker;
use std::sync::Arc;

/// A thread.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Thread(Arc<ThreadParker>),
}
