//! One value that changes, and those who wait for it to change.
//!
//! # Protocol
//! The value is under a lock that fibers wait for, since users look at it and change it in place: their code may take its time, wait, and
//! panic. Its version is [observed](super::observed) state: it goes up with each change, and each receiver knows the version it
//! has seen last.
//! - *Change*: lock the value to write, change it, raise the version, unlock, and then let everybody look who waits. If the change
//!   panics, the rest is done all the same: whoever looks sees the value as it was left.
//! - *Wait for a change*: until the version is not the one seen last, or the sender is gone. The version read here counts as seen; the
//!   value that is looked at afterwards is that one or a newer one.
//! - *Get the new one*: lock the value to read, copy it, take the version as seen. No change comes in between, so it is the version of that value.
//!
//! - *The sender goes*: that is noted in the observed state, and everybody who waits looks. The value stays.
//! - *Cancel, deadline*: they claim the wait, as [there](super::observed); nothing was taken, and no version counts as seen.
//!
//! No change is overlooked: the version is raised before the wake, so whoever looks before the wake finds it, and whoever
//! has joined the list is woken.

mod arm;
mod future;

pub use self::future::ChangedFuture;

use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::observed::{Ended, Observed};
use crate::park::pay_fuel;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use crate::sync::RwLock;
use std::fmt;
use std::mem;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Shared<T> {
    value: RwLock<T>,
    news: Observed<News>,
}

struct News {
    version: u64,
    sender_is_gone: bool,
    receivers: usize,
}

impl News {
    /// Whether there is something newer than `seen`, which moves on; or if nothing will be, that.
    fn since(&self, seen: &mut u64) -> Option<Since> {
        if mem::replace(seen, self.version) != self.version {
            return Some(Since::Newer);
        }
        self.sender_is_gone.then_some(Since::Gone)
    }
}

/// What has happened since a receiver has looked.
enum Since {
    Newer,
    /// Nothing newer, and the sender is gone.
    Gone,
}

/// Does something when it goes, also by a panic.
struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<T> Shared<T> {
    #[track_caller]
    fn change<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // In the end, whether by a panic or not, the last of these comes first.
        let _told = Finally(|| self.news.change(|_| ()));
        let mut value = self.value.write();
        let _raised = Finally(|| self.news.quietly(|news| news.version += 1));
        f(&mut value)
    }

    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.value.read())
    }

    /// One more receiver, which has seen what `seen` says.
    fn subscribe(self: &Arc<Self>, seen: impl FnOnce(&News) -> u64) -> WatchReceiver<T> {
        let seen = self.news.quietly(|news| {
            news.receivers += 1;
            seen(news)
        });
        WatchReceiver { shared: Arc::clone(self), seen }
    }
}

/// One value, which the sender changes and receivers look at and wait for changes of. Only the last one is kept: a receiver that is slow
/// misses those in between.
///
/// A receiver is an arm of [`select!`](crate::select!) as `recv(&mut receiver)`, which receives that there is a newer value.
///
/// ```
/// sisal::run(|| {
///     let (settings, mut changes) = sisal::chan::watch("old");
///     let watcher = sisal::spawn(move || {
///         changes.changed().unwrap();
///         changes.get()
///     });
///     settings.send("new");
///     assert_eq!(watcher.join().unwrap(), "new");
/// });
/// ```
pub fn watch<T>(value: T) -> (WatchSender<T>, WatchReceiver<T>) {
    let news = News { version: 0, sender_is_gone: false, receivers: 0 };
    let shared = Arc::new(Shared { value: RwLock::new(value), news: Observed::new(news) });
    let receiver = shared.subscribe(|news| news.version);
    (WatchSender { shared }, receiver)
}

/// Changes the value of a [`watch`].
///
/// Who changes the value in place keeps all others from it meanwhile, and who looks at it in place keeps it from being changed. So from
/// inside of either the value must not be reached for again: that would wait for ever.
///
/// ```
/// let (sender, receiver) = sisal::chan::watch(vec![1]);
/// sender.modify(|list| list.push(2));
/// assert_eq!(receiver.get(), [1, 2]);
/// assert_eq!(sender.send(vec![]), [1, 2]);
/// assert!(receiver.with(Vec::is_empty));
/// ```
pub struct WatchSender<T> {
    shared: Arc<Shared<T>>,
}

// A panic while the value is changed is told of like a change.
impl<T> UnwindSafe for WatchSender<T> {}
impl<T> RefUnwindSafe for WatchSender<T> {}

impl<T> WatchSender<T> {
    /// Puts a new value in the place of the old one, which is returned. Works without receivers, too.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// assert_eq!(sender.send(2), 1);
    /// assert_eq!(receiver.get(), 2);
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> T {
        self.shared.change(|old| mem::replace(old, value))
    }

