//! The end of a runtime: what becomes of fibers that are still there, and what is said of those that do not end.

#[path = "../common/mod.rs"]
mod common;

mod fibers;
mod late;
mod ways;

use sisal::{Cause, JoinError};

fn cancelled<T>(result: Result<T, JoinError>) -> Cause {
    match result {
        Err(JoinError::Cancelled(cancelled)) => cancelled.cause,
        Err(error) => panic!("not cancelled: {error}"),
        Ok(_) => panic!("not cancelled"),
    }
}
