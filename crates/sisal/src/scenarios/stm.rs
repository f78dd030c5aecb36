//! Transactions of several threads over the same variables.

use super::{join_all, outcomes, spawn_each};
use crate::stm::{TVar, Transaction, atomically, check};
use shuttle::thread;
use std::collections::HashSet;

/// Moves one from an account to another: waits until there is one.
fn move_one(tx: &mut Transaction, from: &TVar<u32>, to: &TVar<u32>) -> Result<(), crate::stm::Stm> {
    let balance = tx.read(from)?;
    check(balance > 0)?;
    tx.write(from, balance - 1)?;
    tx.modify(to, |balance| balance + 1)
}

/// Two move money from one account to one of two others each, and two on from either of these to the last, for which they wait; one looks. The
/// sum is always the same, and all arrives. Reached: the sum is looked at before, between and after.
#[test]
fn shuttle_stm_money_is_moved_and_never_lost() {
    const MONEY: u32 = 4;
    let seen = outcomes(|| {
        let accounts = [MONEY, 0, 0, 0].map(TVar::new);
        let movers = spawn_each(2, {
            let accounts = accounts.clone();
            move |number| {
                for _ in 0..MONEY / 2 {
                    atomically(|tx| move_one(tx, &accounts[0], &accounts[1 + number]));
                }
            }
        });
        let collectors = spawn_each(2, {
            let accounts = accounts.clone();
            move |number| {
                let [first, second] = [1 + number, 2 - number];
                for _ in 0..MONEY / 2 {
                    atomically(|tx| {
                        tx.or_else(
                            |tx| move_one(tx, &accounts[first], &accounts[3]),
                            |tx| move_one(tx, &accounts[second], &accounts[3]),
                        )
                    });
                }
            }
        });
        let looker = thread::spawn({
            let accounts = accounts.clone();
            move || {
                let balances = atomically(|tx| {
                    let mut balances = [0; 4];
                    for (balance, account) in balances.iter_mut().zip(&accounts) {
                        *balance = tx.read(account)?;
                    }
                    // In runs that are thrown away, too.
                    assert_eq!(balances.iter().sum::<u32>(), MONEY);
                    Ok(balances)
                });
                balances[3]
            }
        });
        join_all(movers.into_iter().chain(collectors));
        assert_eq!(accounts.map(|account| account.get()), [0, 0, 0, MONEY]);
        looker.join().unwrap()
    });
    assert_eq!(seen, (0..=MONEY).collect::<HashSet<_>>());
}

/// Four move money around a ring of three accounts, either way, whichever is to be had: the sum stays, and nobody waits for ever. Reached:
/// different ends.
#[test]
fn shuttle_stm_money_goes_around() {
    let seen = outcomes(|| {
        let accounts = [1, 1, 0].map(TVar::new);
        join_all(spawn_each(4, {
            let accounts = accounts.clone();
            move |number| {
                let [here, next, last] = [0, 1, 2].map(|step| &accounts[(number + step) % 3]);
                for _ in 0..2 {
                    atomically(|tx| {
                        tx.or_else(
                            |tx| move_one(tx, here, next),
                            |tx| tx.or_else(|tx| move_one(tx, next, last), |tx| move_one(tx, last, here)),
                        )
                    });
                }
            }
        }));
        let balances = accounts.map(|account| account.get());
        assert_eq!(balances.iter().sum::<u32>(), 2);
        balances
    });
    assert!(seen.len() > 1, "{seen:?}");
}
