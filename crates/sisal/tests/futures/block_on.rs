//! Waiting for futures: in fibers and threads, with wakers of every manner.

use super::common::waits::{cause, in_fibers_and_a_thread};
use super::common::watchdog::guarded;
use super::common::{LONG, background, in_fiber_of_each, rounds, shut_down, until, with_workers};
use super::tools::{Flag, after_polls};
use sisal::{Cause, JoinError, block_on, spawn, spawn_future, spawn_future_local, spawn_local, try_block_on};
use std::future::{pending, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

#[test]
fn a_ready_future_needs_no_wait() {
    in_fibers_and_a_thread(|| {
        assert_eq!(block_on(ready(7)), 7);
        assert_eq!(try_block_on(async { ready(3).await + ready(4).await }), Ok(7));
    });
}

#[test]
fn a_wake_during_the_poll_means_another_poll() {
    in_fibers_and_a_thread(|| assert_eq!(block_on(after_polls(1000)), 1000));
}

/// What waits until somebody awaits the flag, does `first`, and raises it.
fn raise_when_awaited<T>(flag: Flag, first: impl FnOnce(&Flag) -> T) -> impl FnOnce() -> T {
    move || {
        until(|| flag.is_awaited());
        let result = first(&flag);
        flag.raise();
        result
    }
}

#[test]
fn a_future_is_woken_from_another_thread() {
    in_fibers_and_a_thread(|| {
        let flag = Flag::default();
        let raiser = thread::spawn(raise_when_awaited(flag.clone(), |_| ()));
        block_on(flag.raised());
        raiser.join().unwrap();
    });
}

#[test]
fn a_future_is_woken_from_another_fiber_of_the_same_worker() {
    in_fiber_of_each(|| {
        let flag = Flag::default();
        let raiser = spawn_local(raise_when_awaited(flag.clone(), |_| ()));
        block_on(flag.raised());
        assert_eq!(flag.polls(), 2, "once before and once after");
        raiser.join().unwrap();
    });
}

#[test]
fn a_needless_wake_leads_to_a_poll_and_nothing_else() {
    in_fiber_of_each(|| {
        let flag = Flag::default();
        let waiter = spawn_future(flag.raised());
        for polls in 1..10 {
            until(|| flag.polls() == polls);
            flag.waker().unwrap().wake();
        }
        until(|| flag.polls() == 10);
        assert!(!waiter.is_finished());
        flag.raise();
        waiter.join().unwrap();
    });
}

#[test]
fn a_waker_may_be_called_late_twice_and_by_many() {
    in_fibers_and_a_thread(|| {
        let flag = Flag::default();
        let raiser = thread::spawn(raise_when_awaited(flag.clone(), |flag| flag.waker().unwrap()));
        block_on(flag.raised());
        let waker = raiser.join().unwrap();
        // The wait is over.
        (0..3).for_each(|_| waker.wake_by_ref());
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| waker.wake_by_ref()))));
        // A late wake ends no other wait.
        let other = Flag::default();
        let second = thread::spawn(raise_when_awaited(other.clone(), |_| waker.wake()));
        block_on(other.raised());
        second.join().unwrap();
    });
}

#[test]
fn a_waker_outlives_its_fiber_and_its_runtime() {
    guarded(|| {
        let flag = Flag::default();
        let waker = {
            let runtime = background(2);
            let waiter = {
                let flag = flag.clone();
                runtime.spawn(move || block_on(flag.raised()))
            };
            until(|| flag.is_awaited());
            let waker = flag.waker().unwrap();
            flag.raise();
            waiter.join().unwrap();
            shut_down(runtime);
            waker
        };
        waker.wake_by_ref();
        waker.wake();
    });
}

#[test]
fn a_storm_of_futures_woken_by_threads() {
    const FUTURES: usize = 1000;
    const THREADS: usize = 4;
    with_workers(|workers| {
        let runtime = background(workers);
        let flags: Arc<Vec<[Flag; 3]>> = Arc::new((0..FUTURES).map(|_| Default::default()).collect());
        let waiters: Vec<_> = (0..FUTURES)
            .map(|index| {
                let flags = Arc::clone(&flags);
                runtime.spawn(move || {
                    block_on(async {
                        for flag in &flags[index] {
                            flag.raised().await;
                        }
                    });
                    index
                })
            })
            .collect();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let flags = Arc::clone(&flags);
                thread::spawn(move || {
                    for index in (0..FUTURES).map(|index| (index * 7 + thread * 251) % FUTURES) {
                        for flag in &flags[index] {
                            if let Some(waker) = flag.waker() {
                                waker.wake_by_ref();
                            }
                            flag.raise();
                        }
                    }
                })
            })
            .collect();
        let sum: usize = waiters.into_iter().map(|waiter| waiter.join().unwrap()).sum();
        assert_eq!(sum, FUTURES * (FUTURES - 1) / 2);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shut_down(runtime);
    });
}

