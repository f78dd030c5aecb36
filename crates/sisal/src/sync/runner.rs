//! Whether two are the same one.

use crate::fiber::who::Who;
use std::sync::Arc;

pub(super) fn is(one: &Who, other: &Who) -> bool {
    match (one, other) {
        (Who::Fiber(one), Who::Fiber(other)) => one == other,
        (Who::Thread(one), Who::Thread(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
