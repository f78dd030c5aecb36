//! What one run of a transaction has read and written.

use super::stamp::Version;
use super::var::{Cell, Value};
use crate::fiber::wait_list::ClaimedAll;
use crate::fiber::who::Who;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run knows of one variable.
pub(super) struct Entry {
    pub(super) cell: Arc<Cell>,
    /// As it was read, if it was.
    pub(super) seen: Option<(Version, Value)>,
    /// What it is to be, if it was written. After the commit: what it was before.
    pub(super) new: Option<Value>,
    /// During the commit: the version it had when it was made busy.
    pub(super) before: Version,
    /// During the commit: who waited for a change.
    pub(super) woken: Option<ClaimedAll<Who>>,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Journal {
    /// By address, which is the order of commits.
    entries: BTreeMap<usize, Entry>,
    /// What writes have replaced, oldest first, while something may have to be undone.
    undo: Vec<(usize, Option<Value>)>,
    /// How many branches we are in that may have to be undone.
    depth: usize,
}

/// A moment to go back to.
pub(super) struct Mark(usize);

impl Journal {
    /// What the run sees as the variable's value, if it has read or written it.
    pub(super) fn value(&self, cell: &Arc<Cell>) -> Option<&Value> {
        let entry = self.entries.get(&address(cell))?;
        entry.new.as_ref().or(entry.seen.as_ref().map(|(_, value)| value))
    }

    /// Whether the run has read or written the variable.
    pub(super) fn knows(&self, cell: &Arc<Cell>) -> bool {
        self.value(cell).is_some()
    }

    fn entry(&mut self, cell: &Arc<Cell>) -> &mut Entry {
        self.entries.entry(address(cell)).or_insert_with(|| Entry {
            cell: Arc::clone(cell),
            seen: None,
            new: None,
            before: 0,
            woken: None,
        })
    }

    /// The variable was read for the first time.
    pub(super) fn note_read(&mut self, cell: &Arc<Cell>, version: Version, value: Value) -> &Value {
        let entry = self.entry(cell);
        debug_assert!(entry.seen.is_none(), "INVARIANT: a variable is read once in a run");
        &entry.seen.insert((version, value)).1
    }

    pub(super) fn note_write(&mut self, cell: &Arc<Cell>, value: Value) {
        let replaced = self.entry(cell).new.replace(value);
        if self.depth > 0 {
            self.undo.push((address(cell), replaced));
        }
    }

    /// From here on writes may have to be undone.
    pub(super) fn mark(&mut self) -> Mark {
        self.depth += 1;
        Mark(self.undo.len())
    }

    /// Keeps what was written since the mark. (A branch around it may still be undone.)
    pub(super) fn keep(&mut self, _mark: Mark) {
        self.depth -= 1;
        if self.depth == 0 {
            self.undo.clear();
        }
    }

    /// Undoes what was written since the mark. What was read stays.
    pub(super) fn undo(&mut self, Mark(length): Mark) {
        self.depth -= 1;
        for (address, replaced) in self.undo.drain(length..).rev() {
            if let Some(entry) = self.entries.get_mut(&address) {
                entry.new = replaced;
            }
        }
    }

    /// The variables read, and the versions they had.
    pub(super) fn reads(&self) -> impl Iterator<Item = (&Arc<Cell>, Version)> {
        self.entries.values().filter_map(|entry| entry.seen.as_ref().map(|(version, _)| (&entry.cell, *version)))
    }

    /// All variables, in the order of their addresses.
    pub(super) fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.values_mut()
    }
}

fn address(cell: &Arc<Cell>) -> usize {
    Arc::as_ptr(cell).addr()
}