#[test]
fn ping_and_pong_between_futures_lose_no_wake() {
    in_fiber_of_each(|| {
        let count = rounds(20_000);
        let flags: Arc<Vec<Flag>> = Arc::new((0..2 * count).map(|_| Flag::default()).collect());
        let other = {
            let flags = Arc::clone(&flags);
            spawn_future(async move {
                for pair in flags.chunks(2) {
                    pair[0].raised().await;
                    pair[1].raise();
                }
            })
        };
        block_on(async {
            for pair in flags.chunks(2) {
                pair[0].raise();
                pair[1].raised().await;
            }
        });
        other.join().unwrap();
    });
}

#[test]
fn block_on_inside_a_poll_of_block_on() {
    in_fibers_and_a_thread(|| {
        let outer = Flag::default();
        let sum = block_on(async {
            let inner = block_on(after_polls(3));
            outer.raise();
            outer.raised().await;
            inner + block_on(async { block_on(ready(4)) })
        });
        assert_eq!(sum, 7);
    });
}

#[test]
fn a_future_that_is_always_woken_starves_nobody() {
    in_fiber_of_each(|| {
        let stop = Arc::new(AtomicUsize::new(0));
        let greedy = {
            let stop = Arc::clone(&stop);
            spawn_local(move || {
                block_on(poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if stop.load(Ordering::Acquire) > 0 { Poll::Ready(()) } else { Poll::Pending }
                }));
            })
        };
        // On the same worker, so it must be given turns to get there.
        let modest = spawn_local(move || {
            (0..10).for_each(|_| sisal::yield_now());
            stop.store(1, Ordering::Release);
        });
        modest.join().unwrap();
        greedy.join().unwrap();
    });
}

/// Counts itself when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn a_cancelled_wait_drops_the_future_before_it_returns() {
    in_fibers_and_a_thread(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let guard = Dropped(Arc::clone(&drops));
        let waited = sisal::timeout(Duration::from_millis(1), || {
            try_block_on(async move {
                let _guard = guard;
                pending::<()>().await;
            })
        });
        assert_eq!(cause(waited), Some(Cause::Deadline));
        assert_eq!(drops.load(Ordering::Acquire), 1);
    });
}

#[test]
fn a_future_that_never_waits_can_be_cancelled_too() {
    in_fibers_and_a_thread(|| {
        let waited = sisal::timeout(Duration::from_millis(1), || {
            try_block_on(poll_fn(|context| {
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            }))
        });
        assert_eq!(cause(waited), Some(Cause::Deadline));
    });
}

#[test]
fn block_on_is_not_cancelled() {
    in_fiber_of_each(|| {
        let flag = Flag::default();
        let waiter = {
            let flag = flag.clone();
            spawn(move || block_on(flag.raised()))
        };
        until(|| flag.is_awaited());
        waiter.cancel();
        (0..100).for_each(|_| sisal::yield_now());
        assert!(!waiter.is_finished());
        flag.raise();
        waiter.join().unwrap();
    });
}

#[test]
fn a_spawned_future_gives_its_output_or_its_panic() {
    in_fiber_of_each(|| {
        assert_eq!(spawn_future(after_polls(5)).join().unwrap(), 5);
        let local = std::rc::Rc::new(6);
        assert_eq!(spawn_future_local(async move { *local }).join().unwrap(), 6);
        let error = spawn_future(async { panic!("on purpose: in a future") }).join().unwrap_err();
        assert!(matches!(error, JoinError::Panicked(_)), "{error}");
    });
}

#[test]
fn a_cancelled_spawned_future_is_dropped_and_its_join_says_so() {
    in_fiber_of_each(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (guard, flag) = (Dropped(Arc::clone(&drops)), Flag::default());
        let raised = flag.raised();
        let handle = spawn_future(async move {
            let _guard = guard;
            raised.await;
            pending::<()>().await;
        });
        until(|| flag.is_awaited());
        handle.cancel();
        let error = handle.join().unwrap_err();
        assert!(matches!(error, JoinError::Cancelled(cancelled) if cancelled.cause == Cause::Request), "{error}");
        assert_eq!(drops.load(Ordering::Acquire), 1);
        flag.raise();
    });
}

#[test]
fn the_end_of_a_runtime_ends_spawned_futures() {
    guarded(|| {
        let runtime = background(2);
        let flag = Flag::default();
        let handle = {
            let raised = flag.raised();
            runtime.run(move || {
                spawn_future(async move {
                    raised.await;
                    pending::<()>().await
                })
            })
        };
        until(|| flag.is_awaited());
        let report = runtime.shutdown(LONG);
        assert!(report.is_clean(), "{report}");
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(end)) if end.cause == Cause::Shutdown));
    });
}
