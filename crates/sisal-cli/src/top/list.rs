//! The list of fibers: which are in it, in which order, which one is chosen, and which part is seen.

use super::filter::Filter;
use super::sort::Order;
use crate::remote::Snapshot;

/// The list, as positions in the snapshot it was made from.
#[derive(Debug)]
pub(super) struct List {
    pub(super) order: Order,
    pub(super) filter: String,
    /// INVARIANT: positions in the fibers of the snapshot that [`List::update`] was called with last.
    rows: Vec<usize>,
    /// The row that is chosen. INVARIANT: one of `rows`, or zero if there are none.
    chosen: usize,
    /// The fiber in it, which is looked for when the rows change.
    chosen_id: Option<u64>,
    /// The first row that is seen.
    top: usize,
    /// How many are seen; known once the list was drawn.
    height: usize,
}

impl List {
    pub(super) fn new(order: Order, filter: String, snapshot: &Snapshot) -> List {
        let mut list = List { order, filter, rows: Vec::new(), chosen: 0, chosen_id: None, top: 0, height: 1 };
        list.update(snapshot);
        list
    }

    /// Chooses and sorts anew. The chosen fiber stays chosen if it is still there, and else the row.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        let filter = Filter::new(&self.filter);
        let fibers = &snapshot.fibers;
        self.rows = (0..fibers.len()).filter(|row| filter.admits(&fibers[*row])).collect();
        self.rows.sort_unstable_by(|one, other| self.order.compare(&fibers[*one], &fibers[*other]));
        let found =
            self.chosen_id.and_then(|id| self.rows.iter().position(|position| snapshot.fibers[*position].id == id));
        self.choose(found.unwrap_or(self.chosen), snapshot);
    }

    /// Chooses a row, or the last if there are not so many.
    pub(super) fn choose(&mut self, row: usize, snapshot: &Snapshot) {
        self.chosen = row.min(self.rows.len().saturating_sub(1));
        self.chosen_id = self.rows.get(self.chosen).map(|position| snapshot.fibers[*position].id);
    }

    /// Moves what is seen, so that the chosen row stays where it is on the screen when it moves as far.
    pub(super) fn shift(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows);
    }

    /// The rows that are seen in a window of this height, which follows the chosen one.
    pub(super) fn window(&mut self, height: usize) -> &[usize] {
        self.height = height.max(1);
        let last_top = self.rows.len().saturating_sub(self.height);
        let lowest = (self.chosen + 1).saturating_sub(self.height);
        self.top = self.top.clamp(lowest, self.chosen.max(lowest)).min(last_top);
        &self.rows[self.top..(self.top + height).min(self.rows.len())]
    }

    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub(super) fn chosen(&self) -> usize {
        self.chosen
    }

    pub(super) fn chosen_id(&self) -> Option<u64> {
        self.chosen_id
    }

    /// The row of the window that is chosen.
    pub(super) fn chosen_in_window(&self) -> usize {
        self.chosen - self.top
    }

    /// How many rows a page has.
    pub(super) fn height(&self) -> usize {
        self.height
    }
}
