//! Storms on every lock: nobody comes in who should not, nobody is forgotten, and nothing is lost to those who give up.
//!
//! There are no deadlines but those that are the point, so that a lost wake hangs.

use crate::common::places::{Actor, Place, join_all, mixed};
use crate::common::{LONG, in_background, rounds, until, with_workers};
use sisal::chan::bounded;
use sisal::sync::{Barrier, Condvar, Event, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Semaphore, WaitGroup};
use sisal::{CancelToken, spawn, timeout, yield_now};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const ACTORS: usize = 16;

/// Gives the storm with 1, 2, 4 and 8 workers, to actors that are fibers and threads in turn.
fn storm<F: Fn(&Place) + Send + Sync>(body: F) {
    with_workers(|workers| mixed(workers, &body));
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn of(actor: usize) -> Numbers {
        Numbers((actor as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn micros(&mut self, limit: u64) -> Duration {
        Duration::from_micros(self.below(limit))
    }
}

#[test]
fn a_mutex_lets_one_in_at_a_time() {
    storm(|place| {
        let shared = Arc::new((Mutex::new(0usize), AtomicUsize::new(0)));
        let actors = place.sharing(ACTORS, &shared, |(mutex, inside), number| {
            let mut numbers = Numbers::of(number);
            let mut got = 0;
            for _ in 0..rounds(3_000) {
                let guard = match numbers.below(4) {
                    0 => mutex.try_lock(),
                    1 => mutex.lock_timeout(numbers.micros(50)),
                    _ => Some(mutex.lock()),
                };
                let Some(mut count) = guard else { continue };
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                if numbers.below(16) == 0 {
                    yield_now();
                }
                *count += 1;
                got += 1;
                inside.fetch_sub(1, Ordering::Relaxed);
            }
            got
        });
        let got: usize = join_all(actors).into_iter().sum();
        assert_eq!(*shared.0.lock(), got);
    });
}

#[test]
fn a_mutex_is_handed_over_round_a_ring_of_those_who_wait_long() {
    storm(|place| {
        // Each holds it across a yield, so that all others are parked and past their patience.
        let shared = Arc::new(Mutex::new(0));
        let actors = place.sharing(ACTORS, &shared, |mutex, _| {
            for _ in 0..rounds(300) {
                let mut count = mutex.lock();
                yield_now();
                *count += 1;
            }
        });
        join_all(actors);
        assert_eq!(*shared.lock(), ACTORS * rounds(300));
    });
}

/// What fibers, which wait inside, and threads contend for.
#[derive(Default)]
struct Room {
    count: Mutex<usize>,
    fiber_is_inside: AtomicBool,
    threads_at_the_door: AtomicUsize,
    turns_of_threads: AtomicUsize,
}

impl Room {
    fn is_contended(&self) -> bool {
        self.threads_at_the_door.load(Ordering::Relaxed) > 0
    }
}

/// So that they meet: a fiber's turn ends only when a thread is at the door, as long as there are threads. Every other turn of a thread
/// begins when a fiber is inside, and every other one of a fiber when a thread has been inside since its last, or none is at the door.
#[test]
fn a_mutex_held_by_a_fiber_while_it_parks_is_had_by_threads_and_fibers_in_turn() {
    const FIBERS: usize = 4;
    const THREADS: usize = 4;
    with_workers(|workers| {
        in_background(workers, || {
            let (feed, food) = bounded(0);
            let room = Arc::new(Room::default());
            let thread = |_| {
                let room = Arc::clone(&room);
                Actor::Thread(thread::spawn(move || {
                    for round in 0..rounds(1_000) {
                        until(|| round % 2 == 0 || room.fiber_is_inside.load(Ordering::Relaxed));
                        room.threads_at_the_door.fetch_add(1, Ordering::Relaxed);
                        let mut count = room.count.lock();
                        room.threads_at_the_door.fetch_sub(1, Ordering::Relaxed);
                        room.turns_of_threads.fetch_add(1, Ordering::Relaxed);
                        *count += 1;
                    }
                }))
            };
            let fiber = |_| {
                let (room, food) = (Arc::clone(&room), food.clone());
                Actor::Fiber(spawn(move || {
                    let turns_of_threads = || room.turns_of_threads.load(Ordering::Relaxed);
                    let mut seen = 0;
                    for round in 0..rounds(1_000) {
                        until(|| round % 2 == 0 || turns_of_threads() != seen || !room.is_contended());
                        let mut count = room.count.lock();
                        room.fiber_is_inside.store(true, Ordering::Relaxed);
                        let before = *count;
                        food.recv().unwrap();
                        // What another has added meanwhile is lost.
                        *count = before + 1;
                        room.fiber_is_inside.store(false, Ordering::Relaxed);
                        seen = turns_of_threads();
                    }
                }))
            };
            let threads: Vec<_> = (0..THREADS).map(thread).collect();
            let fibers: Vec<_> = (0..FIBERS).map(fiber).collect();
            for _ in 0..FIBERS * rounds(1_000) {
                until(|| room.is_contended() || threads.iter().all(Actor::is_finished));
                // Only one who waits for it can be given anything.
                until(|| feed.try_send(()).is_ok());
            }
            join_all(fibers);
            // No thread has to wait for a fiber any more.
            room.fiber_is_inside.store(true, Ordering::Relaxed);
            join_all(threads);
            assert_eq!(*room.count.lock(), (FIBERS + THREADS) * rounds(1_000));
        });
    });
}

#[test]
fn those_who_give_up_on_a_mutex_race_those_who_hand_it_over() {
    storm(|place| {
        let shared = Arc::new(Mutex::new(0));
        let actors = place.sharing(ACTORS, &shared, |mutex, number| {
            let mut numbers = Numbers::of(number);
            let mut got = 0;
            for _ in 0..rounds(500) {
                // About as long as it is held.
                let Some(mut count) = mutex.lock_timeout(numbers.micros(2_000)) else { continue };
                sisal::sleep(Duration::from_micros(20)).unwrap();
                *count += 1;
                got += 1;
            }
            got
        });
        let got: usize = join_all(actors).into_iter().sum();
        assert_eq!(*shared.try_lock().expect("it is free"), got);
    });
}

#[test]
fn a_rwlock_lets_readers_in_together_and_writers_alone() {
    storm(|place| {
        let shared = Arc::new((RwLock::new(0usize), AtomicUsize::new(0), AtomicUsize::new(0)));
        let actors = place.sharing(ACTORS, &shared, |(lock, readers, writers), number| {
            let mut numbers = Numbers::of(number);
            let mut wrote = 0;
            let read = |give_way: bool| {
                readers.fetch_add(1, Ordering::Relaxed);
                assert_eq!(writers.load(Ordering::Relaxed), 0);
                if give_way {
                    yield_now();
                }
                assert_eq!(writers.load(Ordering::Relaxed), 0);
                readers.fetch_sub(1, Ordering::Relaxed);
            };
            for _ in 0..rounds(2_000) {
                let give_way = numbers.below(16) == 0;
                match numbers.below(8) {
                    0 => lock.try_read().into_iter().for_each(|_guard| read(give_way)),
                    1..=4 => {
                        let _guard = lock.read();
                        read(give_way);
                    }
                    choice => {
                        let guard = if choice == 5 { lock.try_write() } else { Some(lock.write()) };
                        let Some(mut value) = guard else { continue };
                        assert_eq!(writers.fetch_add(1, Ordering::Relaxed), 0);
                        assert_eq!(readers.load(Ordering::Relaxed), 0);
                        if give_way {
                            yield_now();
                        }
                        *value += 1;
                        wrote += 1;
                        writers.fetch_sub(1, Ordering::Relaxed);
                        if choice == 7 {
                            let _guard = RwLockWriteGuard::downgrade(value);
                            read(give_way);
                        }
                    }
                }
            }
            wrote
        });
        let wrote: usize = join_all(actors).into_iter().sum();
        assert_eq!(*shared.0.read(), wrote);
    });
}

#[test]
fn pairs_take_turns_through_condvars() {
    storm(|place| {
        let tables: Arc<Vec<_>> = Arc::new((0..ACTORS / 2).map(|_| (Mutex::new(0), Condvar::new())).collect());
        let actors = place.sharing(ACTORS, &tables, |tables, number| {
            let (turn, changed) = &tables[number / 2];
            for _ in 0..rounds(2_000) {
                let mut turn = turn.lock();
                changed.wait_while(&mut turn, |turn| *turn % 2 != number % 2).unwrap();
                *turn += 1;
                changed.notify_one();
            }
        });
        join_all(actors);
        assert!(tables.iter().all(|(turn, _)| *turn.lock() == 2 * rounds(2_000)));
    });
}

#[test]
fn a_notification_goes_to_one_who_waits_on_when_another_gives_up() {
    storm(|place| {
        for round in 0..rounds(1_000) {
            let shared = Arc::new((Mutex::new(0), Condvar::new(), CancelToken::new()));
            // Gives up at about the moment of the notification, by its own time or by the token; takes what it was woken for.
            let impatient = place.sharing(2, &shared, move |(items, filled, token), number| {
                let mut numbers = Numbers::of(round * 2 + number);
                let mut items = items.lock();
                let is_there = if number == 0 {
                    let time = numbers.micros(60);
                    !filled.wait_timeout_while(&mut items, time, |items| *items == 0).unwrap().timed_out()
                } else {
                    token.run(|| filled.wait_while(&mut items, |items| *items == 0)).is_ok()
                };
                *items -= usize::from(is_there);
                usize::from(is_there)
            });
            let patient = place.sharing(1, &shared, |(items, filled, _), _| {
                let mut items = items.lock();
                filled.wait_while(&mut items, |items| *items == 0).unwrap();
                *items -= 1;
            });
            (0..round % 4).for_each(|_| yield_now());
            let put = || {
                *shared.0.lock() += 1;
                shared.1.notify_one();
            };
            put();
            shared.2.cancel();
            // Each that took one is made up for. If a wake went to one that had left, the patient one hangs.
            (0..join_all(impatient).into_iter().sum::<usize>()).for_each(|_| put());
            join_all(patient);
            assert_eq!(*shared.0.lock(), 0);
        }
    });
}

#[test]
fn notify_all_forgets_nobody() {
    storm(|place| {
        let shared = Arc::new((Mutex::new((0, 0)), Condvar::new()));
        // A barrier made of a condvar.
        let actors = place.sharing(ACTORS, &shared, |(state, changed), _| {
            for _ in 0..rounds(500) {
                let mut state = state.lock();
                state.0 += 1;
                if state.0 == ACTORS {
                    *state = (0, state.1 + 1);
                    changed.notify_all();
                } else {
                    let round = state.1;
                    changed.wait_while(&mut state, |state| state.1 == round).unwrap();
                }
            }
        });
        join_all(actors);
        assert_eq!(*shared.0.lock(), (0, rounds(500)));
    });
}

#[test]
fn a_semaphore_never_gives_more_than_it_has_and_loses_none_to_those_who_leave() {
    const PERMITS: usize = 5;
    storm(|place| {
        let shared = Arc::new((Semaphore::new(PERMITS), AtomicUsize::new(0)));
        let actors = place.sharing(ACTORS, &shared, |(semaphore, out), number| {
            let mut numbers = Numbers::of(number);
            for _ in 0..rounds(1_000) {
                let count = 1 + numbers.below(PERMITS as u64) as usize;
                let time = numbers.micros(60);
                let (permit, count) = match numbers.below(6) {
                    0 => (semaphore.try_acquire(), 1),
                    1 => (semaphore.acquire_timeout(time).ok(), 1),
                    2 => (timeout(time, || semaphore.acquire().ok()), 1),
                    3 => (timeout(time, || semaphore.acquire_many(count as _).ok()), count),
                    4 => (semaphore.acquire_many(count as _).ok(), count),
                    _ => (semaphore.acquire().ok(), 1),
                };
                let Some(permit) = permit else { continue };
                assert!(out.fetch_add(count, Ordering::Relaxed) + count <= PERMITS);
                if numbers.below(8) == 0 {
                    yield_now();
                }
                out.fetch_sub(count, Ordering::Relaxed);
                drop(permit);
            }
        });
        join_all(actors);
        assert_eq!(shared.0.available(), PERMITS);
    });
}

#[test]
fn permits_granted_to_one_who_is_being_cancelled_are_not_lost() {
    storm(|place| {
        let semaphore = Arc::new(Semaphore::new(0));
        for round in 0..rounds(2_000) {
            let token = CancelToken::new();
            let started = Arc::new(AtomicUsize::new(0));
            let waiter: Actor<bool> = {
                let (semaphore, token, started) = (Arc::clone(&semaphore), token.clone(), Arc::clone(&started));
                place.spawn(move || {
                    started.store(1, Ordering::Relaxed);
                    token.run(|| semaphore.acquire().map(drop).is_ok())
                })
            };
            until(|| started.load(Ordering::Relaxed) == 1);
            (0..round % 3).for_each(|_| yield_now());
            if round % 2 == 0 {
                token.cancel();
                semaphore.add_permits(1);
            } else {
                semaphore.add_permits(1);
                token.cancel();
            }
            waiter.join();
            // Given back or never taken: it is here.
            semaphore.try_acquire().expect("one permit").forget();
            assert_eq!(semaphore.available(), 0);
        }
    });
}

#[test]
fn barriers_keep_all_in_step() {
    storm(|place| {
        let shared = Arc::new((Barrier::new(ACTORS), AtomicUsize::new(0)));
        let actors = place.sharing(ACTORS, &shared, |(barrier, steps), _| {
            let mut led = 0;
            for round in 1..=rounds(500) {
                steps.fetch_add(1, Ordering::Relaxed);
                led += usize::from(barrier.wait().is_leader());
                assert_eq!(steps.load(Ordering::Relaxed), ACTORS * round);
                barrier.wait();
            }
            led
        });
        assert_eq!(join_all(actors).into_iter().sum::<usize>(), rounds(500));
    });
}

/// A place that is written once, by whoever is chosen.
struct Slot(UnsafeCell<usize>);

// SAFETY: written only inside of a `Once`, read only after it.
#[allow(unsafe_code, reason = "what a Once is for")]
unsafe impl Sync for Slot {}

#[test]
#[allow(unsafe_code, reason = "what a Once is for")]
fn what_is_made_once_is_made_once_and_seen_by_all() {
    storm(|place| {
        for _ in 0..rounds(500) {
            let shared = Arc::new((Once::new(), Slot(UnsafeCell::new(0)), OnceLock::new()));
            let actors = place.sharing(4, &shared, |(once, slot, cell), number| {
                once.call_once(|| {
                    if number % 2 == 0 {
                        yield_now();
                    }
                    // SAFETY: nobody else is here, and nobody reads before it has ended.
                    unsafe { *slot.0.get() += number + 1 };
                });
                // SAFETY: the one writer has ended.
                let seen = unsafe { *slot.0.get() };
                (seen, *cell.get_or_init(|| number))
            });
            let seen = join_all(actors);
            assert!(seen[0].0 > 0 && seen.iter().all(|other| *other == seen[0]), "{seen:?}");
        }
    });
}

#[test]
fn events_wake_all_round_after_round() {
    storm(|place| {
        let shared = Arc::new((0..rounds(1_000)).map(|_| Event::new()).collect::<Vec<_>>());
        // Each event is set by one of them, when it comes by.
        let actors = place.sharing(8, &shared, |events, number| {
            for (round, event) in events.iter().enumerate() {
                if round % 8 == number {
                    event.set();
                }
                event.wait().unwrap();
            }
        });
        join_all(actors);
        assert!(shared.iter().all(Event::is_set));
    });
}

#[test]
fn an_event_that_is_set_while_waiters_give_up_wakes_those_who_do_not() {
    storm(|place| {
        for round in 0..rounds(1_000) {
            let event = Arc::new(Event::new());
            let waiters = place.sharing(4, &event, move |event, number| {
                let time = Numbers::of(round * 4 + number).micros(60);
                match number % 2 {
                    0 => event.wait().is_ok(),
                    _ => event.wait_timeout(time).is_ok() || timeout(LONG, || event.wait()).is_ok(),
                }
            });
            (0..round % 4).for_each(|_| yield_now());
            event.set();
            assert!(join_all(waiters).into_iter().all(|woken| woken));
        }
    });
}

#[test]
fn wait_groups_end_when_the_last_is_gone() {
    storm(|place| {
        for _ in 0..rounds(500) {
            let (group, done) = (WaitGroup::new(), Arc::new(AtomicUsize::new(0)));
            let workers = place.crowd(4, |number| {
                let (group, done) = (group.clone(), Arc::clone(&done));
                move || {
                    if number % 2 == 0 {
                        yield_now();
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                    drop(group);
                }
            });
            let waiters = place.crowd(2, |_| {
                let (group, done) = (group.clone(), Arc::clone(&done));
                move || {
                    group.wait().unwrap();
                    done.load(Ordering::Relaxed)
                }
            });
            group.wait().unwrap();
            assert_eq!(join_all(waiters), [4; 2]);
            join_all(workers);
        }
    });
}
