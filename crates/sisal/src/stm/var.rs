//! The variable: one value, its stamp, and who waits for it to change.
#![allow(unsafe_code, reason = "waiters are linked to the variable")]

use super::stamp::{Stamp, Version};
use super::transaction::Transaction;
use super::{domain, nesting};
use crate::fiber::wait_list::{ClaimedAll, WaitList};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::park::pay_fuel;
use crate::prim::atomic::Backoff;
use crate::prim::lock::Lock;
use crate::prim::object::{Sight, Watched};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

/// A value of some type, counted: it is taken under a lock, and cloned or dropped outside.
pub(super) type Value = Arc<dyn Any + Send + Sync>;

/// What a [`TVar`] shares with its clones, whatever its type.
pub(super) struct Cell {
    pub(super) stamp: Stamp,
    inner: Lock<Inner>,
}

/// INVARIANT: under the lock, the value is that of the stamp's version.
struct Inner {
    value: Value,
    waiting: WaitList<Who>,
}

impl Watched for Cell {
    fn sight(&self) -> Sight {
        Sight::new("transactional variable")
    }
}

impl Cell {
    fn new(value: Value) -> Cell {
        Cell { stamp: Stamp::new(), inner: Lock::new(Inner { value, waiting: WaitList::new() }) }
    }

    /// The value and its version, with all commits that had been given their version before the call.
    pub(super) fn read(&self) -> (Version, Value) {
        let mut backoff = Backoff::new();
        while self.stamp.is_busy() {
            backoff.pause();
        }
        // Who makes it busy only now will be given a version later than any snapshot of ours: the value as it was is good.
        let inner = self.inner.lock();
        (self.stamp.version(), Arc::clone(&inner.value))
    }

    /// Exchanges the value, for whoever has made the stamp busy; returns who waited for that.
    pub(super) fn publish(&self, value: &mut Value, version: Version) -> ClaimedAll<Who> {
        let mut inner = self.inner.lock();
        mem::swap(&mut inner.value, value);
        self.stamp.publish(version);
        inner.waiting.claim_all()
    }

    /// Links a waiter, if the version is still the one given.
    ///
    /// # Safety
    /// The waiter and its wait stay where they are until [`unlink`](Self::unlink) has been called.
    pub(super) unsafe fn link(&self, waiter: &Waiter<Who>, version: Version) -> bool {
        let mut inner = self.inner.lock();
        // One that is about to change it will find us.
        let is_current = self.stamp.version() == version;
        if is_current {
            // SAFETY: the caller's promise.
            unsafe { inner.waiting.push(waiter) };
        }
        is_current
    }

    /// Takes a waiter off, if it was linked and has not been claimed from here.
    pub(super) fn unlink(&self, waiter: &Waiter<Who>) {
        self.inner.lock().waiting.remove(waiter);
    }
}

/// A variable that is read and changed in [transactions](super).
///
/// Clones are the same variable. Its value is cloned when it is read: one that is large is best kept in an [`Arc`].
///
/// ```
/// use sisal::stm::{TVar, atomically};
/// let counter = TVar::new(0);
/// sisal::run(|| {
///     let fibers: Vec<_> = (0..10)
///         .map(|_| {
///             let counter = counter.clone();
///             sisal::spawn(move || atomically(|tx| tx.modify(&counter, |n| n + 1)))
///         })
///         .collect();
///     fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
/// });
/// assert_eq!(counter.get(), 10);
/// ```
pub struct TVar<T> {
    cell: Arc<Cell>,
    value: PhantomData<fn(T) -> T>,
}

impl<T: Clone + Send + Sync + 'static> TVar<T> {
    /// A new variable.
    ///
    /// ```
    /// let var = sisal::stm::TVar::new("value");
    /// assert_eq!(var.get(), "value");
    /// ```
    pub fn new(value: T) -> TVar<T> {
        TVar { cell: Arc::new(Cell::new(Arc::new(value))), value: PhantomData }
    }

    /// The value, outside of transactions: one that some transaction has left, or the first.
    ///
    /// What several calls return need not fit together; that takes a transaction. Inside of one, use
    /// [`Transaction::read`]: this would see nothing of its writes, and others may change the variable meanwhile.
    ///
    /// ```
    /// use sisal::stm::{TVar, atomically};
    /// let var = TVar::new(1);
    /// atomically(|tx| tx.write(&var, 2));
    /// assert_eq!(var.get(), 2);
    /// ```
    #[track_caller]
    pub fn get(&self) -> T {
        let place = Location::caller();
        let (_, value) = self.cell.read();
        let value = downcast::<T>(&value).clone();
        pay_fuel(place);
        value
    }

    /// Changes the value, in a transaction that does nothing else. It wakes those who wait for a change, also if the value
    /// is as it was.
    ///
    /// # Panics
    /// Inside a transaction, which has [`Transaction::write`].
    ///
    /// ```
    /// let var = sisal::stm::TVar::new(1);
    /// var.set(2);
    /// assert_eq!(var.get(), 2);
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) {
        let place = Location::caller();
        nesting::refuse_inside("TVar::set");
        let mut write = Transaction::new();
        // Neither can fail: nothing is read.
        let written = write.write(self, value);
        domain::gate().pass(place);
        let committed = write.commit();
        debug_assert!(written.is_ok() && committed, "INVARIANT: what reads nothing has no conflicts");
        drop(write);
        pay_fuel(place);
    }

    pub(super) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }
}

/// The value as it was put in.
pub(super) fn downcast<T: 'static>(value: &Value) -> &T {
    value.downcast_ref().unwrap_or_else(|| unreachable!("INVARIANT: a variable keeps its type"))
}

impl<T> Clone for TVar<T> {
    fn clone(&self) -> TVar<T> {
        TVar { cell: Arc::clone(&self.cell), value: PhantomData }
    }
}

impl<T: Clone + Send + Sync + Default + 'static> Default for TVar<T> {
    fn default() -> TVar<T> {
        TVar::new(T::default())
    }
}

impl<T: Clone + Send + Sync + 'static> From<T> for TVar<T> {
    fn from(value: T) -> TVar<T> {
        TVar::new(value)
    }
}

impl<T: Clone + Send + Sync + fmt::Debug + 'static> fmt::Debug for TVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, value) = self.cell.read();
        f.debug_tuple("TVar").field(downcast::<T>(&value)).finish()
    }
}
