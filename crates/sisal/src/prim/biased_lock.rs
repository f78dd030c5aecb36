//! A lock for a few instructions at a time.
//!
//! It spins, and from a while on lets the kernel run others, in case its holder has been preempted. Nothing that waits, calls
//! user code or allocates much is done under it.
//!
//! # Bias
//! Most channels and locks are used by fibers of one worker, for a while or for ever, and then even an uncontended read-modify-write
//! is most of what the lock costs. So a lock that one thread has taken [`BIAS_AFTER`] times in a row becomes that thread's own: it takes it
//! by a store and a load. The first other thread to come takes the bias away for good, which costs one [`heavy`](barrier::heavy) barrier.
//!
//! - `held`: 1 while somebody has it who does not own it.
//! - `owner`: the thread it is biased to, or UNBIASED at first, or REVOKED at last. Written by whoever has `held`.
//! - `busy`: 1 while its owner has it.
//!
//! *Owner*: set `busy`; light barrier; if it still is the owner, it has the lock, and gives it back by clearing `busy`. If not, clear
//! `busy` and come like everybody else.
//! *Everybody else*: exchange 1 into `held`. If there is an owner: write REVOKED; heavy barrier; wait until `busy` is clear. Now the lock is
//! had; clearing `held` gives it back.
//!
//! Why only one has it: `held` keeps all but the owner apart. The owner writes `busy` and then reads `owner`, who revokes writes `owner`
//! and then reads `busy`, with barriers between that make at least one see the other's write: the owner sees that it has lost the
//! bias and leaves, or who revokes sees that it is busy and waits.
#![allow(unsafe_code, reason = "a lock hands out access to what it guards")]

mod words;

pub(crate) use self::words::Others;

use super::atomic::{AtomicU32, Backoff, Ordering};
use super::thread_number::{self, ThreadNumber};
use super::{barrier, const_fn, fork};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// How often in a row a thread takes a lock before the lock is biased to it. Taking the bias away costs about a hundred uncontended
/// locks, so what lives shortly should have none.
const BIAS_AFTER: u32 = 64;

const UNBIASED: ThreadNumber = 0;
const REVOKED: ThreadNumber = u32::MAX;

/// See the [module](self).
///
/// The words come first, so that whoever puts something small before a lock has it in the same line.
#[repr(C)]
pub(crate) struct Lock<T> {
    held: AtomicU32,
    owner: AtomicU32,
    busy: AtomicU32,
    /// INVARIANT: used by whoever has `held`.
    history: UnsafeCell<History>,
    value: UnsafeCell<T>,
}

/// Who took the lock last, and how often in a row.
struct History {
    thread: ThreadNumber,
    times: u32,
}

// SAFETY: the value is reached by one holder at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

// Nothing that could panic is done under it, so nobody sees a half-done change.
impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

/// Gives the lock back when it goes.
pub(crate) struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    /// What says that the lock is taken: `busy` or `held`.
    taken: &'a AtomicU32,
}

