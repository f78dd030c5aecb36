//! Models of transactions against each other. The variables of a model are put in the order of their addresses, so that its runs are
//! alike.

use super::atomically::run;
use super::error::{StmError, check};
use super::gate::{Gate, PATIENCE};
use super::transaction::Transaction;
use super::var::TVar;
use crate::prim::atomic::{AtomicU32, Ordering};
use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::sync::{Arc, Mutex};

type Result<R> = std::result::Result<R, StmError<Infallible>>;

/// Runs a transaction; returns what it returns, and how many runs that took.
fn atomically<R>(patience: u32, mut body: impl FnMut(&mut Transaction) -> Result<R>) -> (R, u32) {
    let mut runs = 0;
    let counted = |tx: &mut Transaction| {
        runs += 1;
        body(tx)
    };
    let Ok(value) = run(counted, false, patience, Location::caller()).unwrap();
    (value, runs)
}

/// Two variables that are 0, the one with the lower address first.
fn two_variables() -> [TVar<u32>; 2] {
    let mut variables = [TVar::new(0), TVar::new(0)];
    variables.sort_by_key(|variable| Arc::as_ptr(variable.cell()).addr());
    variables
}

/// A thread that writes 1 to both in one transaction.
fn write_both(a: &TVar<u32>, b: &TVar<u32>) -> loom::thread::JoinHandle<()> {
    let (a, b) = (a.clone(), b.clone());
    loom::thread::spawn(move || {
        atomically(PATIENCE, |tx| {
            tx.write(&a, 1)?;
            Ok(tx.write(&b, 1)?)
        });
    })
}

/// Checks a model and returns all outcomes of its runs.
fn outcomes<T: Eq + Hash + Debug + Send + 'static>(preemptions: usize, model: fn() -> T) -> HashSet<T> {
    let seen: &'static Mutex<HashSet<T>> = Box::leak(Box::default());
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let outcome = model();
        seen.lock().unwrap().insert(outcome);
    });
    std::mem::take(&mut seen.lock().unwrap())
}

