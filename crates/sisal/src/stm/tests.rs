//! What the models can't show: values with destructors, panics, fibers and threads together, long transactions among short ones.

use super::*;
use crate::{Cause, run, spawn, timeout, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap()
}

#[test]
fn branches_that_wait_are_undone_in_layers() {
    let (a, b) = (TVar::new(0), TVar::new(0));
    let seen = atomically(|tx| {
        tx.write(&a, 1)?;
        tx.or_else(
            |tx| {
                tx.write(&a, 2)?;
                tx.or_else(
                    |tx| {
                        tx.write(&a, 3)?;
                        tx.write(&b, 3)?;
                        tx.retry()
                    },
                    |tx| tx.write(&b, 4),
                )?;
                assert_eq!((tx.read(&a)?, tx.read(&b)?), (2, 4));
                tx.retry::<()>()
            },
            |_| Ok(()),
        )?;
        Ok((tx.read(&a)?, tx.read(&b)?))
    });
    assert_eq!(seen, (1, 0));
    assert_eq!((a.get(), b.get()), (1, 0));
}

#[test]
fn a_branch_that_succeeds_is_undone_with_the_one_around_it() {
    let a = TVar::new(0);
    atomically(|tx| {
        tx.or_else(
            |tx| {
                tx.or_else(|tx| tx.write(&a, 1), |_| Ok(()))?;
                tx.retry()
            },
            |_| Ok(()),
        )
    });
    assert_eq!(a.get(), 0);
}

#[test]
fn whoever_waits_in_two_branches_wakes_for_either() {
    for number in 0..2 {
        run(|| {
            let slots = [TVar::new(0), TVar::new(0)];
            let waiter = spawn({
                let slots = slots.clone();
                move || {
                    let take = |tx: &mut Transaction, slot: &TVar<i32>| {
                        let value = tx.read(slot)?;
                        check(value != 0)?;
                        Ok(value)
                    };
                    atomically(|tx| tx.or_else(|tx| take(tx, &slots[0]), |tx| take(tx, &slots[1])))
                }
            });
            (0..10).for_each(|_| yield_now());
            slots[number].set(7);
            assert_eq!(waiter.join().unwrap(), 7);
        });
    }
}

#[test]
fn a_panic_leaves_no_trace() {
    let a = TVar::new(1);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        atomically(|tx| -> Result<(), Stm> {
            tx.write(&a, 2)?;
            panic!("on purpose")
        })
    }));
    assert_eq!(message(panic.unwrap_err()), "on purpose");
    assert_eq!(a.get(), 1);
    atomically(|tx| tx.write(&a, 3));
    assert_eq!(a.get(), 3);
}

#[test]
fn transactions_do_not_nest() {
    let a = TVar::new(1);
    let nested: [&dyn Fn(); 4] = [
        &|| atomically(|_| Ok(())),
        &|| try_atomically(|_| Ok(())).unwrap(),
        &|| atomically_with_error(|_| Ok::<(), StmError<()>>(())).unwrap(),
        &|| a.set(2),
    ];
    let refused = |nested: &dyn Fn()| {
        let transaction = || {
            atomically(|_| {
                nested();
                Ok(())
            })
        };
        let panic = catch_unwind(AssertUnwindSafe(transaction));
        assert!(message(panic.unwrap_err()).contains("inside a transaction"));
    };
    nested.iter().for_each(|nested| refused(nested));
    run(|| nested.iter().for_each(|nested| refused(nested)));
    assert_eq!(a.get(), 1);
}

#[test]
fn another_fiber_that_runs_meanwhile_is_not_inside() {
    crate::RuntimeBuilder::default()
        .workers(1)
        .max_workers(1)
        .run(|| {
            let a = TVar::new(0);
            let other = {
                let a = a.clone();
                crate::spawn_local(move || atomically(|tx| tx.write(&a, 1)))
            };
            atomically(|_| {
                while !other.is_finished() {
                    yield_now();
                }
                Ok(())
            });
            assert_eq!(a.get(), 1);
        })
        .unwrap();
}

