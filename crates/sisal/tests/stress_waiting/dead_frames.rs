//! Who wakes late touches no frame that is gone: what waits leave on the stack is used for something else at once, and stays whole.
//!
//! A wait ends by its deadline, by a cancel or by what it was for, whichever comes first, and all come at about the same time. Each wait is a call of
//! its own, and the call after it fills the place where its records were.

use crate::common::places::{Actor, Place, mixed};
use crate::common::{rounds, until, with_workers};
use sisal::chan::{bounded, broadcast, oneshot, unbounded, watch};
use sisal::sync::{Condvar, Event, Mutex, Semaphore};
use sisal::{CancelToken, select, yield_now};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

/// How many words are filled: some more than the frames of a wait take, down to where it parks.
const WORDS: usize = 192;

/// A wait for at most so long, and what else may end it.
struct Meeting {
    wait: Box<dyn FnMut(Duration) + Send>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Meeting {
    fn new(wait: impl FnMut(Duration) + Send + 'static, wake: impl Fn() + Send + Sync + 'static) -> Meeting {
        Meeting { wait: Box::new(wait), wake: Arc::new(wake) }
    }
}

/// Fills the stack below the caller, and looks at it for a while.
#[inline(never)]
fn use_the_stack(round: usize) {
    let mut frame = [round; WORDS];
    black_box(&mut frame);
    for _ in 0..8 {
        (0..16).for_each(|_| spin_loop());
        assert!(black_box(&frame).iter().all(|&word| word == round), "a late waker wrote here: {frame:?}");
    }
}

/// What one hands another, who takes it once.
struct Handover<T>(StdMutex<Option<T>>);

impl<T> Handover<T> {
    fn new() -> Arc<Handover<T>> {
        Arc::new(Handover(StdMutex::new(None)))
    }

    fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Ends what has been started when it goes, by a panic too.
struct StopGuard<'a>(&'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits again and again, while two others wake it, and one cancels it.
fn meet(place: &Place, make: fn() -> Meeting) {
    let Meeting { mut wait, wake } = make();
    let (is_over, cancels) = (Arc::new(AtomicBool::new(false)), Handover::<CancelToken>::new());
    let waiter = {
        let (is_over, cancels) = (Arc::clone(&is_over), Arc::clone(&cancels));
        place.spawn_on(0, move || {
            let _stop = StopGuard(&is_over);
            for round in 0..rounds(500) {
                let time = Duration::from_nanos(round as u64 * 7_919 % 20_000);
                if round % 4 == 0 {
                    let token = CancelToken::new();
                    cancels.put(token.clone());
                    token.run(|| black_box(&mut wait)(time));
                } else {
                    black_box(&mut wait)(time);
                }
                use_the_stack(round);
            }
        })
    };
    let repeat = |worker, wake: Arc<dyn Fn() + Send + Sync>| -> Actor<()> {
        let is_over = Arc::clone(&is_over);
        place.spawn_on(worker, move || {
            let mut delay = worker;
            while !is_over.load(Ordering::Relaxed) {
                wake();
                delay = delay.wrapping_mul(40_503) % 64;
                (0..delay).for_each(|_| spin_loop());
                yield_now();
            }
        })
    };
    let cancel = Arc::new(move || {
        if let Some(token) = cancels.take() {
            token.cancel();
        }
    });
    let others = [repeat(1, Arc::clone(&wake)), repeat(2, wake), repeat(3, cancel)];
    until(|| is_over.load(Ordering::Relaxed));
    waiter.join();
    others.into_iter().for_each(Actor::join);
}

/// Tries meetings of one kind with 1, 2, 4 and 8 workers; whoever waits is a fiber, and a thread.
fn storm(make: fn() -> Meeting) {
    with_workers(|workers| mixed(workers, |place| meet(place, make)));
}

#[test]
fn a_late_sender_to_a_bounded_channel_touches_no_dead_frame() {
    storm(|| {
        let (tx, rx) = bounded(1);
        Meeting::new(move |time| _ = rx.recv_timeout(time), move || _ = tx.try_send([1u64; 8]))
    });
}

#[test]
fn a_late_receiver_from_a_bounded_channel_touches_no_dead_frame() {
    storm(|| {
        let (tx, rx) = bounded(1);
        Meeting::new(move |time| _ = tx.send_timeout([1u64; 8], time), move || _ = rx.try_recv())
    });
}

#[test]
fn a_late_sender_to_a_rendezvous_touches_no_dead_frame() {
    storm(|| {
        let (tx, rx) = bounded(0);
        Meeting::new(move |time| _ = rx.recv_timeout(time), move || _ = tx.try_send([1u64; 8]))
    });
}

#[test]
fn a_late_receiver_from_a_rendezvous_touches_no_dead_frame() {
    storm(|| {
        let (tx, rx) = bounded(0);
        Meeting::new(move |time| _ = tx.send_timeout([1u64; 8], time), move || _ = rx.try_recv())
    });
}

#[test]
fn a_late_sender_to_a_channel_without_a_limit_touches_no_dead_frame() {
    storm(|| {
        let (tx, rx) = unbounded();
        let wake = move || {
            if tx.is_empty() {
                tx.send([1u64; 8]).ok();
            }
        };
        Meeting::new(move |time| _ = rx.recv_timeout(time), wake)
    });
}

#[test]
fn a_late_sender_to_a_oneshot_touches_no_dead_frame() {
    storm(|| {
        let senders = Handover::new();
        let offered = Arc::clone(&senders);
        let wait = move |time| {
            let (tx, mut rx) = oneshot();
            offered.put(tx);
            let _ = rx.recv_timeout(time);
        };
        Meeting::new(wait, move || _ = senders.take().map(|tx| tx.send([1u64; 8])))
    });
}

#[test]
fn a_late_sender_to_a_broadcast_touches_no_dead_frame() {
    storm(|| {
        let (tx, mut rx) = broadcast(1);
        Meeting::new(move |time| _ = rx.recv_timeout(time), move || _ = tx.send([1u64; 8]))
    });
}

#[test]
fn a_late_change_touches_no_dead_frame() {
    storm(|| {
        let (tx, mut rx) = watch([0u64; 8]);
        Meeting::new(move |time| _ = rx.changed_timeout(time), move || _ = tx.send([1u64; 8]))
    });
}

#[test]
fn one_who_comes_late_to_a_select_touches_no_dead_frame() {
    storm(|| {
        let ((tx1, rx1), (tx2, rx2), (tx3, rx3)) = (bounded(0), bounded(1), bounded(0));
        let wait = move |time| {
            select! {
                recv(rx1) -> _ => (),
                recv(rx2) -> _ => (),
                send(tx3, [1u64; 8]) -> _ => (),
                default(time) => (),
            }
        };
        let wake = move || {
            let _ = (tx1.try_send([1u64; 8]), tx2.try_send([1u64; 8]), rx3.try_recv());
        };
        Meeting::new(wait, wake)
    });
}

#[test]
fn one_who_comes_late_to_a_select_over_what_has_one_receiver_touches_no_dead_frame() {
    storm(|| {
        let senders = Handover::new();
        let offered = Arc::clone(&senders);
        let ((speaker, mut news), (settings, mut changes)) = (broadcast(1), watch([0u64; 8]));
        let wait = move |time| {
            let (tx, mut rx) = oneshot();
            offered.put(tx);
            select! {
                recv(&mut rx) -> _ => (),
                recv(&mut news) -> _ => (),
                recv(&mut changes) -> _ => (),
                default(time) => (),
            }
        };
        let wake = move || {
            let _ = senders.take().map(|tx| tx.send([1u64; 8]));
            let _ = (speaker.send([1u64; 8]), settings.send([1u64; 8]));
        };
        Meeting::new(wait, wake)
    });
}

#[test]
fn one_who_unlocks_a_mutex_late_touches_no_dead_frame() {
    storm(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = Arc::clone(&mutex);
        let wake = move || {
            let mut count = other.lock();
            *count += 1;
            (0..64).for_each(|_| spin_loop());
        };
        Meeting::new(move |time| _ = mutex.lock_timeout(time), wake)
    });
}

#[test]
fn one_who_gives_a_permit_late_touches_no_dead_frame() {
    storm(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = Arc::clone(&semaphore);
        let wait = move |time| {
            if let Ok(permit) = semaphore.acquire_timeout(time) {
                permit.forget();
            }
        };
        let wake = move || {
            if other.available() == 0 {
                other.add_permits(1);
            }
        };
        Meeting::new(wait, wake)
    });
}

#[test]
fn one_who_sets_an_event_late_touches_no_dead_frame() {
    storm(|| {
        let event = Arc::new(Event::new());
        let other = Arc::clone(&event);
        let wait = move |time| {
            event.reset();
            let _ = event.wait_timeout(time);
        };
        Meeting::new(wait, move || other.set())
    });
}

#[test]
fn one_who_notifies_late_touches_no_dead_frame() {
    storm(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        let wait = move |time| _ = shared.1.wait_timeout(&mut shared.0.lock(), time);
        Meeting::new(wait, move || other.1.notify_one())
    });
}