/// As [`LockGuard`], of whose own the lock is: it takes one register (`pingpong-1`).
pub(crate) struct OwnGuard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    const_fn! {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock {
                held: AtomicU32::new(0),
                owner: AtomicU32::new(UNBIASED),
                busy: AtomicU32::new(0),
                history: UnsafeCell::new(History { thread: UNBIASED, times: 0 }),
                value: UnsafeCell::new(value),
            }
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        self.lock_as(thread_number::current())
    }

    /// As [`lock`](Self::lock), for a caller who knows its number.
    #[inline(always)]
    pub(crate) fn lock_as(&self, me: ThreadNumber) -> LockGuard<'_, T> {
        debug_assert_eq!(me, thread_number::current(), "INVARIANT: its own");
        if self.try_own(me) {
            return LockGuard { lock: self, taken: &self.busy };
        }
        self.lock_as_others(me);
        LockGuard { lock: self, taken: &self.held }
    }

    /// Apart, so that all that it needs is not kept for it where the lock is the caller's own (`pingpong-1`).
    #[inline(never)]
    fn lock_as_others(&self, me: ThreadNumber) {
        self.lock_shared(me);
    }

    /// Whether it is the own lock of one thread, as far as can be seen.
    #[inline(always)]
    pub(crate) fn is_biased(&self) -> bool {
        !matches!(self.owner.load(Ordering::Relaxed), UNBIASED | REVOKED)
    }

    /// The lock, if it is that of `me`, the calling thread.
    #[inline(always)]
    pub(crate) fn lock_own(&self, me: ThreadNumber) -> Option<OwnGuard<'_, T>> {
        debug_assert_eq!(me, thread_number::current(), "INVARIANT: its own");
        self.try_own(me).then(|| OwnGuard(self))
    }

    /// The lock that was kept.
    ///
    /// # Safety
    /// This thread has [kept](OwnGuard::keep) it, and has it again for the first time since.
    #[inline(always)]
    pub(crate) unsafe fn own_again(&self) -> OwnGuard<'_, T> {
        OwnGuard(self)
    }

    /// Takes the lock for `me`, the calling thread, if it is biased to that.
    #[inline(always)]
    fn try_own(&self, me: ThreadNumber) -> bool {
        if self.owner.load(Ordering::Relaxed) != me {
            return false;
        }
        self.busy.store(1, Ordering::Relaxed);
        // ORDERING: pairs with the heavy barrier in `revoke`; see the module.
        barrier::light();
        if self.owner.load(Ordering::Relaxed) == me {
            return true;
        }
        // ORDERING: Release pairs with the Acquire in `revoke`.
        self.busy.store(0, Ordering::Release);
        false
    }

    /// Takes the lock like everybody else; whether another thread has had it, if that can be told.
    #[inline]
    fn lock_shared(&self, me: ThreadNumber) -> bool {
        if !self.try_hold() {
            self.lock_contended();
        }
        match self.owner.load(Ordering::Relaxed) {
            REVOKED => true,
            UNBIASED => self.note(me),
            _ => {
                self.revoke();
                true
            }
        }
    }

    #[inline]
    fn try_hold(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in the guard's drop.
        if cfg!(loom) {
            // loom 0.7 does not know that nothing comes between what an exchange reads and what it writes: it lets the holder's later 0
            // come before a 1 put upon its 1, and then the lock is held for ever. A comparison that fails puts nothing.
            self.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        } else {
            self.held.swap(1, Ordering::Acquire) == 0
        }
    }

    #[cold]
    fn lock_contended(&self) {
        // There whoever has it may be a thread that does not exist.
        fork::refuse_in_child();
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            // Looked at before it is tried: a failed exchange takes the cache line away from the holder.
            if self.held.load(Ordering::Relaxed) == 0 && self.try_hold() {
                return;
            }
        }
    }

    /// Biases the lock to the thread that has it, if it has often had it; whether another had it the last time.
    #[inline]
    fn note(&self, me: ThreadNumber) -> bool {
        // SAFETY: we have `held`.
        let history = unsafe { &mut *self.history.get() };
        let last = history.thread;
        if last != me {
            *history = History { thread: me, times: 0 };
        }
        history.times += 1;
        if history.times == BIAS_AFTER {
            self.owner.store(if barrier::is_supported() { me } else { REVOKED }, Ordering::Relaxed);
        }
        last != me && last != UNBIASED
    }

    /// Takes the lock away from its owner for good.
    #[cold]
    fn revoke(&self) {
        fork::refuse_in_child();
        self.owner.store(REVOKED, Ordering::Relaxed);
        // ORDERING: pairs with the light barrier in `try_own`; see the module.
        barrier::heavy();
        let mut backoff = Backoff::new();
        // ORDERING: Acquire pairs with the Release by which the owner gives it back.
        while self.busy.load(Ordering::Acquire) != 0 {
            backoff.pause();
        }
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock, and nobody else has this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> OwnGuard<'_, T> {
    /// The lock stays taken, until somebody [has it again](Lock::own_again) and gives it back.
    #[inline(always)]
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl<T> Deref for OwnGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for OwnGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `LockGuard`.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for OwnGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `revoke`.
        self.0.busy.store(0, Ordering::Release);
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `try_hold` or `revoke`.
        self.taken.store(0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// A value whose accesses the model watches, and a word that gives it occasion to switch threads amid them.
    struct Guarded {
        value: UnsafeCell<u32>,
        beside: AtomicU32,
    }

    /// Adds one under the lock; what was there before.
    fn add(lock: &Lock<Guarded>) -> u32 {
        let guarded = lock.lock();
        // SAFETY: we hold the lock, which is what the model checks.
        let found = guarded.value.with(|value| unsafe { *value });
        assert_eq!(guarded.beside.fetch_add(1, Ordering::Relaxed), found, "alone");
        // SAFETY: as above.
        guarded.value.with_mut(|value| unsafe { *value = found + 1 });
        found
    }

    /// The owner takes a biased lock twice, and another thread, that takes the bias away, too: never both at a time, and the later sees
    /// what the earlier did. Reached: all six orders.
    #[test]
    fn loom_lock_keeps_its_owner_and_others_apart() {
        let seen: &'static Mutex<HashSet<[u32; 4]>> = Box::leak(Box::default());
        loom::model(move || {
            let guarded = Guarded { value: UnsafeCell::new(0), beside: AtomicU32::new(0) };
            let lock = Arc::new(Lock::new(guarded));
            lock.owner.store(thread_number::current(), Ordering::Relaxed);
            let other = {
                let lock = lock.clone();
                loom::thread::spawn(move || [add(&lock), add(&lock)])
            };
            let [first, second] = [add(&lock), add(&lock)];
            let [third, fourth] = other.join().unwrap();
            let mut turns = [first, second, third, fourth];
            seen.lock().unwrap().insert(turns);
            turns.sort_unstable();
            assert_eq!(turns, [0, 1, 2, 3]);
            assert_eq!(lock.owner.load(Ordering::Relaxed), REVOKED);
        });
        assert_eq!(seen.lock().unwrap().len(), 6);
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    #[test]
    fn a_biased_lock_still_keeps_threads_apart_when_others_come() {
        const TIMES: usize = 20_000;
        for _ in 0..20 {
            let lock = Arc::new(Lock::new(0usize));
            (0..BIAS_AFTER).for_each(|_| drop(lock.lock()));
            let start = Arc::new(Barrier::new(3));
            let add = |lock: &Lock<usize>| {
                for _ in 0..TIMES {
                    let mut value = lock.lock();
                    let found = *value;
                    std::hint::black_box(&mut value);
                    *value = found + 1;
                }
            };
            let others = [(); 2].map(|()| {
                let (lock, start) = (Arc::clone(&lock), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    add(&lock);
                })
            });
            start.wait();
            add(&lock);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(*lock.lock(), 3 * TIMES);
            assert_eq!(lock.owner.load(Ordering::Relaxed), REVOKED);
        }
    }
}
