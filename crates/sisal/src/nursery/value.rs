//! What a child hands to whoever joins it.
//!
//! A value may borrow from around the nursery. So it has to be gone, or in the hands of somebody inside, when its child is counted out. The block
//! of the child's fiber lives on after that, and is no place for it. Hence one of its own, which the child's task and its handle share: the task lets
//! go of it before it is counted out, and the handle does not leave the nursery. The last of the two drops a value that nobody took.
#![allow(unsafe_code, reason = "a value that takes no room needs no place")]

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// One of the two shares of the place where the value will be. There is none for values that take no room and need not be dropped, like `()`.
pub(super) struct Handover<T> {
    shared: Option<Arc<Mutex<Option<T>>>>,
    /// It can be shared and sent as if there was such a place, whether there is or not.
    value: PhantomData<Mutex<T>>,
}

/// The value is on the heap.
impl<T> Unpin for Handover<T> {}

impl<T> Handover<T> {
    const IS_NEEDED: bool = size_of::<T>() > 0 || std::mem::needs_drop::<T>();

    /// For the task, and for the handle.
    #[inline]
    pub(super) fn pair() -> (Handover<T>, Handover<T>) {
        let shared = Handover::<T>::IS_NEEDED.then(|| Arc::new(Mutex::new(None)));
        (Handover { shared: shared.clone(), value: PhantomData }, Handover { shared, value: PhantomData })
    }

    /// The task's: leaves the value here. If there is no handle any more, it is dropped.
    #[inline]
    pub(super) fn put(self, value: T) {
        match self.shared {
            Some(shared) => *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(value),
            None => std::mem::forget(value),
        }
    }

    /// The handle's: the value.
    ///
    /// # Safety
    /// It was put here, and this is called once.
    pub(super) unsafe fn take(&mut self) -> T {
        match &self.shared {
            Some(shared) => {
                let value = shared.lock().unwrap_or_else(PoisonError::into_inner).take();
                value.expect("INVARIANT: it was put here, and is taken once")
            }
            // SAFETY: it takes no room, so this is how the one that was put here is moved.
            None => unsafe { NonNull::dangling().read() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn a_value_is_taken_by_the_handle() {
        let (task, mut handle) = Handover::pair();
        task.put("tea");
        // SAFETY: just put there.
        assert_eq!(unsafe { handle.take() }, "tea");
    }

    #[test]
    fn the_last_drops_what_nobody_took() {
        let value = Rc::new(Cell::new(7));
        let (task, handle) = Handover::pair();
        task.put(value.clone());
        assert_eq!(Rc::strong_count(&value), 2);
        drop(handle);
        assert_eq!(Rc::strong_count(&value), 1);

        let (task, handle) = Handover::pair();
        drop(handle);
        task.put(value.clone());
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn what_takes_no_room_needs_no_place_unless_its_end_is_noticed() {
        struct Noticed;
        impl Drop for Noticed {
            fn drop(&mut self) {}
        }
        assert!(Handover::<()>::pair().0.shared.is_none());
        assert!(Handover::<[u64; 0]>::pair().0.shared.is_none());
        assert!(Handover::<Noticed>::pair().0.shared.is_some());
        let (task, mut handle) = Handover::pair();
        task.put(());
        // SAFETY: just put there.
        unsafe { handle.take() };
    }
}