#[test]
fn what_a_run_with_a_conflict_returns_is_thrown_away() {
    let (a, b) = (TVar::new(0), TVar::new(0));
    let mut runs = 0;
    let value = atomically(|tx| {
        runs += 1;
        tx.read(&a)?;
        if runs == 1 {
            thread::scope(|scope| {
                scope.spawn(|| [&a, &b].map(|variable| variable.set(1)));
            });
            // The conflict is hushed up.
            assert!(tx.read(&b).is_err());
            assert!(tx.read(&a).is_err());
            assert!(tx.write(&a, 9).is_err());
        }
        Ok(runs)
    });
    assert_eq!((value, a.get()), (2, 1));
}

#[test]
fn a_transaction_that_has_read_nothing_does_not_wait_for_ever() {
    let panic = catch_unwind(|| atomically(|tx| tx.retry::<()>())).unwrap_err();
    assert!(message(panic).contains("for ever"));
    let wait = || timeout(Duration::from_millis(1), || try_atomically(|tx| tx.retry::<()>()));
    assert_eq!(wait().unwrap_err().cause, Cause::Deadline);
    assert_eq!(run(wait).unwrap_err().cause, Cause::Deadline);
}

#[test]
fn a_cancelled_wait_leaves_no_waiter_behind() {
    let variables = [TVar::new(0), TVar::new(0)];
    let wait = || {
        timeout(Duration::from_millis(1), || {
            try_atomically(|tx| check(tx.read(&variables[0])? + tx.read(&variables[1])? > 0))
        })
    };
    assert!(wait().is_err());
    assert!(run(wait).is_err());
    variables.iter().for_each(|variable| variable.set(1));
    assert!(wait().is_ok());
}

/// Uses the variable that it was the value of, when it is dropped.
#[derive(Clone)]
struct Nosy(Option<(TVar<Option<Nosy>>, TVar<usize>)>);

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some((variable, drops)) = self.0.take() {
            let is_there = variable.get().map(|mut nosy| nosy.0.take()).is_some();
            atomically(|tx| tx.modify(&drops, |n| n + 1 + usize::from(is_there)));
        }
    }
}

#[test]
fn values_are_dropped_with_nothing_held() {
    let (variable, drops) = (TVar::new(None), TVar::new(0));
    variable.set(Some(Nosy(Some((variable.clone(), drops.clone())))));
    variable.set(None);
    assert_eq!(drops.get(), 1);
}

#[test]
fn the_turn_lets_destructors_of_its_holder_pass() {
    /// Writes to a variable when it is dropped.
    struct Writes(TVar<usize>);
    impl Drop for Writes {
        fn drop(&mut self) {
            atomically(|tx| tx.modify(&self.0, |n| n + 1));
        }
    }
    let (contended, drops) = (TVar::new(0), TVar::new(0));
    let mut conflicts = super::gate::PATIENCE + 3;
    let _result = atomically(|tx| {
        tx.modify(&contended, |n| n + 1)?;
        if conflicts > 0 {
            conflicts -= 1;
            // As one who passed the gate before it closed.
            let mut other = Transaction::new();
            other.write(&contended, 0)?;
            assert!(other.commit());
        }
        Ok(Writes(drops.clone()))
    });
    assert_eq!(contended.get(), 1);
    assert_eq!(drops.get(), super::gate::PATIENCE as usize + 3);
}

