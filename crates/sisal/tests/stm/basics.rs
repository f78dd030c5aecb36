//! Transactions: all or nothing, and as if one after the other.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::watchdog::guarded;
use crate::common::{in_fiber_of_each, rounds};
use sisal::stm::{self, StmError, TVar, atomically, atomically_with_error};
use sisal::{spawn, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_variable_has_the_value_it_was_given_last() {
    in_fiber_of_each(|| {
        let variable = TVar::new(String::from("first"));
        let same = variable.clone();
        assert_eq!(variable.get(), "first");
        same.set("second".into());
        assert_eq!(variable.get(), "second");
    });
}

#[test]
fn a_transaction_reads_what_it_wrote() {
    in_fiber_of_each(|| {
        let variable = TVar::new(1);
        let seen = atomically(|tx| {
            let before = tx.read(&variable)?;
            tx.write(&variable, before + 1)?;
            tx.modify(&variable, |value| value * 10)?;
            let after = tx.read(&variable)?;
            Ok((before, after))
        });
        assert_eq!((seen, variable.get()), ((1, 20), 20));
    });
}

#[test]
fn a_write_without_a_read_is_kept() {
    in_fiber_of_each(|| {
        let variable = TVar::new(1);
        atomically(|tx| tx.write(&variable, 2));
        assert_eq!(variable.get(), 2);
    });
}

#[test]
fn without_a_runtime_transactions_work() {
    guarded(|| {
        let (left, right) = (TVar::new(1), TVar::new(2));
        atomically(|tx| {
            let (l, r) = (tx.read(&left)?, tx.read(&right)?);
            tx.write(&left, r)?;
            tx.write(&right, l)
        });
        assert_eq!((left.get(), right.get()), (2, 1));
    });
}

#[test]
fn increments_by_a_crowd_are_all_counted() {
    everywhere(|place| {
        let count = Arc::new(TVar::new(0));
        let actors = place.sharing(6, &count, |count, number| {
            for turn in 0..rounds(1_000) {
                atomically(|tx| {
                    let before = tx.read(count)?;
                    if turn % 50 == number {
                        yield_now();
                    }
                    tx.write(count, before + 1)
                });
            }
        });
        join_all(actors);
        assert_eq!(count.get(), 6 * rounds(1_000));
    });
}

#[test]
fn transfers_between_accounts_keep_the_sum() {
    const ACCOUNTS: usize = 8;
    everywhere(|place| {
        let accounts: Arc<Vec<TVar<i64>>> = Arc::new((0..ACCOUNTS).map(|_| TVar::new(100)).collect());
        let done = Arc::new(AtomicBool::new(false));
        let watcher = {
            let (accounts, done) = (Arc::clone(&accounts), Arc::clone(&done));
            place.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let sum = atomically(|tx| accounts.iter().map(|account| tx.read(account)).sum::<Result<i64, _>>());
                    assert_eq!(sum, 100 * ACCOUNTS as i64);
                    yield_now();
                }
            })
        };
        let actors = place.sharing(4, &accounts, |accounts, number| {
            for turn in 0..rounds(1_000) {
                let (from, to) = ((turn + number) % ACCOUNTS, (turn * 7 + number * 3 + 1) % ACCOUNTS);
                atomically(|tx| {
                    tx.modify(&accounts[from], |balance| balance - 1)?;
                    if turn % 64 == 0 {
                        yield_now();
                    }
                    tx.modify(&accounts[to], |balance| balance + 1)
                });
            }
        });
        join_all(actors);
        done.store(true, Ordering::Relaxed);
        watcher.join();
        assert_eq!(accounts.iter().map(TVar::get).sum::<i64>(), 100 * ACCOUNTS as i64);
    });
}

#[test]
fn a_transaction_never_sees_two_variables_apart_even_if_it_is_to_be_run_again() {
    everywhere(|place| {
        let shared = Arc::new((TVar::new(0u64), TVar::new(0u64), AtomicBool::new(false)));
        let readers = place.sharing(3, &shared, |(left, right, done), _| {
            while !done.load(Ordering::Relaxed) {
                atomically(|tx| {
                    let left = tx.read(left)?;
                    yield_now();
                    let right = tx.read(right)?;
                    // Inside: also of a run whose result is thrown away.
                    assert_eq!(left, right);
                    Ok(())
                });
            }
        });
        let writers = place.sharing(2, &shared, |(left, right, _), _| {
            for _ in 0..rounds(500) {
                atomically(|tx| {
                    let next = tx.read(left)? + 1;
                    tx.write(left, next)?;
                    tx.write(right, next)
                });
                yield_now();
            }
        });
        join_all(writers);
        shared.2.store(true, Ordering::Relaxed);
        join_all(readers);
        assert_eq!(shared.0.get(), 2 * rounds(500) as u64);
    });
}

