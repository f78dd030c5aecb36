//! Running transactions until they succeed.

use super::domain;
use super::error::{Stm, StmError};
use super::gate::{PATIENCE, TurnGuard};
use super::nesting::{self, Inside};
use super::transaction::Transaction;
use crate::park::pay_fuel;
use crate::prim::cancel::Cancelled;
use crate::prim::reason::Place;
use std::convert::Infallible;
use std::panic::Location;

/// Runs `body` as a transaction, as often as it takes, and returns what it returns. See the [module](super) for what it may do.
///
/// If it calls [`retry`](super::retry), this waits: parks the fiber, or blocks the thread. Nothing from outside ends that wait; see
/// [`try_atomically`].
///
/// # Panics
/// Inside of another transaction, and if the transaction would wait without having read anything.
///
/// ```
/// use sisal::stm::{TVar, atomically};
/// let (a, b) = (TVar::new(1), TVar::new(2));
/// let sum = atomically(|tx| {
///     let (x, y) = (tx.read(&a)?, tx.read(&b)?);
///     tx.write(&a, y)?;
///     tx.write(&b, x)?;
///     Ok(x + y)
/// });
/// assert_eq!((a.get(), b.get(), sum), (2, 1, 3));
/// ```
#[track_caller]
pub fn atomically<R>(body: impl FnMut(&mut Transaction) -> Result<R, Stm>) -> R {
    never_cancelled(never_aborted(body), Location::caller()).unwrap_or_else(|never| match never {})
}

/// As [`atomically`], but its wait for a change can be cancelled.
///
/// # Errors
/// [`Cancelled`] if the transaction called [`retry`](super::retry), and the wait was ended from outside. Nothing it has written is kept.
///
/// # Panics
/// Inside of another transaction.
///
/// ```
/// use sisal::stm::{self, TVar, try_atomically};
/// use std::time::Duration;
/// let var = TVar::new(0);
/// let never = || try_atomically(|tx| stm::check(tx.read(&var)? == 1));
/// let error = sisal::run(|| sisal::timeout(Duration::from_millis(1), never)).unwrap_err();
/// assert_eq!(error.cause, sisal::Cause::Deadline);
/// ```
#[track_caller]
pub fn try_atomically<R>(body: impl FnMut(&mut Transaction) -> Result<R, Stm>) -> Result<R, Cancelled> {
    run(never_aborted(body), true, PATIENCE, Location::caller()).map(|done| done.unwrap_or_else(|never| match never {}))
}

/// As [`atomically`], for transactions that can give up.
///
/// # Errors
/// What was given to [`Transaction::abort`]. Nothing that the transaction has written is kept.
///
/// # Panics
/// As [`atomically`].
///
/// ```
/// use sisal::stm::{TVar, atomically_with_error};
/// let balance = TVar::new(10);
/// let withdraw = |amount| {
///     atomically_with_error(|tx| {
///         tx.modify(&balance, |balance| balance - amount)?;
///         if tx.read(&balance)? < 0 { tx.abort("not enough") } else { Ok(()) }
///     })
/// };
/// assert_eq!(withdraw(7), Ok(()));
/// assert_eq!(withdraw(7), Err("not enough"));
/// assert_eq!(balance.get(), 3);
/// ```
#[track_caller]
pub fn atomically_with_error<R, E>(body: impl FnMut(&mut Transaction) -> Result<R, StmError<E>>) -> Result<R, E> {
    never_cancelled(body, Location::caller())
}

fn never_aborted<R>(
    mut body: impl FnMut(&mut Transaction) -> Result<R, Stm>,
) -> impl FnMut(&mut Transaction) -> Result<R, StmError<Infallible>> {
    move |tx| body(tx).map_err(StmError::Stm)
}

fn never_cancelled<R, E>(body: impl FnMut(&mut Transaction) -> Result<R, StmError<E>>, place: Place) -> Result<R, E> {
    match run(body, false, PATIENCE, place) {
        Ok(result) => result,
        Err(cancelled) => unreachable!("INVARIANT: what can't be cancelled was: {cancelled}"),
    }
}

/// Runs `body` until it has succeeded or given up.
pub(super) fn run<R, E>(
    mut body: impl FnMut(&mut Transaction) -> Result<R, StmError<E>>,
    cancellable: bool,
    patience: u32,
    place: Place,
) -> Result<Result<R, E>, Cancelled> {
    nesting::refuse_inside("a transaction");
    let mut attempts = Attempts { place, cancellable, left: patience, patience, turn: None };
    loop {
        let mut tx = Transaction::new();
        let result = {
            let _inside = Inside::enter();
            body(&mut tx)
        };
        match result {
            Ok(value) if attempts.commit(&mut tx) => {
                attempts.turn = None;
                drop(tx);
                pay_fuel(place);
                return Ok(Ok(value));
            }
            Err(StmError::Abort(error)) if !tx.has_conflict => {
                attempts.turn = None;
                drop(tx);
                pay_fuel(place);
                return Ok(Err(error));
            }
            Err(StmError::Stm(error)) if error.is_retry() && !tx.has_conflict => attempts.wait(&tx)?,
            Ok(_) | Err(_) => attempts.failed(),
        }
    }
}

/// What becomes of the runs of one transaction.
struct Attempts {
    place: Place,
    cancellable: bool,
    patience: u32,
    /// How many more failures there may be before it takes the turn.
    left: u32,
    turn: Option<TurnGuard<'static>>,
}

impl Attempts {
    fn commit(&mut self, tx: &mut Transaction) -> bool {
        if self.turn.is_none() && tx.writes() {
            domain::gate().pass(self.place);
        }
        tx.commit()
    }

    /// The run has to wait for a change.
    #[cold]
    fn wait(&mut self, tx: &Transaction) -> Result<(), Cancelled> {
        self.turn = None;
        self.left = self.patience;
        assert!(
            self.cancellable || tx.journal.reads().next().is_some(),
            "sisal: a transaction that has read nothing would wait for ever"
        );
        tx.wait_for_change(self.place, self.cancellable)
    }

    /// The run was thrown away.
    #[cold]
    fn failed(&mut self) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None if self.turn.is_none() => self.turn = domain::gate().take(self.place),
            None => {}
        }
        if self.turn.is_none() {
            pay_fuel(self.place);
        }
    }
}
