//! What the locks do in fibers and threads, beyond their models: times, fairness, cancellation, storms.

use super::*;
use crate::{Cause, JoinHandle, Runtime, deadline, join_all, run, sleep, spawn, spawn_local, timeout, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

fn on_two_workers<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    Runtime::builder().workers(2).build().unwrap().run(f)
}

/// Fibers and plain threads do the same, so many times each.
fn storm(times: usize, work: impl Fn() + Clone + Send + 'static) {
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let work = work.clone();
            std::thread::spawn(move || (0..times).for_each(|_| work()))
        })
        .collect();
    let fibers: Vec<_> = (0..20)
        .map(|_| {
            let work = work.clone();
            spawn(move || (0..times).for_each(|_| work()))
        })
        .collect();
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now();
    }
}

#[test]
fn a_mutex_admits_one_fiber_or_thread_at_a_time() {
    on_two_workers(|| {
        let sum = Arc::new(Mutex::new(0));
        let inside = sum.clone();
        storm(1000, move || {
            let mut sum = inside.lock();
            *sum += 1;
            if *sum % 100 == 0 {
                // Others come meanwhile, and wait.
                yield_now();
            }
        });
        assert_eq!(*sum.lock(), 22_000);
    });
}

#[test]
fn one_who_waits_for_a_mutex_is_not_overtaken_for_long() {
    on_two_workers(|| {
        let mutex = Arc::new(Mutex::new(()));
        let stop = Arc::new(Event::new());
        let hogs: Vec<JoinHandle<()>> = (0..2)
            .map(|worker| {
                let (mutex, stop) = (mutex.clone(), stop.clone());
                crate::spawn_on(worker, move || {
                    while !stop.is_set() {
                        let _guard = mutex.lock();
                        std::thread::sleep(Duration::from_micros(50));
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            let start = Instant::now();
            drop(mutex.lock());
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        }
        stop.set();
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
    });
}

#[test]
fn a_mutex_is_given_up_in_time_and_had_afterwards() {
    run(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.lock();
        let others: Vec<_> = (0..10)
            .map(|_| {
                let mutex = mutex.clone();
                spawn_local(move || mutex.lock_timeout(SHORT).is_some())
            })
            .collect();
        assert!(join_all(others).into_iter().all(|got| !got.unwrap()));
        drop(guard);
        assert!(mutex.lock_timeout(LONG).is_some());
    });
}

#[test]
fn a_panic_under_a_guard_unlocks_and_does_not_poison() {
    let mutex = Mutex::new(1);
    let lock = RwLock::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let (_guard, _writing) = (mutex.lock(), lock.write());
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.lock() + *lock.read(), 2);
    let mapped = catch_unwind(AssertUnwindSafe(|| {
        drop(MutexGuard::map(mutex.lock(), |_| -> &mut u8 { std::panic::resume_unwind(Box::new(())) }));
    }));
    assert!(mapped.is_err() && mutex.try_lock().is_some());
}

#[test]
fn waits_for_locks_are_not_cancelled() {
    run(|| {
        let mutex = Arc::new(Mutex::new(()));
        let lock = Arc::new(RwLock::new(()));
        let held = (mutex.lock(), lock.read());
        let has_started = Rc::new(Cell::new(false));
        let waiter = {
            let (mutex, lock, has_started) = (mutex.clone(), lock.clone(), has_started.clone());
            spawn_local(move || {
                has_started.set(true);
                timeout(Duration::ZERO, || {
                    drop(mutex.lock());
                    drop(lock.write());
                });
            })
        };
        wait_until(|| has_started.get());
        waiter.cancel();
        yield_now();
        assert!(!waiter.is_finished());
        drop(held);
        waiter.join().unwrap();
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    on_two_workers(|| {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let inside = shared.clone();
        storm(500, move || {
            let (lock, turn) = &*inside;
            match turn.fetch_add(1, Ordering::Relaxed) % 4 {
                0 => {
                    let mut number = lock.write();
                    *number += 1;
                    yield_now();
                    *number += 1;
                }
                1 => {
                    let mut number = lock.write();
                    *number += 2;
                    let before = *number;
                    let number = RwLockWriteGuard::downgrade(number);
                    yield_now();
                    assert_eq!(*number, before);
                }
                _ => {
                    let number = lock.read();
                    let before = *number;
                    yield_now();
                    assert!(*number == before && before % 2 == 0);
                }
            }
        });
        assert_eq!(*shared.0.read(), 22 * 500);
    });
}

#[test]
fn a_writer_that_waits_keeps_new_readers_out_and_then_lets_them_in() {
    run(|| {
        let lock = Arc::new(RwLock::new(0));
        let order = Arc::new(StdMutex::new(Vec::new()));
        let reading = lock.read();
        let enter = |name: &'static str| {
            let (lock, order) = (lock.clone(), order.clone());
            let fiber = spawn_local(move || {
                if name.starts_with('w') {
                    let _writing = lock.write();
                    order.lock().unwrap().push(name);
                    yield_now();
                } else {
                    let _reading = lock.read();
                    order.lock().unwrap().push(name);
                }
            });
            yield_now();
            fiber
        };
        let fibers = ["w1", "r1", "w2", "r2"].map(enter);
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        drop(reading);
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        let order = order.lock().unwrap();
        assert_eq!((order[0], order[3]), ("w1", "w2"), "{order:?}");
    });
}

#[test]
fn a_condvar_passes_things_on() {
    on_two_workers(|| {
        let shared = Arc::new((Mutex::new(0usize), Condvar::new(), Condvar::new()));
        let turn = Arc::new(AtomicUsize::new(0));
        let inside = shared.clone();
        storm(200, move || {
            let (count, filled, emptied) = &*inside;
            let mut count = count.lock();
            if turn.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                emptied.wait_while(&mut count, |count| *count == 3).unwrap();
                *count += 1;
                filled.notify_one();
            } else {
                filled.wait_while(&mut count, |count| *count == 0).unwrap();
                *count -= 1;
                emptied.notify_one();
            }
        });
        assert_eq!(*shared.0.lock(), 0);
    });
}

#[test]
fn a_cancelled_or_timed_out_wait_for_a_condvar_has_the_mutex_again() {
    run(|| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let (mutex, changed) = &*shared;
        let mut guard = mutex.lock();
        assert!(changed.wait_timeout(&mut guard, SHORT).unwrap().timed_out());
        assert!(mutex.try_lock().is_none());
        let cancelled = deadline(Instant::now() + SHORT, || changed.wait(&mut guard));
        assert_eq!(cancelled.unwrap_err().cause, Cause::Deadline);
        assert!(mutex.try_lock().is_none());
        drop(guard);

        let notifier = {
            let shared = shared.clone();
            spawn_local(move || {
                *shared.0.lock() = 1;
                shared.1.notify_all();
            })
        };
        let mut guard = mutex.lock();
        assert!(!changed.wait_timeout_while(&mut guard, LONG, |number| *number == 0).unwrap().timed_out());
        notifier.join().unwrap();
    });
}

#[test]
fn a_notification_is_not_swallowed_by_one_who_was_cancelled() {
    run(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let wait = || {
            let shared = shared.clone();
            let fiber = spawn_local(move || shared.1.wait(&mut shared.0.lock()));
            yield_now();
            fiber
        };
        let (first, second) = (wait(), wait());
        first.cancel();
        assert_eq!(first.join().unwrap().unwrap_err().cause, Cause::Request);
        shared.1.notify_one();
        second.join().unwrap().unwrap();
    });
}

