//! Running a loop until something is found.

use super::earliest::Earliest;
use super::harvest::{Harvest, harvest};
use super::iter::Par;
use super::source::{Exact, Source};
use crate::prim::reason::Place;
use std::panic::Location;

impl<S: Source> Par<S> {
    /// The first item, in their order, for which `f` is true.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(0..1_000_000).find_first(|n| n % 1_000 == 999), Some(999));
    /// ```
    #[track_caller]
    pub fn find_first(self, f: impl Fn(&S::Item) -> bool + Send + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        search(self.filter(f), Location::caller(), Which::First)
    }

    /// One of the items for which `f` is true: the one that is found first. That ends the search.
    ///
    /// ```
    /// let found = sisal::par::iter(0..1_000_000).find_any(|n| n % 1_000 == 999).unwrap();
    /// assert_eq!(found % 1_000, 999);
    /// ```
    #[track_caller]
    pub fn find_any(self, f: impl Fn(&S::Item) -> bool + Send + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        search(self.filter(f), Location::caller(), Which::Any)
    }

    /// Whether `f` is true for at least one item.
    ///
    /// ```
    /// assert!(sisal::par::iter(["a", "bb"]).any(|word| word.len() == 2));
    /// ```
    #[track_caller]
    pub fn any(self, f: impl Fn(S::Item) -> bool + Send + Sync) -> bool {
        search(self.filter_map(|item| f(item).then_some(())), Location::caller(), Which::Any).is_some()
    }

    /// Whether `f` is true for all items.
    ///
    /// ```
    /// assert!(sisal::par::iter(["a", "bb"]).all(|word| word.len() < 3));
    /// ```
    #[track_caller]
    pub fn all(self, f: impl Fn(S::Item) -> bool + Send + Sync) -> bool {
        search(self.filter_map(|item| (!f(item)).then_some(())), Location::caller(), Which::Any).is_none()
    }

    /// Calls `f` with each item until one returns an error. Of several errors, it is that of the first item, in their order: the same that a
    /// sequential loop ends with. Items after that may have been gone through, too.
    ///
    /// # Errors
    /// The first one of `f`.
    ///
    /// ```
    /// let bad = sisal::par::iter(["1", "x", "2", "y"]).try_for_each(|word| match word.parse::<u32>() {
    ///     Ok(_) => Ok(()),
    ///     Err(_) => Err(word),
    /// });
    /// assert_eq!(bad, Err("x"));
    /// ```
    #[track_caller]
    pub fn try_for_each<E: Send>(self, f: impl Fn(S::Item) -> Result<(), E> + Send + Sync) -> Result<(), E> {
        search(self.filter_map(|item| f(item).err()), Location::caller(), Which::First).map_or(Ok(()), Err)
    }
}

impl<S: Exact> Par<S> {
    /// The number of the first item for which `f` is true.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(["a", "bb", "cc"]).position(|word| word.len() == 2), Some(1));
    /// ```
    #[track_caller]
    pub fn position(self, f: impl Fn(S::Item) -> bool + Send + Sync) -> Option<usize> {
        let found = self.enumerate().filter_map(|(position, item)| f(item).then_some(position));
        search(found, Location::caller(), Which::First)
    }
}

/// Which item is looked for.
#[derive(Copy, Clone)]
enum Which {
    Any,
    First,
}

/// Runs a loop for one of its items.
fn search<S: Source<Item: Send>>(par: Par<S>, place: Place, which: Which) -> Option<S::Item> {
    let found = Earliest::new();
    harvest(par, place, Search { found: &found, which });
    found.into_inner()
}

struct Search<'a, T> {
    found: &'a Earliest<T>,
    which: Which,
}

impl<S: Source<Item = T>, T: Send> Harvest<S> for Search<'_, T> {
    type Yield = ();

    fn reap(&self, mut items: S::Leaf<'_>, start: usize) {
        if let Some(item) = items.next() {
            self.found.offer(start, item);
        }
    }

    fn merge(&self, (): (), (): ()) {}

    fn without(&self, start: usize) -> Option<()> {
        let is_over = match self.which {
            Which::Any => self.found.is_found(),
            Which::First => self.found.is_before(start),
        };
        is_over.then_some(())
    }
}
