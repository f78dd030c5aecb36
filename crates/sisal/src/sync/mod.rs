//! Locks and other ways to wait for one another.
//!
//! Who waits parks its fiber, or blocks its thread outside of fibers; both may use the same object.
//!
//! - One at a time: [`Mutex`], and [`Condvar`] to wait for a change under it. Many readers or one writer: [`RwLock`].
//! - So many at a time: [`Semaphore`].
//! - Once: [`Once`], [`OnceLock`], [`LazyLock`].
//! - For others to come so far: [`Event`], [`WaitGroup`], [`Barrier`].
//!
//! Names are those of `std`, but nothing is poisoned: `lock`, `read` and `write` return a guard, and their `try_` forms an [`Option`]. A [`Condvar`]
//! takes its guard by reference, since its wait may be cancelled.
//!
//! Waits for a mutex, a readers-writer lock, an initialisation or a barrier are not cancelled by anything. The others return
//! [`Cancelled`](crate::Cancelled) when something from outside ends them, and then nothing has happened: no permit was taken, no
//! notification was swallowed.

mod barrier;
mod condvar;
mod event;
#[cfg_attr(modelled, path = "fairness_model.rs")]
mod fairness;
mod lazy_lock;
mod line;
#[cfg(all(test, loom))]
mod models;
mod mutex;
mod once;
mod once_lock;
mod raw_mutex;
mod raw_once;
mod raw_rwlock;
#[cfg_attr(modelled, path = "runner_model.rs")]
mod runner;
mod rwlock;
mod semaphore;
#[cfg(all(test, not(modelled)))]
mod tests;
mod wait_group;

pub use self::{
    barrier::{Barrier, BarrierWaitResult},
    condvar::{Condvar, WaitTimeoutResult},
    event::{Event, WaitTimeoutError},
    lazy_lock::LazyLock,
    mutex::{MappedMutexGuard, Mutex, MutexGuard},
    once::{Once, OnceState},
    once_lock::OnceLock,
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
    semaphore::{AcquireTimeoutError, Semaphore, SemaphorePermit},
    wait_group::WaitGroup,
};
