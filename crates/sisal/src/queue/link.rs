//! The one link by which a thing stands in a queue. A thing stands in at most one queue at a time, so one is enough.

use crate::prim::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// The successor in whatever queue its owner stands.
///
/// An atomic only so that handing it from thread to thread needs no `unsafe`; all accesses are relaxed, and the
/// queue's own word carries the ordering.
pub(crate) struct Link<T>(AtomicPtr<T>);

impl<T> Link<T> {
    pub(crate) fn new() -> Link<T> {
        Link(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        NonNull::new(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set(&self, next: Option<NonNull<T>>) {
        self.0.store(as_ptr(next), Ordering::Relaxed);
    }
}

/// A thing that can stand in an intrusive queue.
pub(crate) trait Linked: Sized {
    fn link(&self) -> &Link<Self>;
}

pub(crate) fn as_ptr<T>(pointer: Option<NonNull<T>>) -> *mut T {
    pointer.map_or(ptr::null_mut(), NonNull::as_ptr)
}
