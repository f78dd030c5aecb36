//! Locks and their kin: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;

mod barrier;
mod condvar;
mod deadlines;
mod event;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod wait_group;
