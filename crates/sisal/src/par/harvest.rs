//! Driving a loop: its source is divided, and each leaf gives something that is merged with what its neighbours give.
//!
//! How far it is divided is a matter of [`pace`](super::pace).
#![allow(unsafe_code, reason = "asks the source for its positions, each once")]

use super::enter::enter;
use super::iter::Par;
use super::join::join_at;
use super::pace::Pace;
use super::source::Source;
use crate::fiber::in_fiber;
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
    // SAFETY: nobody else could: sources come here closed.
    unsafe { source.open() };
    let len = source.positions();
    let pace = grain.map_or_else(|| Pace::new(len), Pace::grain);
    let field = Field { source, harvest, pace, place };
    let whole = Span { field: &field, range: 0..len };
    if len == 0 {
        return whole.reap();
    }
    enter(place, || if in_fiber() { whole.divide() } else { whole.reap() })
}

/// A loop that runs.
struct Field<S, H> {
    /// INVARIANT: open.
    source: S,
    harvest: H,
    pace: Pace,
    place: Place,
}

/// A part of its positions.
///
/// INVARIANT: no other span has one of them, and none was asked for.
struct Span<'a, S: Source, H: Harvest<S>> {
    field: &'a Field<S, H>,
    range: Range<usize>,
}

impl<S: Source, H: Harvest<S>> Span<'_, S, H> {
    fn divide(self) -> H::Yield {
        let Field { harvest, pace, place, .. } = self.field;
        let len = self.range.len();
        if pace.fits(len) {
            return pace.run(len, || self.reap());
        }
        if let Some(nothing) = harvest.without(self.range.start) {
            return nothing;
        }
        let (left, right) = self.split_at(pace.cut(len));
        let (left, right) = join_at(place, || left.divide(), || right.divide());
        harvest.merge(left, right)
    }

    fn split_at(mut self, at: usize) -> (Self, Self) {
        let Range { start, end } = mem::take(&mut self.range);
        let middle = start + at;
        let span = |range| Span { field: self.field, range };
        (span(start..middle), span(middle..end))
    }

    fn reap(mut self) -> H::Yield {
        let Field { source, harvest, .. } = self.field;
        let start = self.range.start;
        if let Some(nothing) = harvest.without(start) {
            return nothing;
        }
        let range = mem::take(&mut self.range);
        // SAFETY: positions that are ours alone, and not any more.
        harvest.reap(unsafe { source.leaf(range) }, start)
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
