//! Calling a waker at a given time.
//!
//! A fiber's deadline is a timer of its worker, a thread's the timeout of its sleep. A task has neither: it may be polled anywhere. So
//! one thread of the process keeps the times of all tasks. It is started by the first, sleeps until the next is due, and without
//! any it sleeps for good.

use super::clock::Moment;
use super::fork;
use super::own_threads;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Calls a waker at its time, unless it is dropped before.
#[derive(Debug)]
pub(crate) struct WakeTimer {
    key: Key,
    waker: Waker,
}

/// A time, and a number that tells apart those of the same time.
type Key = (Moment, u64);

struct Timers {
    due: BTreeMap<Key, Waker>,
    last_number: u64,
    is_started: bool,
    /// One is being called.
    is_waking: bool,
}

static TIMERS: Mutex<Timers> =
    Mutex::new(Timers { due: BTreeMap::new(), last_number: 0, is_started: false, is_waking: false });
static CHANGED: Condvar = Condvar::new();

/// Nothing that could panic is done under the lock.
fn timers() -> MutexGuard<'static, Timers> {
    TIMERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are any whose wakers have not been called, to the end.
pub(crate) fn are_there() -> bool {
    let timers = timers();
    timers.is_waking || !timers.due.is_empty()
}

/// Calls a waker at its time, whatever happens.
///
/// # Errors
/// If the thread can't be started.
pub(crate) fn wake_at(at: Moment, waker: Waker) -> io::Result<()> {
    arm(at, waker).map(drop)
}

fn arm(at: Moment, waker: Waker) -> io::Result<Key> {
    // The thread that keeps time is not there.
    fork::refuse_in_child();
    let mut timers = timers();
    if !timers.is_started {
        own_threads::spawn("sisal-timers", keep_time)?;
        timers.is_started = true;
    }
    timers.last_number += 1;
    let key = (at, timers.last_number);
    let is_first = timers.due.first_key_value().is_none_or(|(first, _)| key < *first);
    timers.due.insert(key, waker);
    drop(timers);
    if is_first {
        CHANGED.notify_one();
    }
    Ok(key)
}

impl WakeTimer {
    /// # Panics
    /// If the thread can't be started.
    pub(crate) fn new(at: Moment, waker: &Waker) -> WakeTimer {
        match arm(at, waker.clone()) {
            Ok(key) => WakeTimer { key, waker: waker.clone() },
            Err(error) => panic!("sisal: can't start the thread that keeps the time of futures: {error}"),
        }
    }

    /// Whether it does what one for this time and this waker would do.
    pub(crate) fn is_for(&self, at: Moment, waker: &Waker) -> bool {
        self.key.0 == at && self.waker.will_wake(waker)
    }
}

impl Drop for WakeTimer {
    fn drop(&mut self) {
        // Out of the lock before it is dropped, which is foreign code.
        let waker = timers().due.remove(&self.key);
        drop(waker);
    }
}

/// What the thread does.
fn keep_time() {
    let mut timers = timers();
    loop {
        let now = Moment::now();
        timers = match timers.due.first_entry() {
            None => CHANGED.wait(timers).unwrap_or_else(PoisonError::into_inner),
            Some(first) if first.key().0 <= now => {
                let waker = first.remove();
                timers.is_waking = true;
                drop(timers);
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                    // The others are to be woken all the same. The panic hook has told of it.
                    std::mem::forget(payload);
                }
                let mut timers = self::timers();
                timers.is_waking = false;
                timers
            }
            Some(first) => {
                let left = first.key().0.since(now);
                CHANGED.wait_timeout(timers, left).unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::time::Duration;

    struct Tells(mpsc::Sender<u32>, u32);

    impl Wake for Tells {
        fn wake(self: Arc<Tells>) {
            let _ = self.0.send(self.1);
        }
    }

    #[test]
    fn wakers_are_called_in_the_order_of_their_times_and_dropped_ones_not_at_all() {
        let (tell, told) = mpsc::channel();
        let waker = |number| Waker::from(Arc::new(Tells(tell.clone(), number)));
        let now = Moment::now();
        let at = |millis| now.after(Duration::from_millis(millis));
        let _timers = [(30, 3), (10, 1), (20, 2)].map(|(millis, number)| WakeTimer::new(at(millis), &waker(number)));
        drop(WakeTimer::new(at(15), &waker(9)));
        assert_eq!(told.iter().take(3).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(Moment::now() >= at(30));
    }
}
