//! How transactions run and commit: the protocol of this module; and its last part, by which what a run wrote becomes visible, all at
//! once.
//!
//! # Protocol
//! It is that of TL2, with short locks. There is one [*clock*](super::clock) for all variables. Every variable has a [*stamp*](super::stamp): the
//! reading of the clock at its last change (its version), and a bit that says that somebody is about to change it. Its value and the
//! list of those who wait for it are under its lock, which is held for a few instructions.
//!
//! *Begin*: the *snapshot* is the clock.
//!
//! *Read*: wait until the variable is not about to change, for those few instructions. Then take version and value, under its lock. A
//! version up to the snapshot is good. A later one is good if nothing read so far has changed: load the clock, compare all stamps
//! with the versions read, and let the loaded clock be the new snapshot. Else the run is thrown away.
//!
//! *Write*: keep the value until the commit.
//!
//! *Commit*, if anything was written (else there is nothing to do: all that was read was there together at the snapshot):
//! 1. In the order of their addresses, set the bit of each written variable, waiting for whoever has set it before.
//! 2. Add one to the clock: that is the new version.
//! 3. Compare the stamps of what was read with the versions read. If one differs, or somebody else has set its bit, take
//!    the bits back: the run is thrown away.
//! 4. For each written variable, under its lock: exchange the value, set the stamp to the new version without the bit, claim
//!    all who wait.
//! 5. With nothing held: unpark them; drop the old values.
//!
//! *Retry*: link a waiter to every variable read, each under its lock and only if its version is still the one read. If one is not,
//! take them off and start again at once. Else park. Whoever changes one of them claims the wait; then take the waiters off and start
//! again.
//!
//! # Why it is right
//! *A run sees the memory of its snapshot.* Let a commit get the version `v`. It set its bits before it added to the clock; so whoever
//! has a snapshot of `v` or later finds the bit, or what came after: it waits for the new value. Whoever has an earlier snapshot finds
//! the old version, or one later than its snapshot, and compares. The comparison finds every commit up to the new snapshot, for the
//! same reason.
//!
//! *Commits are as if one after the other.* If each of two has read what the other writes, both have set their bits before
//! they added to the clock. The one that added later sees the bit of the other, or its new version, and fails.
//!
//! *Nobody waits in a circle.* Bits are taken in one order; a variable's own lock is the last thing anybody takes.
//!
//! *No wake is lost.* Under a variable's lock its value and its version belong together, since step 4 changes both under it. So a
//! waiter either finds the new version, or it is linked before the change, and step 4 finds it.
//!
//! *Everybody gets through*: see [`gate`](super::gate).
//!
//! Between step 1 and step 4 nothing is called that could park, panic or belong to the user: values are made before, dropped after,
//! and cloned from a counted reference that was taken under the lock.

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
            Some((version, _)) => entry.cell.stamp.is_settled_at(*version),
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
