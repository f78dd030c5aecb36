//! Without the feature `stack-traces`: none.

use super::snapshot::FiberInfo;
use super::survey::Depth;
use crate::prim::id::FiberId;
use crate::sched::presence::Sighted;
use crate::sched::remote::Remote;

pub(super) struct Traces;

impl Traces {
    pub(super) fn new(_depth: Depth) -> Traces {
        Traces
    }

    pub(super) fn reserve(&mut self, _fibers: usize) {}

    pub(super) fn add(&mut self, _sighted: &Sighted<'_>) {}

    pub(super) fn add_running(&mut self, _worker: &Remote, _running: Option<FiberId>) {}

    pub(super) fn resolve(self, _fibers: &mut [FiberInfo]) {}
}

pub(super) fn install_hook(_is_wanted: bool) {}