#[test]
fn a_semaphore_serves_in_order_and_many_are_not_starved() {
    run(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let order = Arc::new(StdMutex::new(Vec::new()));
        let permit = semaphore.acquire().unwrap();
        let take = |many: usize| {
            let (semaphore, order) = (semaphore.clone(), order.clone());
            let fiber = spawn_local(move || {
                semaphore.acquire_many(many).unwrap().forget();
                order.lock().unwrap().push(many);
            });
            yield_now();
            fiber
        };
        let fibers = [1, 3, 1, 2].map(take);
        assert!(semaphore.acquire_many(0).is_ok());
        drop(permit);
        semaphore.add_permits(2);
        assert!(semaphore.try_acquire().is_none(), "those that are free are for who waits");
        assert_eq!(semaphore.available(), 2);
        for served in [vec![1], vec![1, 3], vec![1, 3, 1], vec![1, 3, 1], vec![1, 3, 1, 2]] {
            yield_now();
            assert_eq!(*order.lock().unwrap(), served);
            semaphore.add_permits(1);
        }
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        assert_eq!(semaphore.available(), 1);
    });
}

#[test]
fn who_gives_up_at_the_head_of_a_semaphore_lets_those_behind_through() {
    run(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let head = {
            let semaphore = semaphore.clone();
            spawn_local(move || semaphore.acquire_many(2).map(drop))
        };
        yield_now();
        let behind = {
            let semaphore = semaphore.clone();
            spawn_local(move || semaphore.acquire().map(drop))
        };
        yield_now();
        assert!(!behind.is_finished());
        head.cancel();
        behind.join().unwrap().unwrap();
        assert_eq!(head.join().unwrap().unwrap_err().cause, Cause::Request);
        assert_eq!(semaphore.available(), 1);
    });
}

