//! A pool of things that are lent and come back.
//!
//! # Protocol
//! A pool has a number of *places*. A place is free, or taken by a thing that is idle, lent, or being made. One lock guards the
//! idle things, the number of taken places, and the list of those who wait.
//! - *Get*: take an idle thing; or take a free place, and make a thing for it; or join the list and park. Whoever is unparked by the pool
//!   was handed a taken place, with the thing or without: then it makes one.
//! - *Give back* a place, with its thing or without: claim the first who waits, and hand it over. If nobody does, the thing is idle, or
//!   the place is free.
//! - *Give up* (time or cancel): leave the list, under the lock. Nothing was handed over, since the claim decides.
//!
//! INVARIANT: when the lock is free and somebody stands in the list, nothing is idle and no place is free: so nobody is
//! forgotten, and none who comes later is served first. (One who stands there but has given up is passed over by the next giving back.)
//!
//! Things are made, reset and dropped with the lock free. If making one panics, its place is given back; if the reset does, the thing
//! is dropped and then its place is given back.
//!
//! # What is where
//! The handles are here, the places and those who wait in `places`, what is lent in `guard`.

mod guard;
#[cfg(all(test, loom))]
mod loom_models;
mod places;
#[cfg(all(test, not(modelled)))]
mod tests;

pub use self::guard::PoolGuard;

use self::places::{Content, Shared, Thing, Vacancy};
use crate::park::pay_fuel;
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A pool of at most `capacity` things, which are made by `create` when they are needed, lent, and put in order by `reset` when they come
/// back.
///
/// It is no arm of [`select!`](crate::select!). To wait for a thing no longer than for something else, [`get`](Pool::get) it inside of a
/// [`timeout`](crate::timeout) or of what a [`CancelToken`](crate::CancelToken) runs; or have a fiber get it, and send the
/// guard into a [`bounded`](super::bounded) channel, whose receiver is an arm.
///
/// # Panics
/// If the capacity is zero.
///
/// ```
/// sisal::run(|| {
///     let buffers = sisal::chan::pool(|| Vec::with_capacity(4096), Vec::clear, 2);
///     let writers: Vec<_> = (0..10u8)
///         .map(|number| {
///             let buffers = buffers.clone();
///             sisal::spawn(move || {
///                 let mut buffer = buffers.get().unwrap();
///                 buffer.push(number);
///                 buffer.len()
///             })
///         })
///         .collect();
///     assert!(writers.into_iter().all(|writer| writer.join().unwrap() == 1));
///     assert!(buffers.idle() <= 2);
/// });
/// ```
pub fn pool<T>(
    create: impl Fn() -> T + Send + Sync + 'static,
    reset: impl Fn(&mut T) + Send + Sync + 'static,
    capacity: usize,
) -> Pool<T> {
    assert!(capacity > 0, "sisal: a pool needs room for at least one thing");
    Pool { shared: Arc::new(Shared::new(Box::new(create), Box::new(reset), capacity)) }
}

/// Lends things, and takes them back: see [`pool`]. Clones lend the same things. They go when the last clone is gone and
/// nothing is lent any more.
///
/// Those who wait are served in the order they came.
///
/// ```
/// let pool = sisal::chan::pool(|| String::from("made"), |_| (), 1);
/// let thing = pool.get().unwrap();
/// assert_eq!((thing.as_str(), pool.in_use()), ("made", 1));
/// assert!(pool.try_get().is_none());
/// drop(thing);
/// assert_eq!(pool.idle(), 1);
/// ```
pub struct Pool<T> {
    shared: Arc<Shared<T>>,
}

// A panic leaves the pool as it was.
impl<T> UnwindSafe for Pool<T> {}
impl<T> RefUnwindSafe for Pool<T> {}

