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
#![allow(unsafe_code, reason = "things are put into the frames of those who wait for them")]

use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{Waiting, me, park, pay_fuel, unpark};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe, Location, RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// A thing in a box of its own, so that what is idle can be listed without allocating under the lock.
struct Thing<T> {
    value: T,
    next: Option<Box<Thing<T>>>,
}

/// What a taken place has: a thing, or none yet.
type Content<T> = Option<Box<Thing<T>>>;

struct State<T> {
    /// The idle things, the one that came back last first.
    idle: Content<T>,
    idle_count: usize,
    /// How many places are taken.
    taken: usize,
    waiting: WaitList<Who>,
}

impl<T> State<T> {
    fn push(&mut self, mut thing: Box<Thing<T>>) {
        thing.next = self.idle.take();
        self.idle = Some(thing);
        self.idle_count += 1;
    }

    fn pop(&mut self) -> Content<T> {
        let mut thing = self.idle.take()?;
        self.idle = thing.next.take();
        self.idle_count -= 1;
        Some(thing)
    }
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        // One by one: a long list that drops itself would be as many calls deep.
        while self.pop().is_some() {}
    }
}

struct Shared<T> {
    create: Box<dyn Fn() -> T + Send + Sync>,
    reset: Box<dyn Fn(&mut T) + Send + Sync>,
    places: usize,
    state: Lock<State<T>>,
}

impl<T> Watched for Shared<T> {
    fn sight(&self) -> Sight {
        Sight::new("pool")
    }
}

impl<T> Shared<T> {
    /// Takes a place, if that needs no wait.
    #[inline]
    fn take(&self, state: &mut State<T>) -> Option<Content<T>> {
        if state.idle.is_some() {
            return Some(state.pop());
        }
        let is_free = state.taken < self.places;
        state.taken += usize::from(is_free);
        is_free.then_some(None)
    }

    fn take_at_once(&self) -> Option<Content<T>> {
        self.take(&mut self.state.lock())
    }

    fn take_by(&self, deadline: Option<Moment>, place: Place) -> Result<Content<T>, PoolTimeoutError> {
        let wait = Wait::new(me());
        let waiter = Waiter::solo(&wait);
        let mut handed: Content<T> = None;
        waiter.set_slot(ptr::from_mut(&mut handed).cast());
        // SAFETY: the waiter is claimed by the list and unparked, or gives up, below.
        if let Some(content) = unsafe { self.take_or_enlist(&waiter) } {
            return Ok(content);
        }
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Pool, object, place, deadline, cancellable: true };
        let error = match park(&wait, &waiting) {
            Woken::Object(_) => return Ok(handed),
            Woken::Deadline => PoolTimeoutError::TimedOut,
            Woken::Cancelled(cause) => PoolTimeoutError::Cancelled(Cancelled::by(cause)),
        };
        self.give_up(&waiter);
        Err(error)
    }

    /// Takes a place, or joins the list.
    ///
    /// # Safety
    /// Then the waiter and its slot, which has room for a content, stay where they are until it was claimed by the list and unparked, or
    /// has [given up](Self::give_up).
    unsafe fn take_or_enlist(&self, waiter: &Waiter<Who>) -> Option<Content<T>> {
        let mut state = self.state.lock();
        let taken = self.take(&mut state);
        if taken.is_none() {
            // SAFETY: the caller's promise.
            unsafe { state.waiting.push(waiter) };
        }
        taken
    }

    fn give_up(&self, waiter: &Waiter<Who>) {
        self.state.lock().waiting.remove(waiter);
    }

    /// Gives a taken place back.
    fn give_back(&self, content: Content<T>) {
        let mut state = self.state.lock();
        if let Some(waiter) = state.waiting.claim_first() {
            drop(state);
            // SAFETY: the slot is a place for this in the waiter's frame, which stays until it is unparked. What stood there was nothing.
            unsafe { waiter.hand_over().cast::<Content<T>>().write(content) };
            unpark(waiter.into_token());
            return;
        }
        match content {
            Some(thing) => state.push(thing),
            None => state.taken -= 1,
        }
    }
}

/// A taken place without a thing. Gives it back when it goes.
struct Vacancy<'a, T>(&'a Shared<T>);

impl<T> Drop for Vacancy<'_, T> {
    fn drop(&mut self) {
        self.0.give_back(None);
    }
}

