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
//! # Protocol
//! It is that of TL2, with short locks. There is one [*clock*](clock) for all variables. Every variable has a [*stamp*](stamp): the
//! reading of the clock at its last change (its version), and a bit that says that somebody is about to change it. Its value and the
//! list of those who wait for it are under its lock, which is held for a few instructions.
//!
//! *Begin*: the *snapshot* is the clock.
//!
//! *Read*: under the variable's lock, if it is not about to change, take version and value; else look again a moment later. A
//! version up to the snapshot is good. A later one is good if nothing read so far has changed: load the clock, compare all stamps
//! with the versions read, and let the loaded clock be the new snapshot. Else the run is thrown away.
//!
//! *Write*: keep the value until the commit.
//!
//! *Commit*, if anything was written (else there is nothing to do: all that was read was there together at the snapshot):
//! 1. In the order of their addresses, set the bit of each written variable, waiting for whoever has set it before.
//! 2. Add one to the clock: that is the new version.
//! 3. Compare the stamps of what was read with the versions read. If one differs, or somebody else has set its bit, take
//!    the bits back: the run is thrown away.
//! 4. For each written variable, under its lock: exchange the value, set the stamp to the new version without the bit, claim
//!    all who wait.
//! 5. With nothing held: unpark them; drop the old values.
//!
//! *Retry*: link a waiter to every variable read, each under its lock and only if its version is still the one read. If one is not,
//! take them off and start again at once. Else park. Whoever changes one of them claims the wait; then take the waiters off and start
//! again.
//!
//! # Why it is right
//! *A run sees the memory of its snapshot.* Let a commit get the version `v`. It set its bits before it added to the clock; so whoever
//! has a snapshot of `v` or later finds the bit, or what came after: it waits for the new value. Whoever has an earlier snapshot finds
//! the old version, or one later than its snapshot, and compares. The comparison finds every commit up to the new snapshot, for the
//! same reason.
//!
//! *Commits are as if one after the other.* If each of two has read what the other writes, both have set their bits before
//! they added to the clock. The one that added later sees the bit of the other, or its new version, and fails.
//!
//! *Nobody waits in a circle.* Bits are taken in one order; a variable's own lock is the last thing anybody takes.
//!
//! *No wake is lost.* Under a variable's lock its value and its version belong together, since step 4 changes both under it. So a
//! waiter either finds the new version, or it is linked before the change, and step 4 finds it.
//!
//! *Everybody gets through*: see [`gate`].
//!
//! Between step 1 and step 4 nothing is called that could park, panic or belong to the user: values are made before, dropped after,
//! and cloned from a counted reference that was taken under the lock.

mod atomically;
mod clock;
mod commit;
#[cfg_attr(loom, path = "domain_model.rs")]
mod domain;
mod error;
mod gate;
mod journal;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg_attr(loom, path = "nesting_model.rs")]
mod nesting;
mod stamp;
#[cfg(all(test, not(loom)))]
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
