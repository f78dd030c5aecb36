//! The end of a run that has succeeded: what it wrote becomes visible, all at once. The steps are those of the
//! [protocol](super).

use super::domain;
use super::stamp::Version;
use super::transaction::Transaction;
use crate::park::unpark;

impl Transaction {
    /// Makes what was written visible, if what was read is still as it was; true if so. Parks nowhere.
    #[must_use]
    pub(super) fn commit(&mut self) -> bool {
        if self.has_conflict {
            return false;
        }
        if !self.writes() {
            return true;
        }
        self.acquire();
        let version = domain::clock().advance();
        if !self.reads_are_current() {
            self.release();
            return false;
        }
        self.publish(version);
        self.wake();
        true
    }

    pub(super) fn writes(&mut self) -> bool {
        self.journal.entries().any(|entry| entry.new.is_some())
    }

    /// Step 1.
    fn acquire(&mut self) {
        for entry in self.journal.entries().filter(|entry| entry.new.is_some()) {
            entry.before = entry.cell.stamp.acquire();
        }
    }

    /// Step 3.
    fn reads_are_current(&mut self) -> bool {
        self.journal.entries().all(|entry| match &entry.seen {
            None => true,
            Some((version, _)) if entry.new.is_some() => entry.before == *version,
            Some((version, _)) => entry.cell.stamp.settled() == Some(*version),
        })
    }

    fn release(&mut self) {
        for entry in self.journal.entries().filter(|entry| entry.new.is_some()) {
            entry.cell.stamp.release(entry.before);
        }
    }

    /// Step 4. The old values stay in the journal.
    fn publish(&mut self, version: Version) {
        for entry in self.journal.entries() {
            if let Some(new) = &mut entry.new {
                entry.woken = Some(entry.cell.publish(new, version));
            }
        }
    }

    /// Step 5.
    fn wake(&mut self) {
        self.journal.entries().filter_map(|entry| entry.woken.take()).flatten().for_each(unpark);
    }
}
