//! Whoever never waits lets others of its worker have a turn all the same, whatever comes of what it does.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::{LONG, fixed, watched};
use sisal::chan::{self, RecvError, TryRecvError, bounded, unbounded};
use sisal::stm::{StmError, TVar, atomically_with_error, retry, try_atomically};
use sisal::sync::{Condvar, Event, Mutex, RwLock, Semaphore, WaitGroup};
use sisal::{CancelToken, Select, select, sleep, spawn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Does `busy` on one worker, again and again and without ever waiting, until a third fiber of that worker has run.
fn runs_beside<F: Fn() + Send + Clone + 'static>(busy: impl Fn() -> F) {
    let runtime = watched(fixed(1).build().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let pair = [(); 2].map(|()| {
        let (stop, busy) = (Arc::clone(&stop), busy());
        runtime.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                busy();
            }
        })
    });
    runtime.spawn(move || stop.store(true, Ordering::Relaxed)).join().unwrap();
    pair.into_iter().for_each(|fiber| fiber.join().unwrap());
    crate::common::shut_down(runtime);
}

#[test]
fn a_pair_of_fibers_that_never_wait_does_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        for flavour in [Flavour::Bounded(2), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            runs_beside(|| {
                let (tx, rx) = (tx.clone(), rx.clone());
                move || {
                    tx.send(1).unwrap();
                    assert_eq!(rx.recv(), Ok(1));
                }
            });
        }
    });
}

#[test]
fn a_pair_of_fibers_that_always_have_something_for_each_other_does_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let ((tx, rx), (back, backs)) = (bounded(0), bounded(0));
        let told = Arc::clone(&stop);
        let one = runtime.spawn(move || {
            while !told.load(Ordering::Relaxed) {
                tx.send(1).unwrap();
                assert_eq!(backs.recv(), Ok(2));
            }
        });
        let other = runtime.spawn(move || rx.iter().for_each(|_: i32| back.send(2).unwrap()));
        runtime.spawn(move || stop.store(true, Ordering::Relaxed)).join().unwrap();
        one.join().unwrap();
        other.join().unwrap();
        crate::common::shut_down(runtime);
    });
}

#[test]
fn fibers_that_only_try_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        runs_beside(|| || WaitGroup::new().wait().unwrap());
        let (tx, rx) = unbounded::<u8>();
        runs_beside(|| {
            let rx = rx.clone();
            move || assert_eq!(rx.try_recv(), Err(TryRecvError::Empty))
        });
        drop(tx);
        let (full, _keep) = bounded(1);
        full.send(1).unwrap();
        runs_beside(|| {
            let full = full.clone();
            move || assert!(full.try_send(2).is_err())
        });
        static MUTEX: Mutex<()> = Mutex::new(());
        static LOCK: RwLock<()> = RwLock::new(());
        static NOTHING: Semaphore = Semaphore::new(0);
        let held = (MUTEX.lock(), LOCK.write());
        runs_beside(|| || assert!(MUTEX.try_lock().is_none()));
        runs_beside(|| || assert!(LOCK.try_read().is_none()));
        runs_beside(|| || assert!(LOCK.try_write().is_none()));
        runs_beside(|| || assert!(NOTHING.try_acquire().is_none()));
        drop(held);
    });
}

#[test]
fn a_fiber_that_joins_in_vain_does_not_starve_another() {
    crate::common::watchdog::guarded(|| {
        let runtime = watched(fixed(1).build().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let token = CancelToken::new();
        token.cancel();
        let busy = runtime.spawn(move || {
            let mut handles = vec![spawn(|| sleep(LONG).is_err())];
            token.run(|| {
                while !told.load(Ordering::Relaxed) {
                    assert!(sisal::join_any(&mut handles).unwrap().1.is_err());
                }
            });
            handles[0].cancel();
            assert!(sisal::join_any(&mut handles).is_some_and(|_| handles.is_empty()));
        });
        runtime.spawn(move || stop.store(true, Ordering::Relaxed)).join().unwrap();
        busy.join().unwrap();
        crate::common::shut_down(runtime);
    });
}

#[test]
fn fibers_that_find_a_channel_closed_again_and_again_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make::<u8>();
            tx.close();
            runs_beside(|| {
                let rx = rx.clone();
                move || assert_eq!(rx.recv(), Err(RecvError::Closed))
            });
            runs_beside(|| {
                let tx = tx.clone();
                move || assert!(tx.send(1).unwrap_err().is_closed())
            });
        }
        let (everybody, nobody) = chan::broadcast::<u8>(1);
        drop(nobody);
        runs_beside(|| {
            let everybody = everybody.clone();
            move || assert!(everybody.send(1).unwrap_err().is_closed())
        });
        let (ordered, results) = chan::ordered::<u8>(1);
        drop(results);
        runs_beside(|| {
            let ordered = ordered.clone();
            move || assert!(ordered.send(|| 1).is_err())
        });
        runs_beside(|| {
            let ordered = ordered.clone();
            move || assert!(ordered.try_send(|| 1).is_err())
        });
        runs_beside(|| {
            || {
                let (tx, rx) = chan::oneshot::<u8>();
                drop(tx);
                assert_eq!(rx.recv(), Err(RecvError::Closed));
            }
        });
        runs_beside(|| {
            || {
                let (tx, rx) = chan::oneshot();
                drop(rx);
                assert_eq!(tx.send(1), Err(1));
            }
        });
    });
}

