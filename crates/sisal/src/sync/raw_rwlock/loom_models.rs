//! Models of the readers-writer lock.
#![allow(unsafe_code, reason = "the lock is given back by hand")]

use super::super::models::{Outcomes, check, give_up_or_park};
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

    /// As [`RawRwLock::read_contended`] does it, but gives up when it would have to park. True if it read.
    fn read_or_give_up(&self) -> bool {
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: claimed and unparked, or taken off, before this is over.
        if !unsafe { self.raw.enter_or_enlist(&waiter) } && give_up_or_park(&wait) {
            self.raw.delist_reader(&waiter);
            return false;
        }
        self.leave_reading();
        true
    }

    /// As [`RawRwLock::write_until`] does it, but gives up when it would have to park for readers.
    fn write_or_give_up(&self) -> Written {
        self.raw.writers.lock(Reason::WriteLock, Location::caller());
        if self.raw.word.fetch_or(WRITER, Ordering::Acquire) != 0 {
            let wait = Wait::new(park::me());
            let waiter = Waiter::solo(&wait);
            // SAFETY: claimed and unparked, or taken off, before this is over.
            if unsafe { self.raw.enlist_writer(&waiter) } && give_up_or_park(&wait) {
                let kept_out = self.raw.word.load(Ordering::Relaxed) & WAITING != 0;
                self.raw.turn_back(&waiter);
                // SAFETY: locked above.
                unsafe { self.raw.writers.unlock() };
                return if kept_out { Written::NotAndLetIn } else { Written::Not };
            }
        }
        self.add_one();
        // SAFETY: we write.
        unsafe { self.raw.unlock_write() };
        Written::Once
    }

    /// All are done: nothing is left of them.
    fn assert_unlocked(&self) {
        assert_eq!(self.raw.word.load(Ordering::Relaxed), 0);
        {
            let lists = self.raw.lists.lock();
            assert!(lists.readers.is_empty() && lists.writer.is_empty());
        }
        assert!(self.raw.try_write());
    }
}

/// What came of a write that may be given up.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Written {
    Once,
    Not,
    /// And a reader had waited for that.
    NotAndLetIn,
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

/// A writer gives up while one reads and another comes, which may wait for it: both come in. Reached: it wrote, it did not, and one had waited.
#[test]
fn loom_rwlock_writer_turns_back() {
    let seen = Outcomes::new();
    check(3, move || {
        let guarded = Guarded::new();
        let others = [spawn(&guarded, Guarded::read), spawn(&guarded, Guarded::read)];
        let written = guarded.write_or_give_up();
        let most = u32::from(written == Written::Once);
        assert!(others.into_iter().all(|other| other.join().unwrap() <= most));
        guarded.assert_unlocked();
        seen.note(written);
    });
    seen.assert([Written::Once, Written::Not, Written::NotAndLetIn]);
}

/// A reader gives up while one writes and another reader waits: the other comes in, and only it is counted. Reached: it read, and it
/// did not.
#[test]
fn loom_rwlock_reader_gives_up() {
    let seen = Outcomes::new();
    check(3, move || {
        let guarded = Guarded::new();
        let writer = spawn(&guarded, Guarded::write);
        let other = spawn(&guarded, Guarded::read);
        seen.note(guarded.read_or_give_up());
        other.join().unwrap();
        writer.join().unwrap();
        guarded.assert_unlocked();
    });
    seen.assert([false, true]);
}
