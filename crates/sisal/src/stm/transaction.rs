//! What the closure of a transaction does with it.

use super::domain;
use super::error::{Stm, StmError, retry};
use super::journal::Journal;
use super::stamp::Version;
use super::var::{Cell, TVar, Value, downcast};
use std::fmt;
use std::sync::Arc;

/// One run of a transaction: given to the closure of [`atomically`](super::atomically), which reads and writes by it.
///
/// ```
/// use sisal::stm::{Stm, TVar, Transaction, atomically};
/// fn swap(tx: &mut Transaction, a: &TVar<u8>, b: &TVar<u8>) -> Result<(), Stm> {
///     let (x, y) = (tx.read(a)?, tx.read(b)?);
///     tx.write(a, y)?;
///     tx.write(b, x)
/// }
/// let (a, b) = (TVar::new(1), TVar::new(2));
/// atomically(|tx| swap(tx, &a, &b));
/// assert_eq!((a.get(), b.get()), (2, 1));
/// ```
pub struct Transaction {
    pub(super) journal: Journal,
    /// The reading of the clock at which all that was read was there together.
    snapshot: Version,
    /// Whether what was read does not fit together any more: the run is thrown away, whatever it returns.
    pub(super) has_conflict: bool,
}

impl Transaction {
    pub(super) fn new() -> Transaction {
        Transaction { journal: Journal::default(), snapshot: domain::clock().read(), has_conflict: false }
    }

    /// The value of a variable: what this transaction has written, or what was there when it began.
    ///
    /// # Errors
    /// If the transaction has to start again. Return the error.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically};
    /// let (a, b) = (TVar::new(1), TVar::new(2));
    /// assert_eq!(atomically(|tx| Ok(tx.read(&a)? + tx.read(&b)?)), 3);
    /// ```
    pub fn read<T: Clone + Send + Sync + 'static>(&mut self, var: &TVar<T>) -> Result<T, Stm> {
        self.look(var.cell()).map(|value| downcast::<T>(value).clone())
    }

    /// Changes a variable, if the transaction succeeds. Until then nobody else sees it.
    ///
    /// # Errors
    /// If the transaction has to start again. Return the error.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically};
    /// let var = TVar::new(1);
    /// atomically(|tx| {
    ///     tx.write(&var, 2)?;
    ///     assert_eq!(tx.read(&var)?, 2);
    ///     assert_eq!(var.get(), 1);
    ///     Ok(())
    /// });
    /// assert_eq!(var.get(), 2);
    /// ```
    pub fn write<T: Clone + Send + Sync + 'static>(&mut self, var: &TVar<T>, value: T) -> Result<(), Stm> {
        if self.has_conflict {
            return Err(Stm::CONFLICT);
        }
        self.journal.note_write(var.cell(), Arc::new(value));
        Ok(())
    }

    /// Reads a variable, and writes what `f` makes of its value.
    ///
    /// # Errors
    /// If the transaction has to start again. Return the error.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically};
    /// let var = TVar::new(20);
    /// atomically(|tx| tx.modify(&var, |n| n + 1));
    /// assert_eq!(var.get(), 21);
    /// ```
    pub fn modify<T: Clone + Send + Sync + 'static>(
        &mut self,
        var: &TVar<T>,
        f: impl FnOnce(T) -> T,
    ) -> Result<(), Stm> {
        let value = self.read(var)?;
        self.write(var, f(value))
    }

    /// Lets the transaction wait until a variable that it has read so far changes, and start again.
    ///
    /// # Errors
    /// Always. Return the error.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically};
    /// sisal::run(|| {
    ///     let slot = TVar::new(None);
    ///     let taker = sisal::spawn({
    ///         let slot = slot.clone();
    ///         move || {
    ///             atomically(|tx| match tx.read(&slot)? {
    ///                 Some(value) => tx.write(&slot, None).map(|()| value),
    ///                 None => tx.retry(),
    ///             })
    ///         }
    ///     });
    ///     slot.set(Some(7));
    ///     assert_eq!(taker.join().unwrap(), 7);
    /// });
    /// ```
    pub fn retry<R>(&mut self) -> Result<R, Stm> {
        retry()
    }

    /// Does `first`; if that would wait, undoes what it has written and does `second`. If that would wait too, the transaction
    /// waits for a change of anything that either has read.
    ///
    /// # Errors
    /// Those of the branches.
    ///
    /// ```
    /// use sisal::stm::{self, Stm, TVar, Transaction, atomically};
    /// fn pop(tx: &mut Transaction, stack: &TVar<Vec<u32>>) -> Result<u32, Stm> {
    ///     let mut items = tx.read(stack)?;
    ///     let Some(item) = items.pop() else { return tx.retry() };
    ///     tx.write(stack, items)?;
    ///     Ok(item)
    /// }
    /// let (urgent, normal) = (TVar::new(vec![]), TVar::new(vec![1, 2]));
    /// let next = atomically(|tx| tx.or_else(|tx| pop(tx, &urgent), |tx| pop(tx, &normal)));
    /// assert_eq!(next, 2);
    /// ```
    pub fn or_else<R>(
        &mut self,
        first: impl FnOnce(&mut Transaction) -> Result<R, Stm>,
        second: impl FnOnce(&mut Transaction) -> Result<R, Stm>,
    ) -> Result<R, Stm> {
        let mark = self.journal.mark();
        match first(self) {
            Err(error) if error.is_retry() && !self.has_conflict => {
                self.journal.undo(mark);
                second(self)
            }
            result => {
                self.journal.keep(mark);
                result
            }
        }
    }

    /// Gives up: nothing that was written is kept, and [`atomically_with_error`](super::atomically_with_error) returns `error`.
    ///
    /// # Errors
    /// Always. Return the error.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically_with_error};
    /// let seats = TVar::new(0);
    /// let booked = atomically_with_error(|tx| match tx.read(&seats)? {
    ///     0 => tx.abort("sold out"),
    ///     left => Ok(tx.write(&seats, left - 1)?),
    /// });
    /// assert_eq!(booked, Err("sold out"));
    /// ```
    pub fn abort<R, E>(&mut self, error: E) -> Result<R, StmError<E>> {
        Err(StmError::Abort(error))
    }

    /// The value that this run sees.
    fn look(&mut self, cell: &Arc<Cell>) -> Result<&Value, Stm> {
        if self.has_conflict {
            return Err(Stm::CONFLICT);
        }
        if !self.journal.knows(cell) {
            let (version, value) = cell.read();
            if version <= self.snapshot {
                return Ok(self.journal.note_read(cell, version, value));
            }
            self.journal.note_read(cell, version, value);
            if !self.extend() {
                self.has_conflict = true;
                return Err(Stm::CONFLICT);
            }
        }
        Ok(self.journal.value(cell).unwrap_or_else(|| unreachable!("INVARIANT: read just now, if not before")))
    }

    /// Tries to take a later snapshot; false if something that was read has changed.
    #[cold]
    fn extend(&mut self) -> bool {
        let now = domain::clock().read();
        let fits = self.journal.reads().all(|(cell, version)| cell.stamp.is_settled_at(version));
        if fits {
            self.snapshot = now;
        }
        fits
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("snapshot", &self.snapshot)
            .field("has_conflict", &self.has_conflict)
            .finish_non_exhaustive()
    }
}