/// Does `busy` inside of a token that was cancelled.
fn runs_cancelled_beside(busy: impl Fn() -> bool + Send + Sync + 'static) {
    let token = CancelToken::new();
    token.cancel();
    let busy = Arc::new(busy);
    runs_beside(|| {
        let (token, busy) = (token.clone(), Arc::clone(&busy));
        move || assert!(token.run(|| busy()), "cancelled")
    });
}

#[test]
fn fibers_whose_waits_for_channels_are_cancelled_at_once_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        for flavour in FLAVOURS {
            let (_keep, rx) = flavour.make::<u8>();
            runs_cancelled_beside(move || rx.recv().is_err());
        }
        for capacity in [0, 1] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|_| tx.send(1).unwrap());
            runs_cancelled_beside(move || tx.send(1).is_err());
            drop(rx);
        }
        runs_cancelled_beside(|| {
            let (_keep, rx) = chan::oneshot::<u8>();
            rx.recv().is_err()
        });
        let (_keep, rx) = chan::broadcast::<u8>(1);
        runs_cancelled_beside(move || rx.clone().recv().is_err());
        let (_keep, rx) = chan::watch(0);
        runs_cancelled_beside(move || rx.clone().changed().is_err());
        let pool = chan::pool(|| 0, |_| (), 1);
        let lent = pool.get().unwrap();
        runs_cancelled_beside(move || pool.get().is_err());
        drop(lent);
    });
}

#[test]
fn fibers_whose_selects_are_cancelled_at_once_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        let (_one, first) = bounded::<u8>(0);
        let (_two, second) = bounded::<u8>(1);
        let rx = first.clone();
        runs_cancelled_beside(move || select! { recv(rx) -> message => message.is_err() });
        let pair = (first.clone(), second.clone());
        runs_cancelled_beside(move || {
            select! { recv(pair.0) -> message => message.is_err(), recv(pair.1) -> message => message.is_err() }
        });
        runs_cancelled_beside(move || {
            let mut select = Select::new();
            select.recv(&first, |message| message.is_err());
            select.recv(&second, |message| message.is_err());
            select.wait()
        });
    });
}

#[test]
fn fibers_whose_other_waits_are_cancelled_at_once_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        runs_cancelled_beside(|| sleep(Duration::from_millis(1)).is_err());
        runs_cancelled_beside(|| sisal::sleep_until(Instant::now() + LONG).is_err());
        let event = Event::new();
        runs_cancelled_beside(move || event.wait().is_err());
        let semaphore = Semaphore::new(0);
        runs_cancelled_beside(move || semaphore.acquire().is_err());
        let group = WaitGroup::new();
        runs_cancelled_beside(move || group.clone().wait().is_err());
        let (mutex, changed) = (Mutex::new(()), Condvar::new());
        runs_cancelled_beside(move || changed.wait(&mut mutex.lock()).is_err());
        let token = CancelToken::new();
        runs_cancelled_beside(move || token.wait().is_err());
        runs_cancelled_beside(|| sisal::try_block_on(std::future::pending::<()>()).is_err());
        let variable = TVar::new(0);
        runs_cancelled_beside(move || {
            try_atomically(|tx| if tx.read(&variable)? == 0 { retry() } else { Ok(()) }).is_err()
        });
    });
}

#[test]
fn fibers_whose_joins_are_cancelled_at_once_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        let other = watched(fixed(1).build().unwrap());
        let sleeper = Arc::new(other.spawn(|| sleep(LONG).is_err()));
        let handle = Arc::clone(&sleeper);
        runs_cancelled_beside(move || handle.wait().is_err());
        sleeper.cancel();
        crate::common::shut_down(other);
    });
}

#[test]
fn fibers_whose_transactions_give_up_again_and_again_do_not_starve_a_third() {
    crate::common::watchdog::guarded(|| {
        runs_beside(|| || assert_eq!(atomically_with_error(|_| Err::<(), _>(StmError::Abort(7))), Err(7)));
    });
}
