//! The lock of a readers-writer lock, without what it guards.
//!
//! # The words
//! Writers exclude one another by a [mutex](super::raw_mutex). The one who has it deals with the readers by this word:
//! ```text
//!   31                     2    1         0
//!  ┌────────────────────────┬─────────┬────────┐
//!  │ readers                │ WAITING │ WRITER │
//!  └────────────────────────┴─────────┴────────┘
//! ```
//! - readers: how many read.
//! - WRITER: somebody writes, or will as soon as nobody reads; no more readers come in.
//! - WAITING: readers wait for the writer to leave. Only together with WRITER, and changed only under the lock of the lists.
//!
//! # Protocol
//! - *Read*: if WRITER is clear, count one more reader. Otherwise spin for a moment; then, under the lock of the lists, look again, set
//!   WAITING, join the list of readers, and park. Whoever is unparked has been counted already.
//! - *Read no more*: count one less. The last one, if WRITER is set: under the lock of the lists, if still nobody reads and somebody writes
//!   or will, claim the writer if it is parked, and unpark it.
//! - *Write*: lock the mutex of the writers; set WRITER. If there are readers spin for a moment; then, under the lock of the lists, look
//!   again, and park in the place of the writer. Who is unparked writes.
//! - *Write no more*: without WAITING clear WRITER. With it, under the lock of the lists: claim all readers that wait, and exchange the word for
//!   their count; unpark them. Then unlock the mutex.
//! - *Downgrade*: the same, with one reader more, who was the writer.
//!
//! # Fairness
//! Readers wait for one writer at most, since all who wait go in when it leaves, before the next. A writer waits for those who read when
//! it is its turn, no others; and among writers the mutex is fair.
//!
//! # Why nobody is forgotten
//! - A reader that waits has set WAITING, under the lock, in an exchange that saw WRITER; the writer leaves by a later one, and sees it.
//! - A writer that parks has seen readers, under the lock, after it set WRITER. The last of them sees WRITER as it leaves, and comes to the
//!   lock later. It looks at the word again there, since it may be so late that the writer it meant is gone, and another one waits for other
//!   readers; who were counted before that one parked, and so are seen.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock of the lists")]

use super::raw_mutex::RawMutex;
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Claimed, Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::atomic::{AtomicU32, Ordering, spin_loop};
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};

const WRITER: u32 = 1;
const WAITING: u32 = 2;
const READER: u32 = 4;

/// So many that there are never that many, and counting more does not yet overflow.
const MOST_READERS: u32 = u32::MAX / READER / 2;

/// How often one looks before it parks, each time after twice as many pauses as before. None in the models.
const LOOKS: u32 = if cfg!(modelled) { 0 } else { 5 };

/// See the [module](self). The word comes first: objects are told apart by their addresses, and the mutex is another.
#[repr(C)]
pub(super) struct RawRwLock {
    word: AtomicU32,
    writers: RawMutex,
    lists: Lock<Lists>,
}

struct Lists {
    readers: WaitList<Who>,
    /// The one who has the mutex of the writers, if it waits for readers to leave.
    writer: WaitList<Who>,
}

fn readers(word: u32) -> u32 {
    word / READER
}

impl Watched for RawRwLock {
    fn sight(&self) -> Sight {
        let word = self.word.load(Ordering::Relaxed);
        let has_writer = word & WRITER != 0 && readers(word) == 0;
        let length = Some(readers(word) as usize);
        Sight { owner: self.writers.owner().filter(|_| has_writer), length, ..Sight::new("rwlock") }
    }
}

impl RawRwLock {
    const_fn! {
        pub(super) fn new() -> RawRwLock {
            let lists = Lists { readers: WaitList::new(), writer: WaitList::new() };
            RawRwLock { writers: RawMutex::new(), word: AtomicU32::new(0), lists: Lock::new(lists) }
        }
    }

    #[inline]
    pub(super) fn try_read(&self) -> bool {
        self.enter(self.word.load(Ordering::Relaxed)).is_ok()
    }

    #[inline]
    pub(super) fn read(&self, place: Place) {
        if !self.try_read() {
            self.read_contended(place);
        }
    }

