//! Waits until a time, beside those for some time.

use crate::common::LONG;
use crate::common::places::{everywhere, join_all};
use crate::common::waits::in_fibers_and_a_thread;
use sisal::sync::{AcquireTimeoutError, Condvar, Event, Mutex, RwLock, Semaphore, WaitTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(2)
}

fn late() -> Instant {
    Instant::now() + LONG
}

#[test]
fn what_does_not_come_is_given_up_at_the_deadline_and_not_before() {
    in_fibers_and_a_thread(|| {
        let (mutex, changed) = (Mutex::new(0), Condvar::new());
        let deadline = soon();
        let mut guard = mutex.lock();
        assert!(mutex.lock_deadline(deadline).is_none() && Instant::now() >= deadline);
        let deadline = soon();
        assert!(changed.wait_deadline(&mut guard, deadline).unwrap().timed_out() && Instant::now() >= deadline);
        let deadline = soon();
        let result = changed.wait_deadline_while(&mut guard, deadline, |number| *number == 0);
        assert!(result.unwrap().timed_out() && Instant::now() >= deadline);
        let lock = RwLock::new(());
        let writing = lock.write();
        let deadline = soon();
        assert!(lock.read_deadline(deadline).is_none() && Instant::now() >= deadline);
        let deadline = soon();
        assert!(lock.write_deadline(deadline).is_none() && Instant::now() >= deadline);
        drop(writing);
        let reading = lock.read();
        let deadline = soon();
        assert!(lock.write_deadline(deadline).is_none() && Instant::now() >= deadline);
        assert!(lock.try_read().is_some(), "who has given up keeps nobody out");
        drop(reading);
        assert!(lock.try_write().is_some());
        let deadline = soon();
        let refused = Semaphore::new(0).acquire_deadline(deadline).unwrap_err();
        assert!(refused == AcquireTimeoutError::TimedOut && Instant::now() >= deadline);
        let deadline = soon();
        let refused = Event::new().wait_deadline(deadline);
        assert!(refused == Err(WaitTimeoutError::TimedOut) && Instant::now() >= deadline);
    });
}

#[test]
fn what_comes_in_time_is_had() {
    everywhere(|place| {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), Semaphore::new(0), Event::new()));
        let actors = place.crowd(4, |_| {
            let shared = Arc::clone(&shared);
            move || {
                let (mutex, changed, semaphore, event) = &*shared;
                event.wait_deadline(late()).unwrap();
                semaphore.acquire_deadline(late()).unwrap().forget();
                let mut number = mutex.lock_deadline(late()).unwrap();
                *number += 1;
                changed.notify_all();
                assert!(!changed.wait_deadline_while(&mut number, late(), |number| *number < 4).unwrap().timed_out());
            }
        });
        shared.3.set();
        shared.2.add_permits(4);
        join_all(actors);
        assert_eq!((*shared.0.lock(), shared.2.available()), (4, 0));
    });
}

#[test]
fn many_permits_are_tried_for_together() {
    in_fibers_and_a_thread(|| {
        let semaphore = Semaphore::new(3);
        let two = semaphore.try_acquire_many(2).unwrap();
        assert!(semaphore.try_acquire_many(2).is_none());
        assert_eq!(semaphore.available(), 1);
        let one = semaphore.try_acquire_many(1).unwrap();
        assert!(semaphore.try_acquire().is_none() && semaphore.try_acquire_many(0).is_some());
        drop((two, one));
        assert_eq!(semaphore.available(), 3);
    });
}
