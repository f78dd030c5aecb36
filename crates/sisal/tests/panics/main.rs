//! What a panic in a fiber does: it is caught, kept for the joiner, named, counted, and kills nobody.

#[path = "../common/mod.rs"]
mod common;

mod destructors;
mod told;
mod unwinding;

use sisal::{JoinError, Panic};

/// Calls its closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn panic_of<T>(result: Result<T, JoinError>) -> Panic {
    match result {
        Err(JoinError::Panicked(panic)) => panic,
        Err(error) => panic!("not a panic: {error}"),
        Ok(_) => panic!("not a panic"),
    }
}
