//! Locks, and other ways to wait for one another, between several threads.

use super::{join_all, outcomes, spawn_each};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::sync::{Barrier, Condvar, Event, Mutex, OnceLock, RwLock, Semaphore, WaitGroup};
use shuttle::thread;
use std::collections::HashSet;
use std::sync::Arc;

/// Two put into a buffer with room for one, two take out of it. Reached: one taker gets all, and not.
#[test]
fn shuttle_condvars_keep_a_buffer_of_one_going() {
    const EACH: usize = 3;
    let seen = outcomes(|| {
        let buffer = Arc::new((Mutex::new(Some(Vec::new())), Condvar::new(), Condvar::new()));
        let producers = spawn_each(2, {
            let buffer = buffer.clone();
            move |number| {
                let (slot, has_room, has_items) = &*buffer;
                for item in number * EACH..(number + 1) * EACH {
                    let mut slot = slot.lock();
                    has_room
                        .wait_while(&mut slot, |slot| slot.as_ref().is_some_and(|items| !items.is_empty()))
                        .unwrap();
                    slot.as_mut().unwrap().push(item);
                    has_items.notify_one();
                }
            }
        });
        let consumers = spawn_each(2, {
            let buffer = buffer.clone();
            move |_| {
                let (slot, has_room, has_items) = &*buffer;
                let mut taken = Vec::new();
                loop {
                    let mut slot = slot.lock();
                    has_items.wait_while(&mut slot, |slot| slot.as_ref().is_some_and(Vec::is_empty)).unwrap();
                    // None: nothing will come any more.
                    let Some(items) = slot.as_mut() else { return taken };
                    taken.append(items);
                    has_room.notify_one();
                }
            }
        });
        join_all(producers);
        {
            let mut slot = buffer.0.lock();
            buffer.1.wait_while(&mut slot, |slot| slot.as_ref().is_some_and(|items| !items.is_empty())).unwrap();
            *slot = None;
        }
        buffer.2.notify_all();
        let taken = join_all(consumers);
        let mut items = taken.concat();
        items.sort_unstable();
        assert!(items.into_iter().eq(0..2 * EACH));
        taken.iter().any(Vec::is_empty)
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Two write a pair, in two steps, and one of them goes on as a reader of what it wrote; two read it. Nobody sees half of it. Reached: both
/// readers inside at a time, and none.
#[test]
fn shuttle_rwlock_lets_in_readers_or_a_writer() {
    use crate::sync::RwLockWriteGuard;
    const EACH: u32 = 2;
    let seen = outcomes(|| {
        let shared = Arc::new((RwLock::new((0, 0)), AtomicU32::new(0)));
        let writers = spawn_each(2, {
            let shared = shared.clone();
            move |number| {
                for _ in 0..EACH {
                    let mut pair = shared.0.write();
                    pair.0 += 1;
                    thread::yield_now();
                    pair.1 += 1;
                    if number == 0 {
                        let written = *pair;
                        let pair = RwLockWriteGuard::downgrade(pair);
                        thread::yield_now();
                        assert_eq!(*pair, written);
                    }
                }
            }
        });
        let readers = spawn_each(2, {
            let shared = shared.clone();
            move |_| {
                let mut most = 0;
                for _ in 0..EACH {
                    let pair = shared.0.read();
                    most = most.max(shared.1.fetch_add(1, Ordering::Relaxed));
                    let first = pair.0;
                    thread::yield_now();
                    assert_eq!((first, first), *pair);
                    shared.1.fetch_sub(1, Ordering::Relaxed);
                }
                most
            }
        });
        join_all(writers);
        let most = join_all(readers).into_iter().max();
        assert_eq!(*shared.0.read(), (2 * EACH, 2 * EACH));
        most
    });
    assert_eq!(seen, HashSet::from([Some(0), Some(1)]));
}

/// Three want one permit of two, twice, and one wants both: never more than two are out, and all come back. Reached: two at a time, and not.
#[test]
fn shuttle_semaphore_gives_out_what_it_has() {
    let seen = outcomes(|| {
        let shared = Arc::new((Semaphore::new(2), AtomicU32::new(0)));
        let threads = spawn_each(4, {
            let shared = shared.clone();
            move |number| {
                let many = if number == 0 { 2 } else { 1 };
                let mut most = 0;
                for _ in 0..2 {
                    let permits = shared.0.acquire_many(many as usize).unwrap();
                    let out = shared.1.fetch_add(many, Ordering::Relaxed) + many;
                    assert!(out <= 2, "{out} out of 2");
                    shared.1.fetch_sub(many, Ordering::Relaxed);
                    drop(permits);
                    most = most.max(if many == 1 { out } else { 0 });
                }
                most
            }
        });
        let most = join_all(threads).into_iter().max();
        assert_eq!(shared.0.available(), 2);
        most
    });
    assert_eq!(seen, HashSet::from([Some(1), Some(2)]));
}

/// Four threads come to a barrier twice: nobody goes on before all have come, and one of them leads. Reached: whoever leads.
#[test]
fn shuttle_barrier_lets_all_on_together() {
    let seen = outcomes(|| {
        let shared = Arc::new((Barrier::new(4), AtomicU32::new(0)));
        let leads = join_all(spawn_each(4, move |_| {
            [1, 2].map(|round| {
                shared.1.fetch_add(1, Ordering::Relaxed);
                let is_leader = shared.0.wait().is_leader();
                assert!(shared.1.load(Ordering::Relaxed) >= 4 * round, "all have come");
                is_leader
            })
        }));
        [0, 1].map(|round| {
            let leaders: Vec<_> = (0..4).filter(|&thread| leads[thread][round]).collect();
            assert_eq!(leaders.len(), 1, "leaders of round {round}");
            leaders[0]
        })
    });
    assert_eq!(seen.len(), 16, "{seen:?}");
}

/// Three wait for an event, which comes when a group of three others has done its work. Reached: the group is done before it is
/// waited for, and not.
#[test]
fn shuttle_event_follows_the_end_of_a_group() {
    let seen = outcomes(|| {
        let shared = Arc::new((Event::new(), AtomicU32::new(0)));
        let group = WaitGroup::new();
        let waiters = spawn_each(3, {
            let shared = shared.clone();
            move |_| {
                shared.0.wait().unwrap();
                assert_eq!(shared.1.load(Ordering::Relaxed), 3, "all is done");
            }
        });
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (shared, group) = (shared.clone(), group.clone());
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    drop(group);
                })
            })
            .collect();
        let was_done = shared.1.load(Ordering::Relaxed) == 3;
        group.wait().unwrap();
        shared.0.set();
        join_all(waiters.into_iter().chain(workers));
        was_done
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Four want a value that the first to come makes, meanwhile waited for by the others: it is made once. Reached: whoever makes it.
#[test]
fn shuttle_once_lock_is_initialised_by_one() {
    let seen = outcomes(|| {
        let shared = Arc::new((OnceLock::new(), AtomicU32::new(0)));
        let values = join_all(spawn_each(4, move |number| {
            *shared.0.get_or_init(|| {
                assert_eq!(shared.1.fetch_add(1, Ordering::Relaxed), 0, "made once");
                thread::yield_now();
                number
            })
        }));
        assert!(values.iter().all(|value| *value == values[0]));
        values[0]
    });
    assert_eq!(seen.len(), 4);
}
