//! Dropping what nobody wants.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops what somebody has left behind, such as what a panic carried. That may panic in turn, which would be one too many; it has been printed.
pub(crate) fn drop_quietly<T>(unwanted: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(unwanted)))
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        // So might the next, without end.
        std::mem::forget(again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_panics_when_dropped_is_dropped() {
        struct Spiteful(u32);
        impl Drop for Spiteful {
            fn drop(&mut self) {
                if self.0 > 0 {
                    std::panic::resume_unwind(Box::new(Spiteful(self.0 - 1)));
                }
            }
        }
        drop_quietly(Box::new(Spiteful(3)));
    }
}
