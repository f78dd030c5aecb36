//! Driving a loop: its source is divided, and each leaf gives something that is merged with what its neighbours give.
#![allow(unsafe_code, reason = "asks the source for its positions, each once")]

use super::divide::{Piece, divide_at};
use super::iter::Par;
use super::source::Source;
use crate::prim::reason::Place;
use std::mem;
use std::ops::Range;

/// What a loop makes of its items.
pub(super) trait Harvest<S: Source>: Send + Sync {
    type Yield: Send;

    /// What comes of a leaf, which starts at this position.
    fn reap(&self, items: S::Leaf<'_>, start: usize) -> Self::Yield;

    /// What comes of two neighbours.
    fn merge(&self, left: Self::Yield, right: Self::Yield) -> Self::Yield;

    /// What comes of items that start at this position, if they need not be looked at any more.
    fn without(&self, start: usize) -> Option<Self::Yield> {
        let _ = start;
        None
    }
}

/// Runs a loop.
pub(super) fn harvest<S: Source, H: Harvest<S>>(par: Par<S>, place: Place, harvest: H) -> H::Yield {
    let Par { mut source, grain } = par;
    source.open();
    let field = Field { source, harvest };
    let whole = Span { range: 0..field.source.positions(), field: &field };
    divide_at(place, whole, grain, Span::reap, |left, right| field.harvest.merge(left, right))
}

/// A loop that runs.
struct Field<S, H> {
    /// INVARIANT: open.
    source: S,
    harvest: H,
}

/// A part of its positions.
///
/// INVARIANT: no other span has one of them, and none was asked for.
struct Span<'a, S: Source, H: Harvest<S>> {
    field: &'a Field<S, H>,
    range: Range<usize>,
}

impl<S: Source, H: Harvest<S>> Span<'_, S, H> {
    fn reap(mut self) -> H::Yield {
        let Field { source, harvest } = self.field;
        let start = self.range.start;
        if let Some(nothing) = harvest.without(start) {
            return nothing;
        }
        let range = mem::take(&mut self.range);
        // SAFETY: positions that are ours alone, and not any more.
        harvest.reap(unsafe { source.leaf(range) }, start)
    }
}

impl<S: Source, H: Harvest<S>> Piece for Span<'_, S, H> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn split_at(mut self, at: usize) -> (Self, Self) {
        let range = mem::take(&mut self.range);
        let middle = range.start + at;
        let span = |range| Span { field: self.field, range };
        (span(range.start..middle), span(middle..range.end))
    }

    fn is_moot(&self) -> bool {
        self.field.harvest.without(self.range.start).is_some()
    }
}

impl<S: Source, H: Harvest<S>> Drop for Span<'_, S, H> {
    /// Nobody wants what is left of it.
    fn drop(&mut self) {
        let range = mem::take(&mut self.range);
        if !range.is_empty() {
            // SAFETY: positions that are ours alone, and not any more.
            unsafe { self.field.source.discard(range) };
        }
    }
}