/// A pool of at most `capacity` things, which are made by `create` when they are needed, lent, and put in order by `reset` when they come
/// back.
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
    let state = State { idle: None, idle_count: 0, taken: 0, waiting: WaitList::new() };
    let (create, reset) = (Box::new(create), Box::new(reset));
    Pool { shared: Arc::new(Shared { create, reset, places: capacity, state: Lock::new(state) }) }
}

/// Lends things, and takes them back: see [`pool`]. Clones lend the same things. When the last is gone, what is still lent is dropped
/// when it comes back.
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
            let thing = Box::new(Thing { value: (self.shared.create)(), next: None });
            std::mem::forget(vacancy);
            thing
        });
        PoolGuard { shared: Arc::clone(&self.shared), thing: Some(thing) }
    }

    /// How many things wait to be borrowed.
    pub fn idle(&self) -> usize {
        self.shared.state.lock().idle_count
    }

    /// How many things are lent, or being made.
    pub fn in_use(&self) -> usize {
        let state = self.shared.state.lock();
        state.taken - state.idle_count
    }

    /// How many things there may be.
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

/// A thing that a [`Pool`] has lent. When it is dropped, the thing is reset and goes back.
///
/// If the reset panics, the thing is dropped and its place is free. The panic goes on, unless this happens while unwinding from another.
///
/// ```
/// let pool = sisal::chan::pool(Vec::new, Vec::clear, 1);
/// let mut list = pool.get().unwrap();
/// list.push(7);
/// drop(list);
/// assert!(pool.get().unwrap().is_empty());
/// ```
#[must_use = "a thing that is dropped at once goes back at once"]
pub struct PoolGuard<T> {
    shared: Arc<Shared<T>>,
    /// None when the guard goes without giving it back.
    thing: Content<T>,
}

// As for the pool; what is lent is another matter.
impl<T: UnwindSafe> UnwindSafe for PoolGuard<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for PoolGuard<T> {}

impl<T> PoolGuard<T> {
    /// Drops the thing, for example because it is broken, and frees its place for a new one.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// pool.get().unwrap().discard();
    /// assert_eq!((pool.idle(), pool.in_use()), (0, 0));
    /// ```
    pub fn discard(mut self) {
        // It goes last, also if the drop panics: never are there more things than places.
        let _vacancy = Vacancy(&self.shared);
        drop(self.thing.take());
    }

    /// Keeps the thing for good, and frees its place for a new one.
    ///
    /// ```
    /// let pool = sisal::chan::pool(|| 7, |_| (), 1);
    /// let kept: u32 = pool.get().unwrap().detach();
    /// assert_eq!((kept, pool.in_use()), (7, 0));
    /// ```
    pub fn detach(mut self) -> T {
        let Some(thing) = self.thing.take() else { unreachable!("INVARIANT: there until the guard goes") };
        self.shared.give_back(None);
        thing.value
    }
}

impl<T> Deref for PoolGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.thing {
            Some(thing) => &thing.value,
            None => unreachable!("INVARIANT: there until the guard goes"),
        }
    }
}

impl<T> DerefMut for PoolGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.thing {
            Some(thing) => &mut thing.value,
            None => unreachable!("INVARIANT: there until the guard goes"),
        }
    }
}

