//! Transactions that wait: until what they read has changed, or for the other of two ways.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::{in_fiber_of_each, rounds, until};
use sisal::stm::{self, TVar, atomically, try_atomically};
use sisal::{Cause, sleep, spawn, timeout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn retry_waits_for_a_change_of_what_was_read() {
    everywhere(|place| {
        let shared = Arc::new((TVar::new(0), TVar::new(0), AtomicUsize::new(0)));
        let actors = place.sharing(4, &shared, |(variable, _, runs), _| {
            atomically(|tx| {
                runs.fetch_add(1, Ordering::Relaxed);
                let value = tx.read(variable)?;
                if value < 3 { tx.retry() } else { Ok(value) }
            })
        });
        until(|| shared.2.load(Ordering::Relaxed) >= 4);
        settle();
        // A variable that nobody read wakes nobody.
        let runs = shared.2.load(Ordering::Relaxed);
        (0..10).for_each(|number| shared.1.set(number));
        settle();
        assert_eq!(shared.2.load(Ordering::Relaxed), runs);
        for value in 1..=3 {
            assert!(actors.iter().all(|actor| !actor.is_finished()));
            shared.0.set(value);
            settle();
        }
        assert_eq!(join_all(actors), [3; 4]);
    });
}

#[test]
fn retry_waits_for_any_of_several_variables() {
    everywhere(|place| {
        for last in 0..3 {
            let variables: Arc<[TVar<u32>; 3]> = Arc::new([0; 3].map(TVar::new));
            let actors = place.sharing(2, &variables, |variables, _| {
                atomically(|tx| {
                    for (number, variable) in variables.iter().enumerate() {
                        if tx.read(variable)? > 0 {
                            return Ok(number);
                        }
                    }
                    stm::retry()
                })
            });
            settle();
            variables[last].set(1);
            assert_eq!(join_all(actors), [last; 2]);
        }
    });
}

#[test]
fn a_check_is_a_retry_unless_it_holds() {
    everywhere(|place| {
        let variable = Arc::new(TVar::new(0));
        let actors = place.sharing(3, &variable, |variable, _| {
            atomically(|tx| {
                let value = tx.read(variable)?;
                stm::check(value > 0)?;
                Ok(value)
            })
        });
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        variable.set(7);
        assert_eq!(join_all(actors), [7; 3]);
    });
}

#[test]
fn what_was_written_before_a_retry_vanishes() {
    everywhere(|place| {
        let shared = Arc::new((TVar::new(0), TVar::new(false)));
        let actors = place.sharing(2, &shared, |(value, is_open), _| {
            atomically(|tx| {
                tx.modify(value, |value| value + 1)?;
                let is_open = tx.read(is_open)?;
                stm::check(is_open)
            });
        });
        settle();
        assert_eq!(shared.0.get(), 0);
        shared.1.set(true);
        join_all(actors);
        assert_eq!(shared.0.get(), 2);
    });
}

#[test]
fn a_queue_of_one_hands_over_every_item() {
    everywhere(|place| {
        let slot = Arc::new(TVar::new(None));
        let takers = place.sharing(2, &slot, |slot, _| {
            let take = || {
                atomically(|tx| match tx.read(slot)? {
                    Some(item) => tx.write(slot, None).map(|()| item),
                    None => tx.retry(),
                })
            };
            (0..rounds(500)).map(|_| take()).sum::<usize>()
        });
        let givers = place.sharing(2, &slot, |slot, number| {
            for turn in 0..rounds(500) {
                atomically(|tx| {
                    let is_free = tx.read(slot)?.is_none();
                    stm::check(is_free)?;
                    tx.write(slot, Some(2 * turn + number))
                });
            }
        });
        join_all(givers);
        assert_eq!(join_all(takers).into_iter().sum::<usize>(), (0..2 * rounds(500)).sum());
    });
}

#[test]
fn or_else_takes_the_second_way_when_the_first_would_wait() {
    in_fiber_of_each(|| {
        let (left, right) = (TVar::new(0), TVar::new(0));
        let take = || {
            atomically(|tx| {
                tx.or_else(
                    |tx| {
                        tx.modify(&left, |value| value - 1)?;
                        let value = tx.read(&left)?;
                        stm::check(value >= 0)?;
                        Ok("left")
                    },
                    |tx| {
                        tx.modify(&right, |value| value - 1)?;
                        Ok("right")
                    },
                )
            })
        };
        assert_eq!(take(), "right");
        assert_eq!((left.get(), right.get()), (0, -1), "what the first way wrote has vanished");
        left.set(1);
        assert_eq!(take(), "left");
        assert_eq!((left.get(), right.get()), (0, -1));
    });
}

#[test]
fn or_else_keeps_what_was_written_before_it() {
    in_fiber_of_each(|| {
        let (before, inside) = (TVar::new(0), TVar::new(0));
        let seen = atomically(|tx| {
            tx.write(&before, 1)?;
            tx.or_else(
                |tx| {
                    tx.write(&before, 2)?;
                    tx.write(&inside, 2)?;
                    tx.retry()
                },
                |tx| Ok((tx.read(&before)?, tx.read(&inside)?)),
            )
        });
        assert_eq!((seen, before.get(), inside.get()), ((1, 0), 1, 0));
    });
}

#[test]
fn when_both_ways_would_wait_a_change_of_either_is_waited_for() {
    everywhere(|place| {
        for number in 0..4 {
            let shared = Arc::new([TVar::new(0), TVar::new(0)]);
            let actors = place.sharing(2, &shared, |variables, _| {
                atomically(|tx| {
                    let one = |variable: &TVar<u32>, tx: &mut stm::Transaction| {
                        let value = tx.read(variable)?;
                        stm::check(value > 0)?;
                        Ok(value)
                    };
                    tx.or_else(|tx| one(&variables[0], tx), |tx| one(&variables[1], tx))
                })
            });
            settle();
            assert!(actors.iter().all(|actor| !actor.is_finished()));
            shared[number % 2].set(7);
            assert_eq!(join_all(actors), [7; 2]);
        }
    });
}

#[test]
fn or_else_nests() {
    in_fiber_of_each(|| {
        let variable = TVar::new(0);
        let chosen = atomically(|tx| {
            tx.or_else(
                |tx| {
                    tx.write(&variable, 1)?;
                    tx.or_else(|tx| tx.retry(), |tx| tx.retry())
                },
                |tx| {
                    tx.or_else(
                        |tx| {
                            tx.write(&variable, 2)?;
                            tx.retry()
                        },
                        |tx| tx.read(&variable),
                    )
                },
            )
        });
        assert_eq!((chosen, variable.get()), (0, 0));
    });
}

#[test]
fn a_wait_that_may_be_cancelled_returns_what_ended_it() {
    everywhere(|place| {
        let variable = Arc::new(TVar::new(0));
        let actors = place.sharing(3, &variable, |variable, _| {
            timeout(Duration::from_millis(1), || {
                try_atomically(|tx| {
                    tx.write(variable, 9)?;
                    tx.read(variable)?;
                    tx.retry::<()>()
                })
            })
        });
        for ended in join_all(actors) {
            assert_eq!(ended.unwrap_err().cause, Cause::Deadline);
        }
        assert_eq!(variable.get(), 0);
        assert_eq!(try_atomically(|tx| tx.read(&variable)), Ok(0));
    });
}

#[test]
fn a_waiter_sees_the_last_of_many_changes() {
    everywhere(|place| {
        let variable = Arc::new(TVar::new(0));
        let actors = place.sharing(3, &variable, |variable, _| {
            atomically(|tx| {
                let value = tx.read(variable)?;
                stm::check(value >= rounds(2_000))
            });
        });
        for value in 1..=rounds(2_000) {
            variable.set(value);
        }
        join_all(actors);
    });
}

#[test]
fn many_waiters_of_one_variable_all_wake() {
    in_fiber_of_each(|| {
        let (variable, waiting) = (TVar::new(false), Arc::new(AtomicUsize::new(0)));
        let fibers: Vec<_> = (0..500)
            .map(|_| {
                let (variable, waiting) = (variable.clone(), Arc::clone(&waiting));
                spawn(move || {
                    atomically(|tx| {
                        waiting.fetch_add(1, Ordering::Relaxed);
                        let is_set = tx.read(&variable)?;
                        stm::check(is_set)
                    });
                })
            })
            .collect();
        until(|| waiting.load(Ordering::Relaxed) >= 500);
        sleep(Duration::from_micros(100)).unwrap();
        variable.set(true);
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    });
}
