//! The wait record of a task: on the heap, since its future may move and go at any time. See
//! [`task_parker`](crate::prim::task_parker) for what that entails.
#![allow(unsafe_code, reason = "records are reached by pointer, from lists and by their owner")]

use super::waiter::{Wait, Waiter};
use super::who::Who;
use crate::prim::task_parker::TaskParker;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// A wait for one object at a time, and a place for what is to be handed over.
///
/// Like a record in a frame it must not go while it is linked, or claimed and not unparked: whoever links it sees to that.
pub(crate) struct TaskRecord<S>(NonNull<Parts<S>>);

struct Parts<S> {
    wait: Wait<Who>,
    waiter: Waiter<Who>,
    slot: UnsafeCell<S>,
}

// SAFETY: it owns its parts. Those in a list are used from other threads as the protocol of waiters says.
unsafe impl<S: Send> Send for TaskRecord<S> {}
// SAFETY: through a shared one the slot can be had by pointer only.
unsafe impl<S: Send> Sync for TaskRecord<S> {}

impl<S> TaskRecord<S> {
    pub(crate) fn new(waker: Waker, slot: S) -> TaskRecord<S> {
        let parts: NonNull<Parts<S>> = NonNull::from(Box::leak(Box::<Parts<S>>::new_uninit())).cast();
        let who = Who::Task(Arc::new(TaskParker::new(waker)));
        // SAFETY: the memory is new. The waiter is made when the wait has come to where it stays.
        unsafe {
            (&raw mut (*parts.as_ptr()).wait).write(Wait::new(who));
            (&raw mut (*parts.as_ptr()).waiter).write(Waiter::solo(&(*parts.as_ptr()).wait));
            (&raw mut (*parts.as_ptr()).slot).write(UnsafeCell::new(slot));
        }
        TaskRecord(parts)
    }

    /// The record in `place`, ready for a wait: made, or used again if its last wait is over.
    pub(crate) fn prepare(place: &mut Option<TaskRecord<S>>, waker: Waker, slot: impl FnOnce() -> S) -> &TaskRecord<S> {
        match place {
            Some(record) => {
                record.renew(waker);
                record
            }
            None => place.insert(TaskRecord::new(waker, slot())),
        }
    }

    fn parts(&self) -> &Parts<S> {
        // SAFETY: ours, until we are dropped.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn wait(&self) -> &Wait<Who> {
        &self.parts().wait
    }

    pub(crate) fn waiter(&self) -> &Waiter<Who> {
        &self.parts().waiter
    }

    pub(crate) fn slot(&self) -> *mut S {
        self.parts().slot.get()
    }

    pub(crate) fn parker(&self) -> &Arc<TaskParker> {
        match self.wait().who() {
            Who::Task(parker) => parker,
            _ => unreachable!("INVARIANT: the record of a task"),
        }
    }

    /// Makes it ready for another wait. The last one is over, by the unpark or before it began.
    fn renew(&self, waker: Waker) {
        self.waiter().renew();
        self.wait().renew();
        self.parker().renew(waker);
    }
}