    /// Counts one more reader, the word being `word` at first; says what it is if there is a writer.
    #[inline]
    fn enter(&self, mut word: u32) -> Result<(), u32> {
        while word & WRITER == 0 {
            assert!(readers(word) < MOST_READERS, "too many readers: guards were forgotten");
            // ORDERING: Acquire pairs with the Release of a writer that leaves.
            match self.word.compare_exchange_weak(word, word + READER, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
        Err(word)
    }

    #[cold]
    fn read_contended(&self, place: Place) {
        if self.spin(|word| self.enter(word).is_ok()) {
            return;
        }
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed by the list and unparked, since nothing else ends this wait.
        if !unsafe { self.enter_or_enlist(&waiter) } {
            self.park(&wait, Reason::ReadLock, place);
        }
    }

    /// Counts one more reader, or has it wait. True if it was counted.
    ///
    /// # Safety
    /// The waiter stays where it is until it was claimed and unparked.
    unsafe fn enter_or_enlist(&self, waiter: &Waiter<Who>) -> bool {
        let mut lists = self.lists.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            match self.enter(word) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
            // Relaxed: the writer comes to the list by its lock.
            match self.word.compare_exchange(word, word | WAITING, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // SAFETY: the caller's promise.
        unsafe { lists.readers.push(waiter) };
        false
    }

    /// # Safety
    /// The caller reads, and by this alone no more.
    #[inline]
    pub(super) unsafe fn unlock_read(&self) {
        // ORDERING: Release pairs with the Acquire of the next writer, here or in `wake_writer`.
        let before = self.word.fetch_sub(READER, Ordering::Release);
        debug_assert!(readers(before) > 0, "INVARIANT: only one who reads leaves");
        if before & !WAITING == READER | WRITER {
            self.wake_writer();
        }
    }

    /// The last reader has left: the writer may come in, if it is parked.
    #[cold]
    fn wake_writer(&self) {
        let mut lists = self.lists.lock();
        // ORDERING: Acquire pairs with the Release of all readers that have left: the writer, unparked by us, comes after them.
        let word = self.word.load(Ordering::Acquire);
        let writer = if readers(word) == 0 { lists.writer.claim_first() } else { None };
        drop(lists);
        if let Some(token) = writer.map(Claimed::into_token) {
            park::unpark(token);
        }
    }

    #[inline]
    pub(super) fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        // ORDERING: Acquire pairs with the Release of readers and writers that leave.
        let free = self.word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !free {
            // SAFETY: locked above.
            unsafe { self.writers.unlock() };
        }
        free
    }

    #[inline]
    pub(super) fn write(&self, place: Place) {
        self.writers.lock(Reason::WriteLock, place);
        // ORDERING: Acquire, as in `try_write`.
        if self.word.fetch_or(WRITER, Ordering::Acquire) != 0 {
            self.wait_for_readers(place);
        }
    }

    #[cold]
    fn wait_for_readers(&self, place: Place) {
        if self.spin(|_| self.are_readers_gone()) {
            return;
        }
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        {
            let mut lists = self.lists.lock();
            if self.are_readers_gone() {
                return;
            }
            // SAFETY: claimed by the list and unparked, since nothing else ends this wait.
            unsafe { lists.writer.push(&waiter) };
        }
        self.park(&wait, Reason::WriteLock, place);
    }

    fn are_readers_gone(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of all readers that have left.
        readers(self.word.load(Ordering::Acquire)) == 0
    }

    /// # Safety
    /// The caller writes, and by this alone no more.
    #[inline]
    pub(super) unsafe fn unlock_write(&self) {
        self.leave_to_readers(0);
        // SAFETY: locked by `write` or `try_write`.
        unsafe { self.writers.unlock() };
    }

    /// # Safety
    /// The caller writes; from now on it reads.
    pub(super) unsafe fn downgrade(&self) {
        self.leave_to_readers(1);
        // SAFETY: locked by `write` or `try_write`.
        unsafe { self.writers.unlock() };
    }

    /// The writer leaves to those readers that wait, and so many others.
    #[inline]
    fn leave_to_readers(&self, others: u32) {
        // ORDERING: Release pairs with the Acquire of whoever comes next, here and below.
        if self.word.compare_exchange(WRITER, others * READER, Ordering::Release, Ordering::Relaxed).is_err() {
            self.admit_readers(others);
        }
    }

    #[cold]
    fn admit_readers(&self, others: u32) {
        let mut lists = self.lists.lock();
        // All are claimed: nothing else ends their waits.
        let count = others + lists.readers.len() as u32;
        let waiting = lists.readers.claim_all();
        let before = self.word.swap(count * READER, Ordering::Release);
        debug_assert!(before == WRITER | WAITING, "INVARIANT: nobody reads while somebody writes");
        drop(lists);
        waiting.for_each(park::unpark);
    }

    fn spin(&self, mut done: impl FnMut(u32) -> bool) -> bool {
        (0..LOOKS).any(|look| {
            (0..1 << look).for_each(|_| spin_loop());
            done(self.word.load(Ordering::Relaxed))
        })
    }

    fn park(&self, wait: &Wait<Who>, reason: Reason, place: Place) {
        let object = Object::of(self);
        let woken = park::park(wait, &Waiting { reason, object, place, deadline: None, cancellable: false });
        debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but the lock ends this wait");
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check};
    use super::*;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;
    use std::panic::Location;

    /// A lock, and a number it guards.
    struct Guarded {
        raw: RawRwLock,
        number: UnsafeCell<u32>,
    }

    // SAFETY: the cell is touched under the lock, which the model checks.
    unsafe impl Sync for Guarded {}
    // SAFETY: as above.
    unsafe impl Send for Guarded {}

    impl Guarded {
        fn new() -> Arc<Guarded> {
            Arc::new(Guarded { raw: RawRwLock::new(), number: UnsafeCell::new(0) })
        }

        fn read(&self) -> u32 {
            self.raw.read(Location::caller());
            self.leave_reading()
        }

        fn leave_reading(&self) -> u32 {
            // SAFETY: under the lock.
            let number = self.number.with(|number| unsafe { *number });
            // SAFETY: the caller reads.
            unsafe { self.raw.unlock_read() };
            number
        }

        fn add_one(&self) {
            // SAFETY: under the lock.
            self.number.with_mut(|number| unsafe { *number += 1 });
        }

        fn write(&self) {
            self.raw.write(Location::caller());
            self.add_one();
            // SAFETY: the caller writes.
            unsafe { self.raw.unlock_write() };
        }

        /// All are done: nothing is left of them.
        fn assert_unlocked(&self) {
            assert_eq!(self.raw.word.load(Ordering::Relaxed), 0);
            assert!(self.raw.try_write());
        }
    }

    fn spawn<T: 'static>(guarded: &Arc<Guarded>, f: impl FnOnce(&Guarded) -> T + 'static) -> thread::JoinHandle<T> {
        let guarded = guarded.clone();
        thread::spawn(move || f(&guarded))
    }

    /// One writes twice, two read: nobody is inside with a writer, and nobody is forgotten; not even if the last reader is so late that
    /// the writer waits for the other one by now. Reached: everything there is to read.
    #[test]
    fn loom_rwlock_two_readers_and_a_writer() {
        let read = Outcomes::new();
        check(2, move || {
            let guarded = Guarded::new();
            let readers = [spawn(&guarded, Guarded::read), spawn(&guarded, Guarded::read)];
            guarded.write();
            guarded.write();
            read.note(readers.map(|reader| reader.join().unwrap()));
            guarded.assert_unlocked();
        });
        read.assert((0..3).flat_map(|one| (0..3).map(move |other| [one, other])));
    }

    /// Two write, one reads.
    #[test]
    fn loom_rwlock_two_writers_and_a_reader() {
        let read = Outcomes::new();
        check(2, move || {
            let guarded = Guarded::new();
            let writers = [spawn(&guarded, Guarded::write), spawn(&guarded, Guarded::write)];
            read.note(guarded.read());
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            guarded.assert_unlocked();
        });
        read.assert(0..3);
    }

    /// A writer goes on as a reader, with another reader and another writer about: it reads what it has written.
    #[test]
    fn loom_rwlock_downgraded() {
        let read = Outcomes::new();
        check(2, move || {
            let guarded = Guarded::new();
            let (reader, writer) = (spawn(&guarded, Guarded::read), spawn(&guarded, Guarded::write));
            guarded.raw.write(Location::caller());
            guarded.add_one();
            // SAFETY: written before the other, or after it; nobody has written since.
            let mine = guarded.number.with(|number| unsafe { *number });
            // SAFETY: we write.
            unsafe { guarded.raw.downgrade() };
            assert_eq!(guarded.leave_reading(), mine);
            read.note((mine, reader.join().unwrap()));
            writer.join().unwrap();
            guarded.assert_unlocked();
        });
        read.assert([1, 2].into_iter().flat_map(|mine| (0..3).map(move |other| (mine, other))));
    }
}
