//! Locks and other ways to wait for one another.
//!
//! Who waits parks its fiber, or blocks its thread outside of fibers; both may use the same object.

mod condvar;
mod event;
#[cfg_attr(loom, path = "fairness_model.rs")]
mod fairness;
mod line;
mod mutex;
mod raw_mutex;
mod semaphore;

pub use self::{
    condvar::{Condvar, WaitTimeoutResult},
    event::{Event, WaitTimeoutError},
    mutex::{MappedMutexGuard, Mutex, MutexGuard},
    semaphore::{AcquireTimeoutError, Semaphore, SemaphorePermit},
};
