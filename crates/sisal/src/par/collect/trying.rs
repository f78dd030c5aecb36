//! Collecting until the first error, in the order of the items.

use super::super::earliest::Earliest;
use super::super::harvest::{Harvest, harvest};
use super::super::iter::Par;
use super::super::source::Source;
use super::pieces::Pieces;
use crate::prim::reason::Place;

/// All items, or the error that a sequential loop would end with.
pub(super) fn collect<S, T: Send, E: Send>(par: Par<S>, place: Place) -> Result<Pieces<T>, E>
where
    S: Source<Item = Result<T, E>>,
{
    let error = Earliest::new();
    let items = harvest(par, place, Trying { error: &error });
    error.into_inner().map_or(Ok(items), Err)
}

struct Trying<'a, E> {
    error: &'a Earliest<E>,
}

impl<S: Source<Item = Result<T, E>>, T: Send, E: Send> Harvest<S> for Trying<'_, E> {
    type Yield = Pieces<T>;

    fn reap(&self, items: S::Leaf<'_>, start: usize) -> Pieces<T> {
        match items.collect() {
            Ok(items) => Pieces::one(items),
            Err(error) => {
                self.error.offer(start, error);
                Pieces::none()
            }
        }
    }

    fn merge(&self, left: Pieces<T>, right: Pieces<T>) -> Pieces<T> {
        left.and(right)
    }

    /// Nobody wants what comes after an error.
    fn without(&self, start: usize) -> Option<Pieces<T>> {
        self.error.is_before(start).then(Pieces::none)
    }
}
