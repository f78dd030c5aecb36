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
//! - WAITING: readers wait for the writer to leave, or have until they gave up. Only together with WRITER, and changed only under the lock of
//!   the lists.
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
//! - *A reader gives up* at its deadline: it takes itself off the list. If it was the last there, the writer finds nobody.
//! - *A writer gives up* at its deadline: under the lock of the lists it takes itself off, claims all readers that wait, clears both bits and counts
//!   those readers, by one addition, since those who read may leave meanwhile; it unparks them. Then it unlocks the mutex.
//!   The last reader may come to the lists after that, and finds nobody, or the next writer.
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
use crate::prim::clock::Moment;
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
            self.read_contended(place, None);
        }
    }

    /// Reads by `deadline`; false if that came first.
    #[must_use]
    pub(super) fn read_until(&self, place: Place, deadline: impl FnOnce() -> Moment) -> bool {
        self.try_read() || self.read_contended(place, Some(deadline()))
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
    fn read_contended(&self, place: Place, deadline: Option<Moment>) -> bool {
        if self.spin(|word| self.enter(word).is_ok()) {
            return true;
        }
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed by the list and unparked, or taken off below.
        let reads = unsafe { self.enter_or_enlist(&waiter) } || self.park(&wait, Reason::ReadLock, place, deadline);
        if !reads {
            self.delist_reader(&waiter);
        }
        reads
    }

    /// Counts one more reader, or has it wait. True if it was counted.
    ///
    /// # Safety
    /// The waiter stays where it is until it was claimed and unparked, or [taken off](Self::delist_reader).
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

    /// Takes a reader off that gives up.
    fn delist_reader(&self, waiter: &Waiter<Who>) {
        self.lists.lock().readers.remove(waiter);
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
            self.wait_for_readers(place, None);
        }
    }

    /// Writes by `deadline`; false if that came first.
    #[must_use]
    pub(super) fn write_until(&self, place: Place, deadline: impl FnOnce() -> Moment) -> bool {
        if self.try_write() {
            return true;
        }
        let deadline = deadline();
        if !self.writers.lock_until(Reason::WriteLock, place, || deadline) {
            return false;
        }
        // ORDERING: Acquire, as in `try_write`.
        let writes = self.word.fetch_or(WRITER, Ordering::Acquire) == 0 || self.wait_for_readers(place, Some(deadline));
        if !writes {
            // SAFETY: locked above.
            unsafe { self.writers.unlock() };
        }
        writes
    }

    /// WRITER is set: waits for those who read. If they take too long, it is cleared again.
    #[cold]
    fn wait_for_readers(&self, place: Place, deadline: Option<Moment>) -> bool {
        if self.spin(|_| self.are_readers_gone()) {
            return true;
        }
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed by the list and unparked, or taken off below.
        let waits = unsafe { self.enlist_writer(&waiter) };
        let writes = !waits || self.park(&wait, Reason::WriteLock, place, deadline);
        if !writes {
            self.turn_back(&waiter);
        }
        writes
    }

    /// Has the writer wait, unless nobody reads any more.
    ///
    /// # Safety
    /// The waiter stays where it is until it was claimed and unparked, or [taken off](Self::turn_back).
    unsafe fn enlist_writer(&self, waiter: &Waiter<Who>) -> bool {
        let mut lists = self.lists.lock();
        let waits = !self.are_readers_gone();
        if waits {
            // SAFETY: the caller's promise.
            unsafe { lists.writer.push(waiter) };
        }
        waits
    }

    /// The writer goes before it has written: those who wait for it come in, to those who read.
    #[cold]
    fn turn_back(&self, writer: &Waiter<Who>) {
        let mut lists = self.lists.lock();
        lists.writer.remove(writer);
        let waiting = lists.readers.claim_all();
        // WRITER is ours, and WAITING changes under this lock only.
        let bits = self.word.load(Ordering::Relaxed) & (WRITER | WAITING);
        let more = waiting.len() as u32 * READER;
        // Relaxed: nothing was written, and what others have written is passed on by any exchange.
        self.word.fetch_add(more.wrapping_sub(bits), Ordering::Relaxed);
        drop(lists);
        waiting.for_each(park::unpark);
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
        let waiting = lists.readers.claim_all();
        let count = others + waiting.len() as u32;
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

    /// False if the deadline came first.
    fn park(&self, wait: &Wait<Who>, reason: Reason, place: Place, deadline: Option<Moment>) -> bool {
        let object = Object::of(self);
        match park::park(wait, &Waiting { reason, object, place, deadline, cancellable: false }) {
            Woken::Object(_) => true,
            Woken::Deadline => false,
            Woken::Cancelled(_) => unreachable!("INVARIANT: a wait for a lock can't be cancelled"),
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models;