#[test]
fn a_value_read_twice_is_the_same_whatever_others_do_meanwhile() {
    in_fiber_of_each(|| {
        let variable = TVar::new(0);
        let runs = Cell::new(0);
        let (first, second) = atomically(|tx| {
            runs.set(runs.get() + 1);
            let first = tx.read(&variable)?;
            if runs.get() == 1 {
                let other = variable.clone();
                spawn(move || other.set(7)).join().unwrap();
            }
            Ok((first, tx.read(&variable)?))
        });
        assert_eq!(first, second);
    });
}

#[test]
fn of_two_that_read_what_the_other_writes_one_sees_the_other() {
    everywhere(|place| {
        for _ in 0..rounds(200) {
            // If each could act on the state before the other, both would go.
            let shared = Arc::new((TVar::new(true), TVar::new(true)));
            let actors = place.sharing(2, &shared, |(left, right), number| {
                atomically(|tx| {
                    let both = tx.read(left)? && tx.read(right)?;
                    if both {
                        tx.write(if number == 0 { left } else { right }, false)?;
                    }
                    Ok(both)
                })
            });
            assert_eq!(join_all(actors).into_iter().filter(|went| *went).count(), 1);
            assert!(shared.0.get() != shared.1.get());
        }
    });
}

#[test]
fn an_abort_returns_its_error_and_leaves_no_trace() {
    in_fiber_of_each(|| {
        let (from, to) = (TVar::new(10), TVar::new(0));
        let transfer = |amount| {
            atomically_with_error(|tx| {
                tx.modify(&to, |balance| balance + amount)?;
                tx.modify(&from, |balance| balance - amount)?;
                let left: i32 = tx.read(&from)?;
                if left < 0 { tx.abort(format!("{} too much", -left)) } else { Ok(left) }
            })
        };
        assert_eq!(transfer(15), Err(String::from("5 too much")));
        assert_eq!((from.get(), to.get()), (10, 0));
        assert_eq!(transfer(7), Ok(3));
        assert_eq!((from.get(), to.get()), (3, 7));
    });
}

#[test]
fn a_transaction_with_errors_waits_like_any_other() {
    everywhere(|place| {
        let variable = Arc::new(TVar::new(0));
        let actors = place.sharing(3, &variable, |variable, _| {
            atomically_with_error(|tx| -> Result<i32, StmError<&str>> {
                let value = tx.read(variable)?;
                stm::check(value != 0)?;
                if value < 0 { tx.abort("negative") } else { Ok(value) }
            })
        });
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        variable.set(-1);
        assert_eq!(join_all(actors), [Err("negative"); 3]);
    });
}

#[test]
fn a_panic_inside_leaves_no_trace() {
    everywhere(|place| {
        let variable = Arc::new(TVar::new(1));
        let actors = place.sharing(3, &variable, |variable, _| {
            atomically(|tx| {
                tx.write(variable, 2)?;
                yield_now();
                if std::hint::black_box(true) {
                    panic!("on purpose: in a transaction");
                }
                Ok(())
            });
        });
        assert!(actors.into_iter().all(|actor| actor.end().is_err()));
        assert_eq!(variable.get(), 1);
        atomically(|tx| tx.modify(&variable, |value| value + 1));
        assert_eq!(variable.get(), 2);
    });
}

#[test]
fn a_transaction_within_a_transaction_panics_and_says_so() {
    in_fiber_of_each(|| {
        let variable = TVar::new(1);
        let nested = catch_unwind(AssertUnwindSafe(|| {
            atomically(|tx| {
                tx.write(&variable, 2)?;
                Ok(atomically(|tx| tx.read(&variable)))
            })
        }));
        let payload = nested.unwrap_err();
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or(payload.downcast_ref::<String>().cloned()).unwrap();
        assert!(text.contains("atomically") || text.contains("transaction"), "{text}");
        assert_eq!(variable.get(), 1);
        // And afterwards all is well.
        atomically(|tx| tx.write(&variable, 3));
        assert_eq!(variable.get(), 3);
    });
}

#[test]
fn a_neighbour_on_the_worker_may_have_a_transaction_meanwhile() {
    in_fiber_of_each(|| {
        let variable = TVar::new(0);
        let runs = Cell::new(0);
        let (mine, other) = (TVar::new(0), variable.clone());
        atomically(|tx| {
            runs.set(runs.get() + 1);
            if runs.get() == 1 {
                let other = other.clone();
                // Of another fiber, so it is not a transaction within this one.
                sisal::spawn_local(move || atomically(|tx| tx.write(&other, 5))).join().unwrap();
            }
            tx.write(&mine, 1)
        });
        assert_eq!((variable.get(), mine.get()), (5, 1));
    });
}

#[test]
fn old_values_are_dropped() {
    in_fiber_of_each(|| {
        let alive = Arc::new(());
        let variable = TVar::new(Arc::clone(&alive));
        for _ in 0..100 {
            atomically(|tx| tx.write(&variable, Arc::clone(&alive)));
            variable.set(Arc::clone(&alive));
        }
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(variable);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}
