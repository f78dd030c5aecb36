//! Forks of more than two closures, and of closures that may fail.

use super::join::join_at;
use crate::prim::reason::Place;
use std::panic::Location;

/// Calls both closures as [`join`](fn@super::join) does, and returns both results or an error. Both have ended then.
///
/// # Errors
/// That of the first closure, or else that of the second.
///
/// # Panics
/// If one of them does: see [`join`](fn@super::join).
///
/// ```
/// use sisal::par::try_join;
///
/// assert_eq!(try_join(|| "7".parse::<u32>(), || "11".parse::<u32>()), Ok((7, 11)));
/// assert!(try_join(|| "7".parse::<u32>(), || "eleven".parse::<u32>()).is_err());
/// ```
#[track_caller]
pub fn try_join<A, B, RA, RB, E>(a: A, b: B) -> Result<(RA, RB), E>
where
    A: FnOnce() -> Result<RA, E> + Send,
    B: FnOnce() -> Result<RB, E> + Send,
    RA: Send,
    RB: Send,
    E: Send,
{
    let (a, b) = join_at(Location::caller(), a, b);
    Ok((a?, b?))
}

/// Calls all closures of a tuple, up to eight, as [`join`](fn@super::join) does two, and returns all results.
///
/// # Panics
/// If one of them does: see [`join`](fn@super::join).
///
/// ```
/// let numbers = [3, 1, 2];
/// let (sum, least, greatest) =
///     sisal::par::join_many((|| numbers.iter().sum::<i32>(), || numbers.iter().min(), || numbers.iter().max()));
/// assert_eq!((sum, least, greatest), (6, Some(&1), Some(&3)));
/// ```
#[track_caller]
pub fn join_many<C: Closures>(closures: C) -> C::Results {
    closures.call_all(Location::caller())
}

/// A tuple of closures, for [`join_many`].
///
/// ```
/// use sisal::par::{self, Closures};
/// fn in_order<C: Closures>(closures: C) -> C::Results {
///     par::join_many(closures)
/// }
/// assert_eq!(in_order((|| 1, || "two", || 3.0)), (1, "two", 3.0));
/// ```
pub trait Closures {
    /// What they return.
    type Results;

    #[doc(hidden)]
    fn call_all(self, place: Place) -> Self::Results;
}

macro_rules! closures {
    ($first:ident $first_result:ident $(, $rest:ident $rest_result:ident)+) => {
        impl<$first, $first_result $(, $rest, $rest_result)+> Closures for ($first, $($rest),+)
        where
            $first: FnOnce() -> $first_result + Send,
            $first_result: Send,
            $($rest: FnOnce() -> $rest_result + Send, $rest_result: Send,)+
        {
            type Results = ($first_result, $($rest_result),+);

            #[allow(non_snake_case, reason = "types and closures have the same names")]
            fn call_all(self, place: Place) -> Self::Results {
                let ($first, $($rest),+) = self;
                let (first, ($($rest,)+)) = join_at(place, $first, move || ($($rest,)+).call_all(place));
                (first, $($rest),+)
            }
        }

        closures!($($rest $rest_result),+);
    };
    ($last:ident $last_result:ident) => {
        impl<$last: FnOnce() -> $last_result, $last_result> Closures for ($last,) {
            type Results = ($last_result,);

            fn call_all(self, _: Place) -> ($last_result,) {
                (self.0(),)
            }
        }
    };
}

closures!(A RA, B RB, C RC, D RD, E RE, F RF, G RG, H RH);