    /// Changes the value in place. If `f` panics, everybody sees the value as it was left, and is told of a change.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// sender.modify(|value| *value += 1);
    /// assert_eq!(receiver.get(), 2);
    /// ```
    #[track_caller]
    pub fn modify(&self, f: impl FnOnce(&mut T)) {
        self.shared.change(f);
    }

    /// A copy of the value.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::watch(1);
    /// sender.send(2);
    /// assert_eq!(sender.get(), 2);
    /// ```
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.shared.with(T::clone)
    }

    /// Looks at the value in place.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::watch(String::from("sisal"));
    /// assert_eq!(sender.with(|text| text.len()), 5);
    /// ```
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.shared.with(f)
    }

    /// A new receiver, which has seen the value that is there.
    ///
    /// ```
    /// let (sender, _receiver) = sisal::chan::watch(1);
    /// let mut late = sender.subscribe();
    /// assert!(!late.has_changed());
    /// sender.send(2);
    /// assert_eq!(late.get_new(), 2);
    /// ```
    pub fn subscribe(&self) -> WatchReceiver<T> {
        self.shared.subscribe(|news| news.version)
    }

    /// How many receivers there are.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// let other = receiver.clone();
    /// assert_eq!(sender.receiver_count(), 2);
    /// drop((receiver, other));
    /// assert_eq!(sender.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.shared.news.quietly(|news| news.receivers)
    }
}

impl<T> Drop for WatchSender<T> {
    fn drop(&mut self) {
        self.shared.news.change(|news| news.sender_is_gone = true);
    }
}

impl<T> fmt::Debug for WatchSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchSender").field("receivers", &self.receiver_count()).finish_non_exhaustive()
    }
}

/// Looks at the value of a [`watch`], and waits for it to change. A clone has seen what its original has.
///
/// ```
/// let (sender, mut receiver) = sisal::chan::watch(1);
/// assert!(!receiver.has_changed());
/// sender.send(2);
/// receiver.changed().unwrap();
/// assert_eq!(receiver.get(), 2);
/// drop(sender);
/// assert_eq!(receiver.changed(), Err(sisal::chan::RecvError::Closed));
/// ```
pub struct WatchReceiver<T> {
    shared: Arc<Shared<T>>,
    /// The version seen last.
    seen: u64,
}

// A panic while the value is looked at changes nothing.
impl<T> UnwindSafe for WatchReceiver<T> {}
impl<T> RefUnwindSafe for WatchReceiver<T> {}

