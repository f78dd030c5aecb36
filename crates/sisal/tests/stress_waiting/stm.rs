//! Storms of transactions: sums are kept, every change is seen, and nobody waits for one that has come.

use crate::common::places::{Place, join_all, mixed};
use crate::common::{in_main_fiber, rounds, with_workers};
use sisal::stm::{self, TVar, atomically, try_atomically};
use sisal::{spawn, timeout, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ACTORS: usize = 8;

/// Gives the storm with 1, 2, 4 and 8 workers, to actors that are fibers and threads in turn.
fn storm<F: Fn(&Place) + Send + Sync>(body: F) {
    with_workers(|workers| mixed(workers, &body));
}

#[test]
fn transfers_that_wait_for_funds_keep_the_sum() {
    storm(|place| {
        let accounts = Arc::new([TVar::new(1), TVar::new(1)]);
        // One half sends one way, the other half back, equally often: whoever waits for funds is sent some.
        let actors = place.sharing(ACTORS, &accounts, |accounts, number| {
            let (from, to) = (&accounts[number % 2], &accounts[(number + 1) % 2]);
            for turn in 0..rounds(2_000) {
                atomically(|tx| {
                    let funds = tx.read(from)?;
                    stm::check(funds > 0)?;
                    tx.write(from, funds - 1)?;
                    tx.modify(to, |funds| funds + 1)
                });
                if turn % 16 == 0 {
                    assert_eq!(atomically(|tx| Ok(tx.read(from)? + tx.read(to)?)), 2);
                }
            }
        });
        join_all(actors);
        assert_eq!((accounts[0].get(), accounts[1].get()), (1, 1));
    });
}

#[test]
fn eight_variables_that_change_together_are_seen_together() {
    storm(|place| {
        let shared = Arc::new(([0u64; 8].map(TVar::new), AtomicBool::new(false)));
        let readers = place.sharing(4, &shared, |(variables, done), number| {
            while !done.load(Ordering::Relaxed) {
                atomically(|tx| {
                    let first = tx.read(&variables[number])?;
                    for variable in variables.iter().rev() {
                        assert_eq!(tx.read(variable)?, first);
                    }
                    Ok(())
                });
                yield_now();
            }
        });
        let writers = place.sharing(2, &shared, |(variables, _), number| {
            for _ in 0..rounds(300) {
                atomically(|tx| {
                    let next = tx.read(&variables[number])? + 1;
                    variables.iter().try_for_each(|variable| tx.write(variable, next))
                });
                yield_now();
            }
        });
        join_all(writers);
        shared.1.store(true, Ordering::Relaxed);
        join_all(readers);
        assert!(shared.0.iter().all(|variable| variable.get() == 2 * rounds(300) as u64));
    });
}

#[test]
fn two_take_turns_and_neither_misses_a_change() {
    storm(|place| {
        let turn = Arc::new(TVar::new(0));
        let players = place.sharing(2, &turn, |turn, number| {
            for _ in 0..rounds(5_000) {
                atomically(|tx| {
                    let now = tx.read(turn)?;
                    stm::check(now % 2 == number)?;
                    tx.write(turn, now + 1)
                });
            }
        });
        join_all(players);
        assert_eq!(turn.get(), 2 * rounds(5_000));
    });
}

#[test]
fn a_set_that_races_a_retry_is_seen() {
    storm(|place| {
        for round in 0..rounds(500) {
            let variable = Arc::new(TVar::new(0));
            let waiters = place.sharing(2, &variable, |variable, _| {
                atomically(|tx| {
                    let value = tx.read(variable)?;
                    stm::check(value == 2)
                });
            });
            (0..round % 3).for_each(|_| yield_now());
            variable.set(1);
            atomically(|tx| tx.modify(&variable, |value| value + 1));
            join_all(waiters);
        }
    });
}

#[test]
fn philosophers_who_take_both_forks_at_once_all_eat() {
    const SEATS: usize = 5;
    storm(|place| {
        let shared = Arc::new(([true; SEATS].map(TVar::new), [0; SEATS].map(TVar::new)));
        let diners = place.sharing(SEATS, &shared, |(forks, meals), seat| {
            let (left, right) = (&forks[seat], &forks[(seat + 1) % SEATS]);
            for _ in 0..rounds(400) {
                atomically(|tx| {
                    let both = tx.read(left)? && tx.read(right)?;
                    stm::check(both)?;
                    tx.write(left, false)?;
                    tx.write(right, false)
                });
                yield_now();
                atomically(|tx| {
                    tx.modify(&meals[seat], |meals| meals + 1)?;
                    tx.write(left, true)?;
                    tx.write(right, true)
                });
            }
        });
        join_all(diners);
        assert!(shared.0.iter().all(TVar::get));
        assert!(shared.1.iter().all(|meals| meals.get() == rounds(400)));
    });
}

#[test]
fn items_taken_from_either_of_two_queues_are_taken_once() {
    storm(|place| {
        let queues = Arc::new([TVar::new(Vec::new()), TVar::new(Vec::new())]);
        let pop = |queue: &TVar<Vec<usize>>, tx: &mut stm::Transaction| {
            let mut items = tx.read(queue)?;
            match items.pop() {
                Some(item) => tx.write(queue, items).map(|()| item),
                None => tx.retry(),
            }
        };
        let takers = place.sharing(4, &queues, move |queues, _| {
            let take = || atomically(|tx| tx.or_else(|tx| pop(&queues[0], tx), |tx| pop(&queues[1], tx)));
            (0..rounds(1_000)).map(|_| take()).sum::<usize>()
        });
        let givers = place.sharing(4, &queues, |queues, number| {
            for turn in 0..rounds(1_000) {
                atomically(|tx| {
                    tx.modify(&queues[turn % 2], |mut items| {
                        items.push(4 * turn + number);
                        items
                    })
                });
                // So that the takers often find nothing.
                if turn % 4 == 0 {
                    yield_now();
                }
            }
        });
        join_all(givers);
        assert_eq!(join_all(takers).into_iter().sum::<usize>(), (0..4 * rounds(1_000)).sum());
        assert!(queues.iter().all(|queue| queue.get().is_empty()));
    });
}

#[test]
fn transactions_that_are_cancelled_have_all_happened_or_not_at_all() {
    storm(|place| {
        let shared = Arc::new((TVar::new(0usize), TVar::new(0usize), TVar::new(0usize)));
        let actors = place.sharing(ACTORS, &shared, |(left, right, permits), number| {
            let mut done = 0;
            for turn in 0..rounds(1_000) {
                let time = Duration::from_micros(((turn * 7 + number * 13) % 60) as u64);
                let result = timeout(time, || {
                    try_atomically(|tx| {
                        tx.modify(left, |value| value + 1)?;
                        let there = tx.read(permits)?;
                        stm::check(there > 0)?;
                        tx.write(permits, there - 1)?;
                        tx.modify(right, |value| value + 1)
                    })
                });
                done += usize::from(result.is_ok());
                if turn % 2 == number % 2 {
                    atomically(|tx| tx.modify(permits, |permits| permits + 1));
                }
            }
            done
        });
        let done: usize = join_all(actors).into_iter().sum();
        assert_eq!((shared.0.get(), shared.1.get()), (done, done));
        assert_eq!(shared.2.get(), ACTORS * rounds(1_000) / 2 - done);
    });
}

#[test]
fn a_thousand_fibers_count_together() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (total, parts) = (TVar::new(0), Arc::new([0; 16].map(TVar::new)));
            let fibers: Vec<_> = (0..1_000)
                .map(|number| {
                    let (total, parts) = (total.clone(), Arc::clone(&parts));
                    spawn(move || {
                        for _ in 0..rounds(100) {
                            atomically(|tx| {
                                tx.modify(&total, |total| total + 1)?;
                                tx.modify(&parts[number % 16], |part| part + 1)
                            });
                        }
                    })
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            let sums = atomically(|tx| {
                let sum = parts.iter().map(|part| tx.read(part)).sum::<Result<usize, _>>()?;
                Ok((tx.read(&total)?, sum))
            });
            assert_eq!(sums, (1_000 * rounds(100), 1_000 * rounds(100)));
        });
    });
}