/// Money goes around between accounts, in fibers and threads; whoever sums it up, finds it all.
#[test]
fn sums_are_right_in_every_run() {
    const ACCOUNTS: usize = 8;
    const TRANSFERS: usize = 3_000;
    let accounts: Arc<[TVar<i64>]> = (0..ACCOUNTS).map(|_| TVar::new(100)).collect();
    let sum = |tx: &mut Transaction, accounts: &[TVar<i64>]| -> Result<i64, Stm> {
        let sum = accounts.iter().try_fold(0, |sum, account| Ok::<_, Stm>(sum + tx.read(account)?))?;
        assert_eq!(sum, 100 * ACCOUNTS as i64, "also in a run that is thrown away");
        Ok(sum)
    };
    let transfer = move |accounts: &[TVar<i64>], seed: usize| {
        let mut random = fastrand::Rng::with_seed(seed as u64);
        for round in 0..TRANSFERS {
            let (from, to) = (random.usize(0..ACCOUNTS), random.usize(0..ACCOUNTS));
            let amount = random.i64(0..50);
            atomically(|tx| {
                let balance = tx.read(&accounts[from])?;
                let moved = amount.min(balance);
                tx.write(&accounts[from], balance - moved)?;
                tx.modify(&accounts[to], |balance| balance + moved)
            });
            if round % 16 == 0 {
                atomically(|tx| sum(tx, accounts));
            }
        }
    };
    thread::scope(|scope| {
        for seed in 0..2 {
            let accounts = &accounts;
            scope.spawn(move || transfer(accounts, seed));
        }
        run(|| {
            let fibers: Vec<_> = (2..6)
                .map(|seed| {
                    let accounts = Arc::clone(&accounts);
                    spawn(move || transfer(&accounts, seed))
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        });
    });
    assert_eq!(atomically(|tx| sum(tx, &accounts)), 100 * ACCOUNTS as i64);
}

/// A transaction that takes a millisecond, among others that change what it reads all the time.
#[test]
fn a_long_transaction_gets_through() {
    let counters: Arc<[TVar<u64>]> = (0..4).map(|_| TVar::new(0)).collect();
    let (stop, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..2 {
            let (counters, stop) = (&counters, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    atomically(|tx| tx.modify(&counters[number], |n| n + 1));
                }
            });
        }
        for _ in 0..5 {
            atomically(|tx| {
                runs.fetch_add(1, Ordering::Relaxed);
                let sum = counters.iter().try_fold(0, |sum, counter| {
                    thread::sleep(Duration::from_micros(250));
                    Ok::<_, Stm>(sum + tx.read(counter)?)
                })?;
                tx.write(&counters[3], sum)
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(runs.load(Ordering::Relaxed) <= 5 * (super::gate::PATIENCE as usize + 8), "{runs:?}");
}

/// Two fibers pass a value to and fro, each waiting for the other.
#[test]
fn waits_end_when_others_commit() {
    let ball = TVar::new(0);
    run(|| {
        let players: Vec<_> = (0..2)
            .map(|player| {
                let ball = ball.clone();
                spawn(move || {
                    for _ in 0..2_000 {
                        atomically(|tx| {
                            let turn = tx.read(&ball)?;
                            check(turn % 2 == player)?;
                            tx.write(&ball, turn + 1)
                        });
                    }
                })
            })
            .collect();
        players.into_iter().for_each(|player| player.join().unwrap());
    });
    assert_eq!(ball.get(), 4_000);
}

/// Fibers and threads wait for any of many variables, which change while they link themselves to them.
#[test]
fn waits_for_many_variables_end_once() {
    const VARIABLES: usize = 16;
    const ROUNDS: u64 = 300;
    let variables: Arc<[TVar<u64>]> = (0..VARIABLES).map(|_| TVar::new(0)).collect();
    let wait = |variables: &[TVar<u64>]| {
        let mut seen = 0;
        while seen < ROUNDS * VARIABLES as u64 {
            seen = atomically(|tx| {
                let sum = variables.iter().try_fold(0, |sum, variable| Ok::<_, Stm>(sum + tx.read(variable)?))?;
                check(sum > seen).map(|()| sum)
            });
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| wait(&variables));
        run(|| {
            let waiters: Vec<_> = (0..4)
                .map(|_| {
                    let variables = Arc::clone(&variables);
                    spawn(move || wait(&variables))
                })
                .collect();
            for _ in 0..ROUNDS {
                for variable in variables.iter().rev() {
                    atomically(|tx| tx.modify(variable, |n| n + 1));
                }
                yield_now();
            }
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        });
    });
}