impl<T> WatchReceiver<T> {
    /// A copy of the value, which does not count as seen by that.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// sender.send(2);
    /// assert_eq!(receiver.get(), 2);
    /// assert!(receiver.has_changed());
    /// ```
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.shared.with(T::clone)
    }

    /// Looks at the value in place. It does not count as seen by that.
    ///
    /// ```
    /// let (_sender, receiver) = sisal::chan::watch(String::from("sisal"));
    /// assert_eq!(receiver.with(|text| text.len()), 5);
    /// ```
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.shared.with(f)
    }

    /// A copy of the value, which counts as seen from now on.
    ///
    /// ```
    /// let (sender, mut receiver) = sisal::chan::watch(1);
    /// sender.send(2);
    /// assert_eq!(receiver.get_new(), 2);
    /// assert!(!receiver.has_changed());
    /// ```
    #[track_caller]
    pub fn get_new(&mut self) -> T
    where
        T: Clone,
    {
        let (value, seen) = self.shared.with(|value| (value.clone(), self.version()));
        self.seen = seen;
        value
    }

    /// Whether there is a newer value than the one seen last.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// assert!(!receiver.has_changed());
    /// sender.send(1);
    /// assert!(receiver.has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.version() != self.seen
    }

    /// Waits for a newer value than the one seen last; it counts as seen from now on.
    ///
    /// # Errors
    /// If the sender is gone and nothing newer is there, or if something from outside ended the wait.
    ///
    /// ```
    /// let (sender, mut receiver) = sisal::chan::watch(1);
    /// std::thread::spawn(move || sender.send(2));
    /// receiver.changed().unwrap();
    /// assert_eq!(receiver.get(), 2);
    /// ```
    #[track_caller]
    pub fn changed(&mut self) -> Result<(), RecvError> {
        self.changed_at(|| None, Location::caller()).map_err(|error| match error {
            RecvTimeoutError::Closed => RecvError::Closed,
            RecvTimeoutError::Cancelled(cancelled) => RecvError::Cancelled(cancelled),
            RecvTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// As [`changed`](Self::changed), for at most so long.
    ///
    /// # Errors
    /// As for [`changed`](Self::changed), and if the time is up.
    ///
    /// ```
    /// use sisal::chan::RecvTimeoutError;
    /// use std::time::Duration;
    /// let (_sender, mut receiver) = sisal::chan::watch(1);
    /// assert_eq!(receiver.changed_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
    /// ```
    #[track_caller]
    pub fn changed_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        self.changed_at(|| Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`changed`](Self::changed), until this time at most.
    ///
    /// # Errors
    /// As for [`changed_timeout`](Self::changed_timeout).
    ///
    /// ```
    /// use sisal::chan::RecvTimeoutError;
    /// use std::time::Instant;
    /// let (sender, mut receiver) = sisal::chan::watch(1);
    /// sender.send(2);
    /// assert_eq!(receiver.changed_deadline(Instant::now()), Ok(()));
    /// assert_eq!(receiver.changed_deadline(Instant::now()), Err(RecvTimeoutError::TimedOut));
    /// ```
    #[track_caller]
    pub fn changed_deadline(&mut self, deadline: Instant) -> Result<(), RecvTimeoutError> {
        self.changed_at(|| Some(Moment::of(deadline)), Location::caller())
    }

    /// As [`changed`](Self::changed), if that needs no wait.
    ///
    /// # Errors
    /// If there is nothing newer, and never will be if the sender is gone.
    ///
    /// ```
    /// use sisal::chan::TryRecvError;
    /// let (sender, mut receiver) = sisal::chan::watch(1);
    /// assert_eq!(receiver.try_changed(), Err(TryRecvError::Empty));
    /// sender.send(2);
    /// drop(sender);
    /// assert_eq!(receiver.try_changed(), Ok(()));
    /// assert_eq!(receiver.try_changed(), Err(TryRecvError::Closed));
    /// ```
    #[track_caller]
    pub fn try_changed(&mut self) -> Result<(), TryRecvError> {
        let place = Location::caller();
        let news = self.shared.news.quietly(|news| news.since(&mut self.seen));
        // Also in vain: whoever tries again and again has to let others have a turn.
        pay_fuel(place);
        match news {
            Some(Since::Newer) => Ok(()),
            Some(Since::Gone) => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Whether the sender is gone: the value stays as it is. There may still be a change that was not seen.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::watch(1);
    /// assert!(!receiver.is_closed());
    /// drop(sender);
    /// assert!(receiver.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.news.quietly(|news| news.sender_is_gone)
    }

    fn changed_at(&mut self, deadline: impl FnOnce() -> Option<Moment>, place: Place) -> Result<(), RecvTimeoutError> {
        match self.shared.news.wait(|news| news.since(&mut self.seen), deadline, place) {
            Ok(Since::Newer) => Ok(()),
            Ok(Since::Gone) => Err(RecvTimeoutError::Closed),
            Err(Ended::TimedOut) => Err(RecvTimeoutError::TimedOut),
            Err(Ended::Cancelled(cancelled)) => Err(RecvTimeoutError::Cancelled(cancelled)),
        }
    }

    fn version(&self) -> u64 {
        self.shared.news.quietly(|news| news.version)
    }
}

impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> WatchReceiver<T> {
        self.shared.subscribe(|_| self.seen)
    }
}

impl<T> Drop for WatchReceiver<T> {
    fn drop(&mut self) {
        self.shared.news.quietly(|news| news.receivers -= 1);
    }
}

impl<T> fmt::Debug for WatchReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchReceiver").field("has_changed", &self.has_changed()).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use std::collections::HashSet;

    fn model(f: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(f);
    }

    /// Two changes against one who watches until it has seen the last: it hears of a change whenever there is one that it has not
    /// seen. Reached: both heard of, and both as one.
    #[test]
    fn loom_watch_tells_of_the_last_change() {
        let seen: &'static std::sync::Mutex<HashSet<Vec<u32>>> = Box::leak(Box::default());
        model(move || {
            let (sender, mut receiver) = watch(0);
            let watcher = loom::thread::spawn(move || {
                let mut values = Vec::new();
                while values.last() != Some(&2) {
                    receiver.changed().unwrap();
                    values.push(receiver.get_new());
                }
                values
            });
            sender.send(1);
            sender.modify(|value| *value += 1);
            seen.lock().unwrap().insert(watcher.join().unwrap());
            drop(sender);
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([vec![1, 2], vec![2]]));
    }

    /// A change and the end of the sender, against one who watches: it hears of both, in this order. Reached: a change that is heard of before
    /// the end, and after it.
    #[test]
    fn loom_watch_tells_of_the_end_after_the_last_change() {
        let seen: &'static std::sync::Mutex<HashSet<bool>> = Box::leak(Box::default());
        model(move || {
            let (sender, mut receiver) = watch(0);
            let watcher = loom::thread::spawn(move || {
                let change = receiver.changed();
                seen.lock().unwrap().insert(receiver.is_closed());
                [change, receiver.changed()]
            });
            sender.send(1);
            drop(sender);
            assert_eq!(watcher.join().unwrap(), [Ok(()), Err(RecvError::Closed)]);
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([false, true]));
    }
}
