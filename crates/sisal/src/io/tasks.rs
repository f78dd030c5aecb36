//! Tasks of executors that wait for a descriptor, by their wakers. They are counted for the whole process: while there are any, something
//! may come from outside.

use crate::prim::atomic::Ordering;
use crate::prim::clock::Moment;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::task::Waker;
use std::time::Duration;

/// How many tasks may wait for one direction at first. Most of more will have been dropped: all are woken, and those that
/// still want to wait come back. If that is soon they find room for twice as many, so that those who are alive do not drive each other out for
/// ever.
const FEW: usize = 16;

/// A crowd after so long is not made of those who were woken the last time.
const SOON: Duration = Duration::from_secs(1);

static ALL: AtomicUsize = AtomicUsize::new(0);

/// Whether a task may be woken by a descriptor.
pub(crate) fn has_tasks() -> bool {
    // ORDERING: Acquire pairs with the Release in `wake`: whoever finds none finds also what they were woken to do.
    ALL.load(Ordering::Acquire) > 0
}

/// Tasks that are to be woken together.
pub(super) struct Tasks {
    wakers: Vec<Waker>,
    /// How many are no crowd.
    room: usize,
    /// When there was one.
    crowded: Moment,
}

impl Tasks {
    pub(super) const fn new() -> Tasks {
        Tasks { wakers: Vec::new(), room: FEW, crowded: Moment(0) }
    }

    /// Whether that task waits already: to poll again is no reason to be woken twice.
    pub(super) fn has(&self, task: &Waker) -> bool {
        self.wakers.iter().any(|waker| waker.will_wake(task))
    }

    pub(super) fn add(&mut self, task: Waker) {
        ALL.fetch_add(1, Ordering::Relaxed);
        self.wakers.push(task);
    }

    /// Takes all that had better be woken before another is added, to [wake](wake) them: until then they count.
    pub(super) fn take_crowd(&mut self, now: impl FnOnce() -> Moment) -> Vec<Waker> {
        if self.wakers.len() < self.room {
            return Vec::new();
        }
        let now = now();
        self.room = if now.since(self.crowded) < SOON { self.room * 2 } else { FEW };
        self.crowded = now;
        mem::take(&mut self.wakers)
    }

    /// Takes all, since what they wait for has come, to [wake](wake) them: until then they count.
    pub(super) fn take(&mut self) -> Vec<Waker> {
        self.room = FEW;
        mem::take(&mut self.wakers)
    }
}

/// The waker of a task is somebody else's code: it may panic, and then that is its own affair.
pub(super) fn wake(task: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task.wake())) {
        // Its drop may panic too.
        mem::forget(payload);
    }
    // ORDERING: Release pairs with the Acquire in `has_tasks`.
    ALL.fetch_sub(1, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::task::Wake;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Nobody>) {}
    }

    /// Adds so many that are all different, one each `pause`; returns how many there were at most.
    fn most_of(count: u64, pause: Duration) -> usize {
        let (mut tasks, mut most) = (Tasks::new(), 0);
        let mut now = Moment(SOON.as_nanos() as u64);
        for _ in 0..count {
            tasks.take_crowd(|| now).into_iter().for_each(wake);
            tasks.add(Waker::from(Arc::new(Nobody)));
            most = most.max(tasks.wakers.len());
            now = now.after(pause);
        }
        tasks.take().into_iter().for_each(wake);
        most
    }

    #[test]
    fn those_that_were_forgotten_one_by_one_do_not_pile_up() {
        assert_eq!(most_of(10_000, Duration::from_millis(100)), FEW);
    }

    #[test]
    fn many_that_come_at_once_find_room() {
        assert!(most_of(10_000, Duration::ZERO) > 4_000);
    }
}