#[test]
fn a_semaphore_loses_no_permit_in_a_storm_of_timeouts() {
    on_two_workers(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let inside = semaphore.clone();
        storm(100, move || {
            match inside.acquire_timeout(Duration::from_micros(50)) {
                Ok(_permit) => yield_now(),
                Err(error) => assert_eq!(error, AcquireTimeoutError::TimedOut),
            };
            drop(inside.acquire_many(2).unwrap());
        });
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn a_barrier_has_one_leader_in_each_round() {
    on_two_workers(|| {
        let shared = Arc::new((Barrier::new(22), AtomicUsize::new(0)));
        let inside = shared.clone();
        storm(50, move || {
            if inside.0.wait().is_leader() {
                inside.1.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(shared.1.load(Ordering::Relaxed), 50);
    });
}

#[test]
fn an_initialiser_that_waits_lets_others_wait_for_it() {
    on_two_workers(|| {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let lazy = Arc::new(LazyLock::new(|| {
            sleep(SHORT).unwrap();
            CALLS.fetch_add(1, Ordering::Relaxed)
        }));
        let inside = lazy.clone();
        storm(3, move || assert_eq!(**inside, 0));
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);

        let cell = Arc::new(OnceLock::new());
        let waiter = {
            let cell = cell.clone();
            spawn(move || *cell.wait())
        };
        yield_now();
        cell.set(7).unwrap();
        assert_eq!(waiter.join().unwrap(), 7);
    });
}

#[test]
fn a_panicking_initialiser_poisons_a_once_and_a_lazy_lock_but_not_a_once_lock() {
    fn fails<T>() -> T {
        std::panic::resume_unwind(Box::new(()))
    }
    let once = Once::new();
    assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(fails))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err() && !once.is_completed());
    let lazy = LazyLock::new(|| -> u8 { fails() });
    assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
    let cell = OnceLock::new();
    assert!(catch_unwind(AssertUnwindSafe(|| *cell.get_or_init(|| -> u8 { fails() }))).is_err());
    assert_eq!(*cell.get_or_init(|| 7), 7);
}

#[test]
fn an_initialiser_that_waits_for_itself_panics() {
    fn recurses() {
        let once = Once::new();
        let panicked = catch_unwind(AssertUnwindSafe(|| once.call_once(|| once.call_once(|| ()))));
        assert_eq!(*panicked.unwrap_err().downcast_ref::<&str>().unwrap(), "an initialiser waits for itself");
        let cell = OnceLock::new();
        assert!(catch_unwind(AssertUnwindSafe(|| *cell.get_or_init(|| *cell.wait() + 1))).is_err());
        assert_eq!(cell.set(7), Ok(()));
    }
    recurses();
    run(recurses);
}

#[test]
fn what_a_once_lock_holds_is_dropped_once() {
    let counted = Arc::new(());
    let mut cell = OnceLock::from(counted.clone());
    assert_eq!(cell.set(counted.clone()), Err(counted.clone()));
    assert_eq!(Arc::strong_count(&counted), 2);
    drop(cell.clone());
    drop(cell.take());
    assert_eq!(Arc::strong_count(&counted), 1);
    cell.set(counted.clone()).unwrap();
    drop(cell);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn a_wait_group_is_done_when_all_have_left_or_wait() {
    run(|| {
        let group = WaitGroup::new();
        let done = Arc::new(AtomicUsize::new(0));
        let waits_too = {
            let group = group.clone();
            spawn(move || group.wait())
        };
        for _ in 0..10 {
            let (group, done) = (group.clone(), done.clone());
            drop(spawn(move || {
                yield_now();
                done.fetch_add(1, Ordering::Relaxed);
                drop(group);
            }));
        }
        group.wait().unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 10);
        waits_too.join().unwrap().unwrap();

        let group = WaitGroup::new();
        let member = group.clone();
        assert_eq!(timeout(SHORT, || group.wait()).unwrap_err().cause, Cause::Deadline);
        drop(member);
    });
}

#[test]
fn an_event_wakes_all_and_can_be_reset() {
    run(|| {
        let event = Arc::new(Event::new());
        assert_eq!(event.wait_timeout(SHORT), Err(WaitTimeoutError::TimedOut));
        let (begun, woken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                let (event, begun, woken) = (event.clone(), begun.clone(), woken.clone());
                spawn_local(move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    event.wait().unwrap();
                    woken.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        // On this worker: whoever has begun has gone to wait.
        wait_until(|| begun.load(Ordering::Relaxed) == 10);
        event.set();
        event.reset();
        wait_until(|| woken.load(Ordering::Relaxed) == 10);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(timeout(SHORT, || event.wait()).unwrap_err().cause, Cause::Deadline);
        event.set();
        // What need not wait succeeds in a cancelled scope, too.
        timeout(Duration::ZERO, || event.wait()).unwrap();
    });
}