impl<S> Drop for TaskRecord<S> {
    fn drop(&mut self) {
        // SAFETY: made by `new` of a box, and linked nowhere.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use crate::fiber::end::{EndWord, Freeing};
    use crate::fiber::wait_list::WaitList;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Counter>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn unpark(who: Who) {
        match who {
            Who::Task(parker) => parker.unpark(),
            who => unreachable!("{who:?} is no task"),
        }
    }

    /// Links a record to a fiber's end, as a handle does that is polled.
    fn link(end: &EndWord<Who>, waker: Waker) -> Arc<TaskParker> {
        let record = TaskRecord::new(waker, ());
        let (parker, waiter) = (Arc::clone(record.parker()), std::ptr::from_ref(record.waiter()));
        parker.entrust(Box::new(record));
        // SAFETY: the parker keeps it until the unpark, or until it is taken off and withdrawn.
        assert!(unsafe { end.enlist(&*waiter) });
        parker
    }

    #[test]
    fn an_entrusted_record_goes_with_the_unpark_or_when_it_is_withdrawn() {
        let (counter, end) = (Arc::new(Counter::default()), EndWord::new());
        let parkers: Vec<_> = (0..3).map(|_| link(&end, counter.clone().into())).collect();
        let taken = end.take(|who| matches!(who, Who::Task(parker) if Arc::ptr_eq(parker, &parkers[1])));
        parkers[1].withdraw();
        drop(taken);
        assert_eq!(end.finish(|token| unpark(token.0)), Freeing::Theirs);
        assert_eq!(counter.0.load(Ordering::Relaxed), 2);
        assert!(parkers.iter().all(|parker| parker.is_unparked() && Arc::strong_count(parker) == 1));
        assert_eq!(Arc::strong_count(&counter), 1);
    }

    #[test]
    fn a_handle_that_goes_takes_its_record_along() {
        let (counter, end) = (Arc::new(Counter::default()), EndWord::new());
        let parker = link(&end, counter.clone().into());
        let freeing = end.detach(|who| {
            if let Who::Task(parker) = who {
                parker.withdraw();
            }
        });
        assert_eq!((freeing, Arc::strong_count(&parker), Arc::strong_count(&counter)), (Freeing::Theirs, 1, 1));
        assert_eq!(end.finish(|_| unreachable!("nobody waits")), Freeing::Mine);
    }

    /// Tells what was handed over to a record that was left behind.
    struct Left(TaskRecord<Option<Box<u32>>>, Arc<AtomicUsize>);

    impl Drop for Left {
        fn drop(&mut self) {
            // SAFETY: the unpark has come, so the slot is ours again.
            let handed = unsafe { (*self.0.slot()).take() };
            self.1.store(handed.map_or(0, |handed| *handed as usize), Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_handed_to_a_record_that_was_left_behind_is_found_by_the_unpark() {
        let (counter, found) = (Arc::new(Counter::default()), Arc::new(AtomicUsize::new(0)));
        let record = TaskRecord::new(counter.clone().into(), None);
        record.waiter().set_slot(record.slot().cast());
        let mut list = WaitList::new();
        // SAFETY: it stays until the unpark.
        unsafe { list.push(record.waiter()) };
        let claimed = list.claim_first().unwrap();
        // The future goes.
        assert!(record.wait().woken().is_some());
        let parker = Arc::clone(record.parker());
        assert!(parker.leave_behind(Box::new(Left(record, Arc::clone(&found)))).is_ok());
        // SAFETY: the slot of a record that was left behind.
        unsafe { *claimed.hand_over().cast::<Option<Box<u32>>>() = Some(Box::new(7)) };
        unpark(claimed.into_token().0);
        assert_eq!((found.load(Ordering::Relaxed), counter.0.load(Ordering::Relaxed)), (7, 0));
        assert_eq!((Arc::strong_count(&parker), Arc::strong_count(&counter)), (1, 1));
    }

    #[test]
    fn a_record_is_used_again() {
        let (one, two) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
        let (mut place, mut list) = (None, WaitList::new());
        for (waker, round) in [(&one, 1), (&two, 2)] {
            let record = TaskRecord::prepare(&mut place, waker.clone().into(), || 0);
            assert!(!record.waiter().was_handed() && record.parker().set_waker(&waker.clone().into()));
            record.waiter().set_slot(record.slot().cast());
            // SAFETY: it stays until the unpark.
            unsafe { list.push(record.waiter()) };
            let claimed = list.claim_first().unwrap();
            // SAFETY: the slot of a record that waits.
            unsafe { *claimed.hand_over().cast::<u32>() += 1 };
            unpark(claimed.into_token().0);
            assert!(record.waiter().was_handed() && !record.parker().set_waker(&waker.clone().into()));
            // SAFETY: unparked.
            assert_eq!(unsafe { *record.slot() }, round);
        }
        assert_eq!((one.0.load(Ordering::Relaxed), two.0.load(Ordering::Relaxed)), (1, 1));
    }
}
