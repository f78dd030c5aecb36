//! Waits on channels that are ended from outside: by the end of the runtime, or because their fiber unwinds.

use crate::common::places::settle;
use crate::common::{LONG, background, until, with_workers};
use sisal::chan::{
    BroadcastRecvError, OrderedRecvError, RecvError, RecvTimeoutError, SendError, SendTimeoutError, bounded, broadcast,
    never, oneshot, ordered, pool, unbounded, watch,
};
use sisal::{Cause, Select, select};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Waits in some way until it is ended, and says by what.
type Wait = fn() -> Option<Cause>;

/// One of each call that waits.
const WAITS: [(&str, Wait); 16] = [
    ("recv from a rendezvous", || {
        let (_tx, rx) = bounded::<u8>(0);
        by_recv(rx.recv())
    }),
    ("recv from a queue", || {
        let (_tx, rx) = unbounded::<u8>();
        by_recv(rx.recv())
    }),
    ("recv from nowhere", || by_recv(never::<u8>().recv())),
    ("recv_timeout", || {
        let (_tx, rx) = bounded::<u8>(1);
        match rx.recv_timeout(LONG) {
            Err(RecvTimeoutError::Cancelled(cancelled)) => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("send to a rendezvous", || {
        let (tx, _rx) = bounded(0);
        by_send(tx.send(7))
    }),
    ("send to a full queue", || {
        let (tx, _rx) = bounded(1);
        tx.send(0).unwrap();
        by_send(tx.send(7))
    }),
    ("send_timeout", || {
        let (tx, _rx) = bounded(0);
        match tx.send_timeout(7, LONG) {
            Err(SendTimeoutError::Cancelled(7, cancelled)) => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("oneshot", || {
        let (_tx, rx) = oneshot::<u8>();
        by_recv(rx.recv())
    }),
    ("broadcast", || {
        let (_tx, mut rx) = broadcast::<u8>(1);
        match rx.recv() {
            Err(BroadcastRecvError::Cancelled(cancelled)) => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("watch", || {
        let (_tx, mut rx) = watch(0);
        match rx.changed() {
            Err(RecvError::Cancelled(cancelled)) => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("pool", || {
        let pool = pool(|| 0, |_| (), 1);
        let _guard = pool.get().ok()?;
        pool.get().err().map(|cancelled| cancelled.cause)
    }),
    ("ordered send", || {
        let (tx, _rx) = ordered(1);
        tx.send(|| 7).ok()?;
        match tx.send(|| 7) {
            Err(SendError::Cancelled(work, cancelled)) if work() == 7 => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("ordered recv", || {
        let (_tx, rx) = ordered::<u8>(1);
        match rx.recv() {
            Err(OrderedRecvError::Cancelled(cancelled)) => Some(cancelled.cause),
            _ => None,
        }
    }),
    ("select! with a receive first", || {
        let ((_tx, rx), (tx, _rx)) = (bounded::<u8>(0), bounded(0));
        select! {
            recv(rx) -> message => by_recv(message),
            send(tx, 7) -> _ => None,
        }
    }),
    ("select! with a send first", || {
        let ((_tx, rx), (tx, _rx)) = (bounded::<u8>(0), bounded(0));
        select! {
            send(tx, 7) -> result => by_send(result),
            recv(rx) -> _ => None,
            default(LONG) => None,
        }
    }),
    ("Select", || {
        let ((_tx, rx), (tx, _rx)) = (bounded::<u8>(0), bounded(0));
        let mut select = Select::new();
        select.recv(&rx, by_recv);
        select.send(&tx, || 7, |_| None);
        select.wait()
    }),
];

fn by_recv(result: Result<u8, RecvError>) -> Option<Cause> {
    match result {
        Err(RecvError::Cancelled(cancelled)) => Some(cancelled.cause),
        _ => None,
    }
}

fn by_send(result: Result<(), SendError<i32>>) -> Option<Cause> {
    match result {
        Err(SendError::Cancelled(7, cancelled)) => Some(cancelled.cause),
        _ => None,
    }
}

#[test]
fn the_end_of_the_runtime_ends_every_wait() {
    with_workers(|workers| {
        let runtime = background(workers);
        let begun = Arc::new(AtomicUsize::new(0));
        let fibers = WAITS.map(|(name, wait)| {
            let begun = Arc::clone(&begun);
            let fiber = runtime.spawn(move || {
                begun.fetch_add(1, Ordering::Relaxed);
                wait()
            });
            (name, fiber)
        });
        until(|| begun.load(Ordering::Relaxed) == WAITS.len());
        settle();
        runtime.request_stop();
        for (name, fiber) in fibers {
            assert_eq!(fiber.join().unwrap(), Some(Cause::Shutdown), "{name}");
        }
        crate::common::shut_down(runtime);
    });
}

#[test]
fn a_wait_that_begins_after_the_end_returns_at_once() {
    with_workers(|workers| {
        let runtime = background(workers);
        let fiber = runtime.spawn(|| {
            sisal::Handle::current().unwrap().request_stop();
            WAITS.map(|(name, wait)| (name, wait()))
        });
        for (name, cause) in fiber.join().unwrap() {
            assert_eq!(cause, Some(Cause::Shutdown), "{name}");
        }
        crate::common::shut_down(runtime);
    });
}

#[test]
fn what_need_not_wait_succeeds_after_the_end() {
    with_workers(|workers| {
        let runtime = background(workers);
        let fiber = runtime.spawn(|| {
            sisal::Handle::current().unwrap().request_stop();
            let (tx, rx) = bounded(2);
            tx.send(1).unwrap();
            tx.send_timeout(2, LONG).unwrap();
            assert_eq!((rx.recv(), rx.recv_timeout(LONG)), (Ok(1), Ok(2)));
            select! {
                recv(rx) -> message => unreachable!("{message:?}"),
                send(tx, 3) -> sent => sent.unwrap(),
            }
            select! { recv(rx) -> message => assert_eq!(message, Ok(3)) }
            drop(tx);
            assert_eq!(rx.recv(), Err(RecvError::Closed), "closed before cancelled");
            let (tx, rx) = oneshot();
            tx.send(4).unwrap();
            assert_eq!(rx.recv(), Ok(4));
            let (tx, mut rx) = watch(5);
            tx.send(6);
            assert_eq!(rx.changed(), Ok(()));
            assert!(pool(|| 0, |_| (), 1).get().is_ok());
        });
        fiber.join().unwrap();
        crate::common::shut_down(runtime);
    });
}

#[test]
fn iterators_end_with_the_runtime() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (tx, rx) = bounded(0);
        let fiber = runtime.spawn(move || rx.iter().sum::<i32>());
        (0..3).for_each(|number| tx.send(number).unwrap());
        runtime.request_stop();
        assert_eq!(fiber.join().unwrap(), 3);
        crate::common::shut_down(runtime);
        drop(tx);
    });
}

#[test]
fn the_end_of_a_runtime_does_not_disturb_others_on_the_same_channel() {
    with_workers(|workers| {
        let (ending, lasting) = (background(workers), background(1));
        let (tx, rx) = bounded(0);
        let begun = Arc::new(AtomicUsize::new(0));
        let wait = || {
            let (rx, begun) = (rx.clone(), Arc::clone(&begun));
            move || {
                begun.fetch_add(1, Ordering::Relaxed);
                rx.recv()
            }
        };
        let (ended, stays, thread) = (ending.spawn(wait()), lasting.spawn(wait()), std::thread::spawn(wait()));
        until(|| begun.load(Ordering::Relaxed) == 3);
        settle();
        ending.request_stop();
        assert!(matches!(ended.join().unwrap(), Err(RecvError::Cancelled(_))));
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        let sum = stays.join().unwrap().unwrap() + thread.join().unwrap().unwrap();
        assert_eq!(sum, 3);
        crate::common::shut_down(ending);
        crate::common::shut_down(lasting);
    });
}

#[test]
fn a_default_with_a_time_and_no_arms_runs_early_when_the_runtime_ends() {
    with_workers(|workers| {
        let runtime = background(workers);
        let begun = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&begun);
        let fiber = runtime.spawn(move || {
            flag.store(true, Ordering::Relaxed);
            select! { default(LONG) => 7 }
        });
        until(|| begun.load(Ordering::Relaxed));
        settle();
        runtime.request_stop();
        assert_eq!(fiber.join().unwrap(), 7);
        crate::common::shut_down(runtime);
    });
}

#[test]
fn in_a_fiber_that_unwinds_what_would_wait_is_cancelled_and_what_would_not_succeeds() {
    type Seen = Arc<Mutex<Vec<(&'static str, Option<Cause>)>>>;
    struct OnUnwinding(Seen);
    impl Drop for OnUnwinding {
        fn drop(&mut self) {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            assert_eq!(rx.recv(), Ok(1));
            self.0.lock().unwrap().extend(WAITS.map(|(name, wait)| (name, wait())));
        }
    }
    with_workers(|workers| {
        let runtime = background(workers);
        let seen = Seen::default();
        let watcher = OnUnwinding(Arc::clone(&seen));
        let fiber = runtime.spawn(move || {
            let _watcher = watcher;
            panic!("on purpose");
        });
        assert!(fiber.join().is_err());
        let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        assert_eq!(seen.len(), WAITS.len());
        for (name, cause) in seen {
            assert_eq!(cause, Some(Cause::Unwinding), "{name}");
        }
        crate::common::shut_down(runtime);
    });
}

#[test]
fn a_time_of_its_own_that_is_over_is_never_called_a_cancellation() {
    with_workers(|workers| {
        let runtime = background(workers);
        runtime.run(|| {
            let (tx, rx) = bounded::<u8>(0);
            assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
            assert_eq!(tx.send_timeout(1, Duration::from_millis(1)), Err(SendTimeoutError::TimedOut(1)));
        });
        crate::common::shut_down(runtime);
    });
}
