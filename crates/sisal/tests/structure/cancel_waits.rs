//! Which waits a cancellation ends, and which go on until they have what they wait for.

use crate::common::places::{Place, everywhere, join_all, settle};
use crate::common::waits::cancel_before_and_during;
use crate::common::{LONG, until};
use sisal::chan::{self, RecvError, RecvTimeoutError, SendError, SendTimeoutError};
use sisal::stm::{TVar, atomically, try_atomically};
use sisal::sync::{
    AcquireTimeoutError, Barrier, Condvar, Event, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup,
    WaitTimeoutError,
};
use sisal::{CancelToken, Cancelled, Cause, interval, sleep, sleep_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Checks that a token ends the wait, whether it is cancelled before or during it.
fn is_cancelled(place: &Place, what: &str, wait: impl Fn() -> Option<Cancelled> + Send + Sync + 'static) {
    for cancelled in cancel_before_and_during(place, wait) {
        let cancelled = cancelled.unwrap_or_else(|| panic!("{what} was not cancelled"));
        assert_eq!(cancelled.cause, Cause::Request, "{what}");
    }
}

#[test]
fn sleeps_and_ticks_are_cancelled() {
    everywhere(|place| {
        is_cancelled(place, "sleep", || sleep(LONG).err());
        is_cancelled(place, "sleep_until", || sleep_until(Instant::now() + LONG).err());
        is_cancelled(place, "a tick", || interval(LONG).tick().err());
    });
}

#[test]
fn waits_on_channels_are_cancelled() {
    everywhere(|place| {
        for capacity in [0, 1] {
            let (send, receive) = chan::bounded::<u8>(capacity);
            let other = send.clone();
            let (first, second) = (receive.clone(), receive.clone());
            is_cancelled(place, "recv", move || match first.recv() {
                Err(RecvError::Cancelled(cancelled)) => Some(cancelled),
                _ => None,
            });
            is_cancelled(place, "recv_timeout", move || match second.recv_timeout(LONG) {
                Err(RecvTimeoutError::Cancelled(cancelled)) => Some(cancelled),
                _ => None,
            });
            (0..capacity).for_each(|_| send.send(0).unwrap());
            is_cancelled(place, "send", move || match send.send(1) {
                Err(SendError::Cancelled(1, cancelled)) => Some(cancelled),
                _ => None,
            });
            is_cancelled(place, "send_timeout", move || match other.send_timeout(1, LONG) {
                Err(SendTimeoutError::Cancelled(1, cancelled)) => Some(cancelled),
                _ => None,
            });
            assert_eq!(receive.len(), capacity, "what was not sent is not there");
        }
    });
}

#[test]
fn waits_on_other_channels_are_cancelled() {
    everywhere(|place| {
        let pool = chan::pool(|| 0, |_| (), 1);
        let taken = pool.get().unwrap();
        let empty = pool.clone();
        is_cancelled(place, "pool get", move || empty.get().err());
        drop(taken);
        let (_send, receive) = chan::broadcast::<u8>(1);
        is_cancelled(place, "broadcast recv", move || match receive.clone().recv() {
            Err(chan::BroadcastRecvError::Cancelled(cancelled)) => Some(cancelled),
            _ => None,
        });
        let (_send, receive) = chan::watch(0);
        is_cancelled(place, "watch changed", move || match receive.clone().changed() {
            Err(RecvError::Cancelled(cancelled)) => Some(cancelled),
            _ => None,
        });
        is_cancelled(place, "oneshot recv", || {
            let (_send, receive) = chan::oneshot::<u8>();
            match receive.recv() {
                Err(RecvError::Cancelled(cancelled)) => Some(cancelled),
                _ => None,
            }
        });
    });
}

#[test]
fn a_select_is_cancelled_in_its_first_arm() {
    everywhere(|place| {
        let (_send, receive) = chan::bounded::<u8>(0);
        let other = receive.clone();
        is_cancelled(place, "select!", move || {
            sisal::select! {
                recv(receive) -> message => match message {
                    Err(RecvError::Cancelled(cancelled)) => Some(cancelled),
                    _ => None,
                },
                recv(receive) -> _ => None,
            }
        });
        is_cancelled(place, "Select", move || {
            let mut select = sisal::Select::new();
            select.recv(&other, |message| match message {
                Err(RecvError::Cancelled(cancelled)) => Some(cancelled),
                _ => None,
            });
            select.recv(&other, |_| None);
            select.wait()
        });
    });
}

#[test]
fn waits_on_semaphores_events_groups_and_condvars_are_cancelled() {
    everywhere(|place| {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = Arc::clone(&semaphore);
        is_cancelled(place, "acquire", move || semaphore.acquire().err());
        is_cancelled(place, "acquire_timeout", move || match other.acquire_timeout(LONG) {
            Err(AcquireTimeoutError::Cancelled(cancelled)) => Some(cancelled),
            _ => None,
        });
        let event = Arc::new(Event::new());
        let other = Arc::clone(&event);
        is_cancelled(place, "event", move || event.wait().err());
        is_cancelled(place, "event wait_timeout", move || match other.wait_timeout(LONG) {
            Err(WaitTimeoutError::Cancelled(cancelled)) => Some(cancelled),
            _ => None,
        });
        let group = WaitGroup::new();
        is_cancelled(place, "wait group", move || group.clone().wait().err());
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        is_cancelled(place, "condvar", move || shared.1.wait(&mut shared.0.lock()).err());
        is_cancelled(place, "condvar wait_timeout", move || other.1.wait_timeout(&mut other.0.lock(), LONG).err());
        let token = CancelToken::new();
        is_cancelled(place, "token", move || token.wait().err());
    });
}

#[test]
fn a_transaction_that_may_be_cancelled_is() {
    everywhere(|place| {
        let variable = TVar::new(0);
        is_cancelled(place, "try_atomically", move || {
            try_atomically(|tx| {
                tx.read(&variable)?;
                tx.retry::<()>()
            })
            .err()
        });
    });
}

/// Has an actor wait under a token that is cancelled, and checks that the wait does not end before `release`, and then does.
fn is_never_cancelled(place: &Place, wait: impl FnOnce() + Send + 'static, release: impl FnOnce()) {
    let (token, has_started) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
    let is_released = Arc::new(AtomicBool::new(false));
    let actor = {
        let (token, has_started, is_released) = (token.clone(), Arc::clone(&has_started), Arc::clone(&is_released));
        place.spawn(move || {
            token.run(|| {
                has_started.store(true, Ordering::Release);
                wait();
                is_released.load(Ordering::Acquire)
            })
        })
    };
    until(|| has_started.load(Ordering::Acquire));
    settle();
    token.cancel();
    settle();
    assert!(!actor.is_finished());
    is_released.store(true, Ordering::Release);
    release();
    assert!(actor.join(), "it had what it waited for");
}

#[test]
fn locks_are_never_cancelled() {
    everywhere(|place| {
        let mutex = Arc::new(Mutex::new(()));
        let (held, other) = (mutex.lock(), Arc::clone(&mutex));
        is_never_cancelled(place, move || drop(other.lock()), || drop(held));
        let lock = Arc::new(RwLock::new(()));
        let (held, other) = (lock.write(), Arc::clone(&lock));
        is_never_cancelled(place, move || drop(other.read()), || drop(held));
        let (held, other) = (lock.read(), Arc::clone(&lock));
        is_never_cancelled(place, move || drop(other.write()), || drop(held));
    });
}

#[test]
fn barriers_are_never_cancelled() {
    everywhere(|place| {
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        let wait = move || {
            other.wait();
        };
        is_never_cancelled(place, wait, || {
            barrier.wait();
        });
    });
}

/// An initialiser that runs until it is told to end; the actor comes second.
fn is_never_cancelled_beside_an_initialiser(place: &Place, call: impl Fn(&dyn Fn()) + Send + Sync + 'static) {
    let call = Arc::new(call);
    let (is_running, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let first = {
        let (call, is_running, may_end) = (Arc::clone(&call), Arc::clone(&is_running), Arc::clone(&may_end));
        place.spawn(move || {
            call(&|| {
                is_running.store(true, Ordering::Release);
                until(|| may_end.load(Ordering::Acquire));
            });
        })
    };
    until(|| is_running.load(Ordering::Acquire));
    is_never_cancelled(place, move || call(&|| ()), || may_end.store(true, Ordering::Release));
    first.join();
}

#[test]
fn waits_for_what_is_made_once_are_never_cancelled() {
    everywhere(|place| {
        let once = Once::new();
        is_never_cancelled_beside_an_initialiser(place, move |make| once.call_once(make));
        let cell = OnceLock::new();
        is_never_cancelled_beside_an_initialiser(place, move |make| *cell.get_or_init(make));
    });
}

#[test]
fn lazy_values_are_never_cancelled() {
    everywhere(|place| {
        let (is_running, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let lazy = {
            let (is_running, may_end) = (Arc::clone(&is_running), Arc::clone(&may_end));
            Arc::new(LazyLock::new(move || {
                is_running.store(true, Ordering::Release);
                until(|| may_end.load(Ordering::Acquire));
                7
            }))
        };
        let (first, second) = (Arc::clone(&lazy), Arc::clone(&lazy));
        let maker = place.spawn(move || **first);
        until(|| is_running.load(Ordering::Acquire));
        let wait = move || assert_eq!(**second, 7);
        is_never_cancelled(place, wait, || may_end.store(true, Ordering::Release));
        assert_eq!(maker.join(), 7);
    });
}

#[test]
fn a_transaction_waits_on() {
    everywhere(|place| {
        let variable = TVar::new(0);
        let other = variable.clone();
        let wait = move || {
            let seen = atomically(|tx| match tx.read(&other)? {
                0 => tx.retry(),
                value => Ok(value),
            });
            assert_eq!(seen, 1);
        };
        is_never_cancelled(place, wait, || variable.set(1));
    });
}

#[test]
fn a_cancelled_wait_on_a_condvar_waits_for_its_mutex_as_long_as_it_takes() {
    everywhere(|place| {
        let (token, room) = (CancelToken::new(), Arc::new((Mutex::new((0, false)), Condvar::new())));
        let actors = place.crowd(3, |_| {
            let (token, room) = (token.clone(), Arc::clone(&room));
            move || {
                let mut state = room.0.lock();
                state.0 += 1;
                let waited = token.run(|| room.1.wait(&mut state));
                assert!(state.1, "not before the other has left");
                waited.unwrap_err().cause
            }
        });
        // They are counted under the lock, which they give up when they wait.
        until(|| room.0.lock().0 == 3);
        let mut state = room.0.lock();
        token.cancel();
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        state.1 = true;
        drop(state);
        assert_eq!(join_all(actors), [Cause::Request; 3]);
    });
}
