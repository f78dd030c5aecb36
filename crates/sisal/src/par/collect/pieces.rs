//! Collecting any number of items: each leaf has a vector of its own, and these are put together at the end.

use super::super::harvest::{Harvest, harvest};
use super::super::iter::Par;
use super::super::source::Source;
use crate::prim::reason::Place;
use std::collections::LinkedList;

/// Vectors, one after the other. A list, since two are joined in no time.
pub(super) struct Pieces<T>(LinkedList<Vec<T>>);

impl<T> Pieces<T> {
    pub(super) fn none() -> Pieces<T> {
        Pieces(LinkedList::new())
    }

    pub(super) fn one(items: Vec<T>) -> Pieces<T> {
        let mut pieces = Pieces::none();
        if !items.is_empty() {
            pieces.0.push_back(items);
        }
        pieces
    }

    pub(super) fn and(mut self, mut others: Pieces<T>) -> Pieces<T> {
        self.0.append(&mut others.0);
        self
    }

    pub(super) fn into_vec(mut self) -> Vec<T> {
        let len = self.0.iter().map(Vec::len).sum::<usize>();
        let mut all = self.0.pop_front().unwrap_or_default();
        all.reserve_exact(len - all.len());
        self.0.into_iter().for_each(|mut piece| all.append(&mut piece));
        all
    }

    pub(super) fn extend<C: Default + Extend<T>>(self) -> C {
        let mut all = C::default();
        self.0.into_iter().for_each(|piece| all.extend(piece));
        all
    }

    pub(super) fn collect<S: Source<Item = T>>(par: Par<S>, place: Place) -> Pieces<T>
    where
        T: Send,
    {
        harvest(par, place, Collecting)
    }
}

struct Collecting;

impl<S: Source<Item: Send>> Harvest<S> for Collecting {
    type Yield = Pieces<S::Item>;

    fn reap(&self, items: S::Leaf<'_>, _: usize) -> Pieces<S::Item> {
        Pieces::one(items.collect())
    }

    fn merge(&self, left: Pieces<S::Item>, right: Pieces<S::Item>) -> Pieces<S::Item> {
        left.and(right)
    }
}

/// The items for which `f` is true, and the others.
pub(super) fn partition<S: Source<Item: Send>>(
    par: Par<S>,
    place: Place,
    f: impl Fn(&S::Item) -> bool + Send + Sync,
) -> (Pieces<S::Item>, Pieces<S::Item>) {
    harvest(par, place, Partition(f))
}

struct Partition<F>(F);

impl<S: Source<Item: Send>, F: Fn(&S::Item) -> bool + Send + Sync> Harvest<S> for Partition<F> {
    type Yield = (Pieces<S::Item>, Pieces<S::Item>);

    fn reap(&self, items: S::Leaf<'_>, _: usize) -> Self::Yield {
        let (yes, no) = items.partition(&self.0);
        (Pieces::one(yes), Pieces::one(no))
    }

    fn merge(&self, left: Self::Yield, right: Self::Yield) -> Self::Yield {
        (left.0.and(right.0), left.1.and(right.1))
    }
}
