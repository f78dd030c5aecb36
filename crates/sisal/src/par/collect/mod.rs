//! Running a loop for all that comes of it, in order.
//!
//! - [`in_place`]: as many items as positions, written where they belong. [`pieces`]: any number of items. [`trying`]: until the first
//!   error.

mod in_place;
mod pieces;
mod trying;

use self::pieces::Pieces;
use super::iter::Par;
use super::source::Source;
use crate::prim::reason::Place;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::panic::Location;

impl<S: Source> Par<S> {
    /// All that comes of the loop, in order, as a vector or another collection; or, if the items are results, as a collection
    /// or the first error, in their order.
    ///
    /// ```
    /// use sisal::par;
    ///
    /// let squares: Vec<u32> = par::iter(0..4u32).map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    ///
    /// let numbers: Result<Vec<u32>, _> = par::iter(["1", "2", "x"]).map(str::parse::<u32>).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[track_caller]
    pub fn collect<C: Collect<S::Item>>(self) -> C {
        C::collect(self, Location::caller())
    }

    /// The items for which `f` is true, and the others, both in order.
    ///
    /// ```
    /// let (even, odd) = sisal::par::iter(0..6).partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3, 5]));
    /// ```
    #[track_caller]
    pub fn partition(self, f: impl Fn(&S::Item) -> bool + Send + Sync) -> (Vec<S::Item>, Vec<S::Item>)
    where
        S::Item: Send,
    {
        let (yes, no) = pieces::partition(self, Location::caller(), f);
        (yes.into_vec(), no.into_vec())
    }
}

/// What a loop over items of type `T` can be [collected](Par::collect) into.
///
/// ```
/// use sisal::par::{self, Collect};
/// fn squares<C: Collect<u32>>(most: u32) -> C {
///     par::iter(0..most).map(|n| n * n).collect()
/// }
/// assert_eq!(squares::<Vec<u32>>(4), [0, 1, 4, 9]);
/// assert!(squares::<std::collections::BTreeSet<u32>>(4).contains(&9));
/// ```
pub trait Collect<T>: Sized {
    #[doc(hidden)]
    fn collect<S: Source<Item = T>>(par: Par<S>, place: Place) -> Self;
}

impl<T: Send> Collect<T> for Vec<T> {
    fn collect<S: Source<Item = T>>(par: Par<S>, place: Place) -> Vec<T> {
        if S::IS_EXACT { in_place::collect(par, place) } else { Pieces::collect(par, place).into_vec() }
    }
}

impl<T: Send> Collect<T> for Box<[T]> {
    fn collect<S: Source<Item = T>>(par: Par<S>, place: Place) -> Box<[T]> {
        Vec::collect(par, place).into_boxed_slice()
    }
}

impl<T: Send, E: Send, C: Default + Extend<T>> Collect<Result<T, E>> for Result<C, E> {
    fn collect<S: Source<Item = Result<T, E>>>(par: Par<S>, place: Place) -> Result<C, E> {
        trying::collect(par, place).map(Pieces::extend)
    }
}

impl<T: Send, C: Default + Extend<T>> Collect<Option<T>> for Option<C> {
    fn collect<S: Source<Item = Option<T>>>(par: Par<S>, place: Place) -> Option<C> {
        trying::collect(par.map(|item| item.ok_or(())), place).map(Pieces::extend).ok()
    }
}

/// Collections that are extended by one piece after the other.
macro_rules! extended {
    ($([$($generics:tt)*] $item:ty => $collection:ty;)*) => {$(
        impl<$($generics)*> Collect<$item> for $collection {
            fn collect<Items: Source<Item = $item>>(par: Par<Items>, place: Place) -> Self {
                Pieces::collect(par, place).extend()
            }
        }
    )*};
}

extended! {
    [T: Send] T => VecDeque<T>;
    [T: Send] T => LinkedList<T>;
    [T: Send + Ord] T => BinaryHeap<T>;
    [T: Send + Ord] T => BTreeSet<T>;
    [T: Send + Eq + Hash, H: BuildHasher + Default] T => HashSet<T, H>;
    [K: Send + Ord, V: Send] (K, V) => BTreeMap<K, V>;
    [K: Send + Eq + Hash, V: Send, H: BuildHasher + Default] (K, V) => HashMap<K, V, H>;
    [] char => String;
    [] String => String;
    ['a] &'a str => String;
}
