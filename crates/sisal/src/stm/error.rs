//! Why a run of a transaction ends without success.

use std::error::Error;
use std::fmt;

/// Why a run of a transaction can't go on: it would wait, or what it has read has changed. To be returned from the closure, with `?`;
/// [`atomically`](super::atomically) then runs it again, when the time has come.
///
/// ```
/// use sisal::stm::{self, Stm, TVar, Transaction, atomically};
/// fn take(tx: &mut Transaction, tickets: &TVar<u32>) -> Result<u32, Stm> {
///     let left = tx.read(tickets)?;
///     stm::check(left > 0)?;
///     tx.write(tickets, left - 1)?;
///     Ok(left)
/// }
/// let tickets = TVar::new(3);
/// assert_eq!(atomically(|tx| take(tx, &tickets)), 3);
/// ```
#[derive(Debug)]
pub struct Stm(Kind);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Retry,
    Conflict,
}

impl Stm {
    /// What was read does not fit together any more.
    pub(super) const CONFLICT: Stm = Stm(Kind::Conflict);

    /// Whether the transaction is to wait for a change.
    pub(super) fn is_retry(&self) -> bool {
        self.0 == Kind::Retry
    }
}

impl fmt::Display for Stm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Retry => "the transaction waits for a variable to change",
            Kind::Conflict => "a variable has changed, and the transaction has to start again",
        })
    }
}

impl Error for Stm {}

/// Lets the transaction wait until a variable that it has read changes, and start again: as [`Transaction::retry`].
///
/// # Errors
/// Always.
///
/// [`Transaction::retry`]: super::Transaction::retry
///
/// ```
/// use sisal::stm::{self, TVar, atomically};
/// let queue = TVar::new(vec![1, 2, 3]);
/// let last = atomically(|tx| {
///     let mut items = tx.read(&queue)?;
///     let Some(last) = items.pop() else { return stm::retry() };
///     tx.write(&queue, items)?;
///     Ok(last)
/// });
/// assert_eq!(last, 3);
/// ```
pub fn retry<R>() -> Result<R, Stm> {
    Err(Stm(Kind::Retry))
}

/// Goes on if `condition` holds; else it is as [`retry`].
///
/// # Errors
/// If the condition does not hold.
///
/// ```
/// use sisal::stm::{self, TVar, atomically};
/// let ready = TVar::new(false);
/// sisal::run(|| {
///     let waiter = sisal::spawn({
///         let ready = ready.clone();
///         move || atomically(|tx| stm::check(tx.read(&ready)?))
///     });
///     ready.set(true);
///     waiter.join().unwrap();
/// });
/// ```
pub fn check(condition: bool) -> Result<(), Stm> {
    if condition { Ok(()) } else { retry() }
}

/// As [`Stm`], for transactions that can also give up: see [`atomically_with_error`](super::atomically_with_error).
///
/// ```
/// use sisal::stm::{StmError, retry};
/// let waits: Result<(), StmError<String>> = retry().map_err(StmError::from);
/// assert!(matches!(waits, Err(StmError::Stm(_))));
/// ```
#[derive(Debug)]
pub enum StmError<E> {
    /// The run can't go on. There will be another one.
    Stm(Stm),
    /// The transaction gives up: nothing it has written is kept, and this is returned.
    Abort(E),
}

impl<E> From<Stm> for StmError<E> {
    fn from(error: Stm) -> StmError<E> {
        StmError::Stm(error)
    }
}

impl<E: fmt::Display> fmt::Display for StmError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StmError::Stm(error) => error.fmt(f),
            StmError::Abort(error) => write!(f, "the transaction gives up: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for StmError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StmError::Stm(_) => None,
            StmError::Abort(error) => Some(error),
        }
    }
}