impl<T> Drop for PoolGuard<T> {
    fn drop(&mut self) {
        let Some(mut thing) = self.thing.take() else { return };
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| (self.shared.reset)(&mut thing.value))) else {
            return self.shared.give_back(Some(thing));
        };
        let vacancy = Vacancy(&self.shared);
        drop(thing);
        drop(vacancy);
        // A second panic would end the process.
        if !std::thread::panicking() {
            panic::resume_unwind(payload);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PoolGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Display> fmt::Display for PoolGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Why [`Pool::get_timeout`] returned without a thing.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn those_who_wait_are_served_in_the_order_they_came_and_one_who_gave_up_is_passed_over() {
        let pool = pool(|| 7, |_| (), 1);
        let thing = pool.get().unwrap();
        let waits: [_; 4] = std::array::from_fn(|_| Wait::new(me()));
        let waiters = waits.each_ref().map(Waiter::solo);
        let mut handed: [Content<i32>; 4] = Default::default();
        for (waiter, handed) in waiters.iter().zip(&mut handed) {
            waiter.set_slot(ptr::from_mut(handed).cast());
            // SAFETY: all are claimed by the list, or give up, before the end of the test.
            assert!(unsafe { pool.shared.take_or_enlist(waiter) }.is_none());
        }
        assert!(waits[1].claim_own(Woken::Deadline));
        let is_served = |number: usize| waits[number].woken() == Some(Woken::Object(0));
        drop(thing);
        assert!(is_served(0) && !is_served(2));
        assert!(pool.try_get().is_none(), "nobody is served before those who wait");
        // Without a thing.
        drop(Vacancy(&pool.shared));
        assert!(is_served(2) && !is_served(3));
        pool.shared.give_up(&waiters[1]);
        pool.shared.give_up(&waiters[3]);
        assert_eq!(handed.map(|content| content.map(|thing| thing.value)), [Some(7), None, None, None]);
        assert_eq!((pool.idle(), pool.in_use()), (0, 1));
    }

    #[test]
    fn a_long_list_of_idle_things_goes_without_a_deep_stack() {
        let pool = pool(|| [0u8; 64], |_| (), usize::MAX);
        let many: Vec<_> = (0..100_000).map(|_| pool.get().unwrap()).collect();
        drop(many);
        assert_eq!(pool.idle(), 100_000);
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || drop(pool)).unwrap().join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::prim::atomic::{AtomicUsize, Ordering};
    use loom::thread;
    use std::collections::HashSet;
    use std::sync::Mutex;

    fn model(f: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(f);
    }

    /// Three who want the only thing, one of whom throws it away: nobody waits for ever, nobody has it together with another, and the one
    /// who comes after sees what was done before.
    #[test]
    fn loom_pool_serves_all_who_wait_one_at_a_time() {
        model(|| {
            let users = Arc::new(AtomicUsize::new(0));
            let pool = pool(|| 0, |_| (), 1);
            let user = |throws: bool| {
                let (pool, users) = (pool.clone(), Arc::clone(&users));
                move || {
                    let mut thing = pool.get().unwrap();
                    assert_eq!(users.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
                    *thing += 1;
                    users.fetch_sub(1, Ordering::Relaxed);
                    if throws { thing.discard() } else { drop(thing) }
                }
            };
            let others = [thread::spawn(user(false)), thread::spawn(user(true))];
            user(false)();
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(pool.in_use(), 0);
            assert!(*pool.get().unwrap() <= 2, "the thing of the one who threw it away is gone");
        });
    }

    /// One gives up while the thing comes back: it has left without, and the thing is idle or goes to the other; or it was handed the
    /// thing. Reached: both.
    #[test]
    fn loom_pool_loses_nothing_to_one_who_gives_up() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        model(move || {
            let pool = pool(|| 7, |_| (), 1);
            let thing = pool.get().unwrap();
            let patient = {
                let pool = pool.clone();
                thread::spawn(move || assert_eq!(*pool.get().unwrap(), 7))
            };
            let hasty = {
                let pool = pool.clone();
                thread::spawn(move || {
                    let place = Location::caller();
                    let wait = Wait::new(me());
                    let waiter = Waiter::solo(&wait);
                    let mut handed: Content<i32> = None;
                    waiter.set_slot(ptr::from_mut(&mut handed).cast());
                    // SAFETY: it gives up, or is claimed by the list and unparked, below.
                    if let Some(content) = unsafe { pool.shared.take_or_enlist(&waiter) } {
                        return drop(pool.lend(content));
                    }
                    let gave_up = wait.claim_own(Woken::Deadline);
                    if gave_up {
                        pool.shared.give_up(&waiter);
                        assert!(handed.is_none());
                    } else {
                        let waiting = Waiting {
                            reason: Reason::Pool,
                            object: Object::NONE,
                            place,
                            deadline: None,
                            cancellable: true,
                        };
                        assert_eq!(park(&wait, &waiting), Woken::Object(0));
                        assert_eq!(*pool.lend(handed), 7);
                    }
                    seen.lock().unwrap().insert(gave_up);
                })
            };
            drop(thing);
            patient.join().unwrap();
            hasty.join().unwrap();
            assert_eq!((pool.idle(), pool.in_use()), (1, 0));
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
}
