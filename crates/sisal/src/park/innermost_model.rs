//! Where the innermost scope is kept, in the models: they know threads only, and no time.

use super::thread;
use crate::fiber::ambient::Scope;
use crate::fiber::who::Who;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use std::ptr::NonNull;

pub(super) fn current(_who: &Who) -> Option<NonNull<Scope>> {
    thread::scope()
}

pub(super) fn set_current(scope: Option<NonNull<Scope>>) {
    thread::set_scope(scope);
}

pub(super) fn heed_request() {}

pub(crate) fn check() -> Result<(), Cancelled> {
    thread::ambient_end().map_or(Ok(()), |cause| Err(Cancelled::by(cause)))
}

pub(super) fn timer_of(_scope: &Scope) {}

pub(super) struct Armed;

impl Armed {
    pub(super) fn new((): &(), _scope: &Scope, _expiry: Moment) -> Armed {
        Armed
    }
}