/// Each of two transactions writes one variable if the other one is 0. Only one may.
#[test]
fn loom_stm_of_two_commits_that_exclude_each_other_one_succeeds() {
    let outcomes = outcomes(3, || {
        let [a, b] = two_variables();
        let set_if_zero = |read: &TVar<u32>, written: &TVar<u32>| {
            let (read, written) = (read.clone(), written.clone());
            move || atomically(PATIENCE, |tx| if tx.read(&read)? == 0 { Ok(tx.write(&written, 1)?) } else { Ok(()) }).1
        };
        let other = loom::thread::spawn(set_if_zero(&a, &b));
        let mine = set_if_zero(&b, &a)();
        let others = other.join().unwrap();
        assert_eq!(a.get() + b.get(), 1);
        (a.get(), mine, others)
    });
    assert!([0, 1].into_iter().all(|a| outcomes.iter().any(|outcome| outcome.0 == a)), "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| outcome.1 > 1), "a run was thrown away: {outcomes:?}");
    assert!(outcomes.iter().any(|outcome| outcome.2 > 1), "a run was thrown away: {outcomes:?}");
}

/// Two transactions add to both variables. Nothing is lost, and nobody waits in a circle.
#[test]
fn loom_stm_commits_to_the_same_variables_come_one_after_the_other() {
    let outcomes = outcomes(2, || {
        let [a, b] = two_variables();
        let add = |first: &TVar<u32>, second: &TVar<u32>| {
            let (first, second) = (first.clone(), second.clone());
            move || {
                atomically(PATIENCE, |tx| {
                    tx.modify(&first, |n| n + 1)?;
                    Ok(tx.modify(&second, |n| n + 1)?)
                })
                .1
            }
        };
        let other = loom::thread::spawn(add(&a, &b));
        let mine = add(&b, &a)();
        let others = other.join().unwrap();
        assert_eq!((a.get(), b.get()), (2, 2));
        (mine > 1, others > 1)
    });
    assert!(outcomes.is_superset(&HashSet::from([(false, false), (true, false), (false, true)])), "{outcomes:?}");
}

/// One transaction adds to both variables, another reads both: in every run of it, also one that is thrown away, they are equal.
#[test]
fn loom_stm_a_run_never_sees_half_a_commit() {
    let outcomes = outcomes(3, || {
        let [a, b] = two_variables();
        let writer = {
            let (a, b) = (a.clone(), b.clone());
            loom::thread::spawn(move || {
                atomically(PATIENCE, |tx| {
                    tx.modify(&a, |n| n + 1)?;
                    Ok(tx.modify(&b, |n| n + 1)?)
                });
            })
        };
        let (seen, runs) = atomically(PATIENCE, |tx| {
            let (seen_in_b, seen_in_a) = (tx.read(&b)?, tx.read(&a)?);
            assert_eq!(seen_in_a, seen_in_b);
            Ok(seen_in_a)
        });
        writer.join().unwrap();
        (seen, runs > 1)
    });
    assert_eq!(outcomes, HashSet::from([(0, false), (1, false), (1, true)]));
}

/// As before, with a snapshot that has to be moved on: the third variable is written by a transaction of its own.
#[test]
fn loom_stm_a_snapshot_moves_on_to_a_whole_commit() {
    let outcomes = outcomes(2, || {
        let [a, b] = two_variables();
        let writer = {
            let (a, b) = (a.clone(), b.clone());
            loom::thread::spawn(move || {
                a.set(1);
                atomically(PATIENCE, |tx| {
                    tx.write(&a, 2)?;
                    Ok(tx.write(&b, 2)?)
                });
            })
        };
        let (seen, runs) = atomically(PATIENCE, |tx| {
            let seen = (tx.read(&a)?, tx.read(&b)?);
            assert!(matches!(seen, (0 | 1, 0) | (2, 2)), "{seen:?}");
            Ok(seen)
        });
        writer.join().unwrap();
        (seen, runs > 1)
    });
    for seen in [(0, 0), (1, 0), (2, 2)] {
        assert!(outcomes.contains(&(seen, false)), "{outcomes:?}");
    }
}

/// Outside of transactions, too, what was committed together is not seen one by one.
#[test]
fn loom_stm_whoever_has_got_one_new_value_gets_the_other() {
    let outcomes = outcomes(3, || {
        let [a, b] = two_variables();
        let writer = write_both(&a, &b);
        let seen = (a.get(), b.get());
        writer.join().unwrap();
        seen
    });
    assert_eq!(outcomes, HashSet::from([(0, 0), (0, 1), (1, 1)]));
}

/// A transaction waits for two variables, which two others change. It wakes, in whatever order that happens.
#[test]
fn loom_stm_whoever_waits_for_a_change_wakes() {
    let outcomes = outcomes(2, || {
        let [a, b] = two_variables();
        let setters = [a.clone(), b.clone()].map(|variable| loom::thread::spawn(move || variable.set(1)));
        let (_, runs) = atomically(PATIENCE, |tx| Ok(check(tx.read(&a)? + tx.read(&b)? == 2)?));
        setters.into_iter().for_each(|setter| setter.join().unwrap());
        runs
    });
    assert!(outcomes.is_superset(&HashSet::from([1, 2, 3])), "{outcomes:?}");
}

/// One commit changes both variables that a transaction waits for: it is woken once.
#[test]
fn loom_stm_a_commit_to_all_that_is_waited_for_wakes_once() {
    let outcomes = outcomes(3, || {
        let [a, b] = two_variables();
        let writer = write_both(&a, &b);
        let (_, runs) = atomically(PATIENCE, |tx| Ok(check(tx.read(&a)? + tx.read(&b)? == 2)?));
        writer.join().unwrap();
        runs
    });
    assert!(outcomes.is_superset(&HashSet::from([1, 2])), "{outcomes:?}");
}

/// Two transactions add to one variable, and take the turn as soon as they fail. Both get through.
#[test]
fn loom_stm_whoever_takes_the_turn_gets_through() {
    let outcomes = outcomes(3, || {
        let variable = TVar::new(0);
        let add = |variable: &TVar<u32>, patience| {
            let variable = variable.clone();
            move || atomically(patience, |tx| Ok(tx.modify(&variable, |n| n + 1)?)).1
        };
        let other = loom::thread::spawn(add(&variable, PATIENCE));
        let mine = add(&variable, 0)();
        let others = other.join().unwrap();
        assert_eq!(variable.get(), 2);
        (mine, others)
    });
    assert!(outcomes.is_superset(&HashSet::from([(1, 1), (2, 1), (1, 2)])), "{outcomes:?}");
}

/// Two take the turn, a third wants to pass: one has the turn at a time, and all get on. Reached: passing before, between and after.
#[test]
fn loom_stm_the_turn_goes_from_hand_to_hand() {
    let outcomes = outcomes(2, || {
        let gate = loom::sync::Arc::new((Gate::new(), AtomicU32::new(0), AtomicU32::new(0)));
        let take = |gate: &loom::sync::Arc<(Gate, AtomicU32, AtomicU32)>| {
            let gate = gate.clone();
            move || {
                let turn = gate.0.take(Location::caller()).unwrap();
                assert_eq!(gate.1.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
                gate.2.fetch_add(1, Ordering::Relaxed);
                gate.1.fetch_sub(1, Ordering::Relaxed);
                drop(turn);
            }
        };
        let others = [loom::thread::spawn(take(&gate)), loom::thread::spawn(take(&gate))];
        gate.0.pass(Location::caller());
        let turns = gate.2.fetch_add(0, Ordering::Relaxed);
        others.into_iter().for_each(|other| other.join().unwrap());
        turns
    });
    assert_eq!(outcomes, HashSet::from([0, 1, 2]));
}
