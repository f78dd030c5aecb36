//! Running a loop for one result: each leaf is folded, and the results are merged.

use super::harvest::{Harvest, harvest};
use super::iter::Par;
use super::source::Source;
use super::source::slice::SliceMut;
use std::cmp::Ordering;
use std::iter::Sum;
use std::panic::Location;

impl<S: Source> Par<S> {
    /// Calls `f` with each item.
    ///
    /// ```
    /// let mut numbers = [1, 2, 3];
    /// sisal::par::iter(&mut numbers).for_each(|number| *number += 1);
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn for_each(self, f: impl Fn(S::Item) + Send + Sync) {
        let reap = |items: S::Leaf<'_>| items.for_each(&f);
        harvest(self, Location::caller(), Folding { reap, merge: |(), ()| () });
    }

    /// Folds parts of the items, each starting from `init()`, and merges the results of neighbours in their order.
    ///
    /// As many parts are folded as the loop is divided into, so starting once more must not change the result.
    ///
    /// ```
    /// let text: String = sisal::par::iter(0..10u32)
    ///     .fold(String::new, |text, digit| text + &digit.to_string(), |left, right| left + &right);
    /// assert_eq!(text, "0123456789");
    /// ```
    #[track_caller]
    pub fn fold<A: Send>(
        self,
        init: impl Fn() -> A + Send + Sync,
        f: impl Fn(A, S::Item) -> A + Send + Sync,
        merge: impl Fn(A, A) -> A + Send + Sync,
    ) -> A {
        let reap = |items: S::Leaf<'_>| items.fold(init(), &f);
        harvest(self, Location::caller(), Folding { reap, merge })
    }

    /// Makes one of all items by `f`, which has to be associative; none if there are no items.
    ///
    /// ```
    /// let longest = sisal::par::iter(["a", "ccc", "bb"]).reduce(|a, b| if b.len() > a.len() { b } else { a });
    /// assert_eq!(longest, Some("ccc"));
    /// ```
    #[track_caller]
    pub fn reduce(self, f: impl Fn(S::Item, S::Item) -> S::Item + Send + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        let reap = |items: S::Leaf<'_>| items.reduce(&f);
        let merge = |left: Option<S::Item>, right: Option<S::Item>| match (left, right) {
            (Some(left), Some(right)) => Some(f(left, right)),
            (left, right) => left.or(right),
        };
        harvest(self, Location::caller(), Folding { reap, merge })
    }

    /// The sum of the items.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(0..101u64).sum::<u64>(), 5_050);
    /// ```
    #[track_caller]
    pub fn sum<T: Sum<S::Item> + Sum<T> + Send>(self) -> T {
        let merge = |left: T, right: T| [left, right].into_iter().sum();
        harvest(self, Location::caller(), Folding { reap: |items: S::Leaf<'_>| items.sum(), merge })
    }

    /// How many items there are.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(0..100).filter(|n| n % 3 == 0).count(), 34);
    /// ```
    #[track_caller]
    pub fn count(self) -> usize {
        let merge = |left, right| left + right;
        harvest(self, Location::caller(), Folding { reap: |items: S::Leaf<'_>| items.count(), merge })
    }

    /// The least item, the first of equals; none if there are no items.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter([3, 1, 2]).min(), Some(1));
    /// ```
    #[track_caller]
    pub fn min(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.reduce(Ord::min)
    }

    /// The greatest item, the last of equals; none if there are no items.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter([3, 1, 2]).max(), Some(3));
    /// ```
    #[track_caller]
    pub fn max(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.reduce(Ord::max)
    }

    /// The item with the least key, the first of equals; none if there are no items.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(["ccc", "a", "b"]).min_by_key(|word| word.len()), Some("a"));
    /// ```
    #[track_caller]
    pub fn min_by_key<K: Ord + Send>(self, key: impl Fn(&S::Item) -> K + Send + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        let keyed = self.map(|item| (key(&item), item));
        keyed
            .reduce(|left, right| if right.0.cmp(&left.0) == Ordering::Less { right } else { left })
            .map(|(_, item)| item)
    }

    /// The item with the greatest key, the last of equals; none if there are no items.
    ///
    /// ```
    /// assert_eq!(sisal::par::iter(["ccc", "a", "ddd"]).max_by_key(|word| word.len()), Some("ddd"));
    /// ```
    #[track_caller]
    pub fn max_by_key<K: Ord + Send>(self, key: impl Fn(&S::Item) -> K + Send + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        let keyed = self.map(|item| (key(&item), item));
        keyed
            .reduce(|left, right| if right.0.cmp(&left.0) == Ordering::Less { left } else { right })
            .map(|(_, item)| item)
    }
}

impl<T: Send> Par<SliceMut<'_, T>> {
    /// Puts what `f` makes of each item into its place.
    ///
    /// ```
    /// let mut words = ["plain".to_owned(), "code".to_owned()];
    /// sisal::par::iter(&mut words).map_in_place(|word| word.to_uppercase());
    /// assert_eq!(words, ["PLAIN", "CODE"]);
    /// ```
    #[track_caller]
    pub fn map_in_place(self, f: impl Fn(&T) -> T + Send + Sync) {
        self.for_each(|item| *item = f(item));
    }
}

/// Leaves that are folded.
struct Folding<R, M> {
    reap: R,
    merge: M,
}

impl<S, A, R, M> Harvest<S> for Folding<R, M>
where
    S: Source,
    A: Send,
    R: Fn(S::Leaf<'_>) -> A + Send + Sync,
    M: Fn(A, A) -> A + Send + Sync,
{
    type Yield = A;

    fn reap(&self, items: S::Leaf<'_>, _: usize) -> A {
        (self.reap)(items)
    }

    fn merge(&self, left: A, right: A) -> A {
        (self.merge)(left, right)
    }
}
