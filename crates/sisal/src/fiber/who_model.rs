//! Who waits, in the models: they know threads only. Fibers differ in how they are woken, not in the protocols.

use super::waiter::Identity;
use crate::prim::parker::ThreadParker;
use std::sync::Arc;

/// A thread.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    Thread(Arc<ThreadParker>),
}

impl Identity for Who {
    fn is_of_this_thread(&self) -> bool {
        false
    }
}
