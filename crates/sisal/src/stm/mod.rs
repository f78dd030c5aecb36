//! Transactional memory: shared variables that several fibers and threads read and change together, without locks.
//!
//! A transaction is a closure given to [`atomically`]. What it reads and writes by its [`Transaction`] happens at one
//! moment, or not at all.
//!
//! ```
//! use sisal::stm::{self, TVar, atomically};
//!
//! let (from, to) = (TVar::new(100), TVar::new(0));
//! atomically(|tx| {
//!     let balance = tx.read(&from)?;
//!     stm::check(balance >= 30)?; // Else wait until it changes, and start again.
//!     tx.write(&from, balance - 30)?;
//!     tx.modify(&to, |balance| balance + 30)
//! });
//! assert_eq!((from.get(), to.get()), (70, 30));
//! ```
//!
//! - *Waiting*: [`Transaction::retry`] and [`check`] wait until a variable that was read so far changes.
//! - *Choosing*: [`Transaction::or_else`] undoes the writes of its first branch and tries another if the first would wait.
//! - *Giving up*: [`Transaction::abort`], in [`atomically_with_error`], undoes everything and returns an error.
//!
//! # What a transaction may do
//! It may run several times before it succeeds, so it should do nothing but read, compute and write. What it sees fits together
//! at all times, also in a run that will be thrown away: it can't divide by a zero that was never there. Every [`Stm`] it gets is to be
//! returned, with `?`. A panic leaves no trace in the variables.
//!
//! It should not wait for anything but by `retry`. A transaction that fails again and again gets its way in the end by keeping others
//! from committing while it runs; if it then waits for one of them, both wait for ever.
//!
//! How it works is written down in `commit.rs`.

mod atomically;
mod clock;
mod commit;
#[cfg_attr(modelled, path = "domain_model.rs")]
mod domain;
mod error;
mod gate;
mod journal;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg_attr(modelled, path = "nesting_model.rs")]
mod nesting;
mod stamp;
#[cfg(all(test, not(modelled)))]
mod tests;
mod transaction;
mod var;
mod wait;

pub use self::{
    atomically::{atomically, atomically_with_error, try_atomically},
    error::{Stm, StmError, check, retry},
    transaction::Transaction,
    var::TVar,
};