impl<T> Pool<T> {
    /// Borrows a thing: waits until there is one, or room to make one.
    ///
    /// # Errors
    /// [`Cancelled`] if it had to wait and something from outside ended the wait: see [`Cause`](crate::Cause).
    ///
    /// # Panics
    /// If making the thing does.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// assert_eq!(*pool.get()?, 7);
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn get(&self) -> Result<PoolGuard<T>, Cancelled> {
        self.get_at(|| None, Location::caller()).map_err(|error| match error {
            PoolTimeoutError::Cancelled(cancelled) => cancelled,
            PoolTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// Borrows a thing if there is one, or room to make one.
    ///
    /// # Panics
    /// If making the thing does.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// let thing = pool.try_get().unwrap();
    /// assert!(pool.try_get().is_none());
    /// # drop(thing);
    /// ```
    #[track_caller]
    pub fn try_get(&self) -> Option<PoolGuard<T>> {
        let place = Location::caller();
        let content = self.shared.take_at_once();
        // Also in vain: whoever tries again and again has to let others have a turn.
        pay_fuel(place);
        content.map(|content| self.lend(content))
    }

    /// As [`get`](Self::get), but waits for at most `timeout`.
    ///
    /// # Errors
    /// See [`PoolTimeoutError`].
    ///
    /// # Panics
    /// If making the thing does.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// let thing = pool.get_timeout(Duration::from_millis(1)).unwrap();
    /// assert!(pool.get_timeout(Duration::from_millis(1)).is_err());
    /// # drop(thing);
    /// ```
    #[track_caller]
    pub fn get_timeout(&self, timeout: Duration) -> Result<PoolGuard<T>, PoolTimeoutError> {
        self.get_at(|| Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`get`](Self::get), but waits until this time at most.
    ///
    /// # Errors
    /// See [`PoolTimeoutError`].
    ///
    /// # Panics
    /// If making the thing does.
    ///
    /// ```
    /// use std::time::Instant;
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// let thing = pool.get_deadline(Instant::now()).unwrap();
    /// assert!(pool.get_deadline(Instant::now()).is_err());
    /// # drop(thing);
    /// ```
    #[track_caller]
    pub fn get_deadline(&self, deadline: Instant) -> Result<PoolGuard<T>, PoolTimeoutError> {
        self.get_at(|| Some(Moment::of(deadline)), Location::caller())
    }

    fn get_at(
        &self,
        deadline: impl FnOnce() -> Option<Moment>,
        place: Place,
    ) -> Result<PoolGuard<T>, PoolTimeoutError> {
        let content = match self.shared.take_at_once() {
            Some(content) => {
                pay_fuel(place);
                content
            }
            None => self.shared.take_by(deadline(), place)?,
        };
        Ok(self.lend(content))
    }

    /// Makes a guard of a taken place, and a thing if it has none.
    fn lend(&self, content: Content<T>) -> PoolGuard<T> {
        let thing = content.unwrap_or_else(|| {
            let vacancy = Vacancy(&self.shared);
            let thing = Thing::new((self.shared.create)());
            std::mem::forget(vacancy);
            thing
        });
        PoolGuard { shared: Arc::clone(&self.shared), thing: Some(thing) }
    }

    /// How many things wait to be borrowed.
    ///
    /// ```
    /// let pool = sisal::chan::pool(Vec::<u8>::new, Vec::clear, 2);
    /// let buffer = pool.get().unwrap();
    /// assert_eq!(pool.idle(), 0);
    /// drop(buffer);
    /// assert_eq!(pool.idle(), 1);
    /// ```
    pub fn idle(&self) -> usize {
        self.shared.counts().0
    }

    /// How many things are lent, or being made.
    ///
    /// ```
    /// let pool = sisal::chan::pool(Vec::<u8>::new, Vec::clear, 2);
    /// let buffer = pool.get().unwrap();
    /// assert_eq!(pool.in_use(), 1);
    /// drop(buffer);
    /// assert_eq!(pool.in_use(), 0);
    /// ```
    pub fn in_use(&self) -> usize {
        self.shared.counts().1
    }

    /// How many things there may be.
    ///
    /// ```
    /// let pool = sisal::chan::pool(Vec::<u8>::new, Vec::clear, 2);
    /// assert_eq!(pool.capacity(), 2);
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.places
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Pool<T> {
        Pool { shared: Arc::clone(&self.shared) }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Pool");
        debug.field("idle", &self.idle()).field("in_use", &self.in_use()).field("capacity", &self.capacity()).finish()
    }
}

/// Why [`Pool::get_timeout`] or [`Pool::get_deadline`] returned without a thing.
///
/// ```
/// use sisal::chan::{PoolTimeoutError, pool};
/// let pool = pool(|| 7, |_| (), 1);
/// let lent = pool.get().unwrap();
/// let error = pool.get_timeout(std::time::Duration::from_millis(1)).unwrap_err();
/// assert_eq!(error, PoolTimeoutError::TimedOut);
/// # drop(lent);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolTimeoutError {
    /// The time was up.
    TimedOut,
    /// Something from outside ended the wait.
    Cancelled(Cancelled),
}

impl fmt::Display for PoolTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolTimeoutError::TimedOut => f.write_str("nothing came back to the pool in time"),
            PoolTimeoutError::Cancelled(cancelled) => write!(f, "can't wait for the pool: {cancelled}"),
        }
    }
}

impl std::error::Error for PoolTimeoutError {}
