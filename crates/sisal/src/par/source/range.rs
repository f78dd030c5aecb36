//! Ranges of numbers.
#![allow(unsafe_code, reason = "the trait's methods are unsafe for the sake of others")]

use super::{Exact, IntoSource, Sealed, Source};
use std::ops::Range;

/// A range of numbers.
///
/// ```
/// use sisal::par::{self, Numbers, Par};
/// let numbers: Par<Numbers<i64>> = par::iter(-3..3i64);
/// assert_eq!(numbers.sum::<i64>(), -3);
/// ```
#[derive(Clone, Debug)]
pub struct Numbers<N>(Range<N>);

impl<N> Sealed for Numbers<N> {}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Exact for Numbers<$number> {}

        impl Source for Numbers<$number> {
            type Item = $number;
            type Leaf<'a> = Range<$number>;
            const IS_EXACT: bool = true;

            #[allow(clippy::allow_attributes, trivial_numeric_casts, reason = "one of them is usize")]
            fn positions(&self) -> usize {
                // The difference is right even if it is too big for a signed type.
                let len = if self.0.is_empty() { 0 } else { i128::from_number(self.0.end) - i128::from_number(self.0.start) };
                usize::try_from(len).expect("sisal: a range has more numbers than can be counted")
            }

            unsafe fn open(&mut self) {}

            unsafe fn leaf(&self, range: Range<usize>) -> Range<$number> {
                // Wrapping, since an offset may be too big for a signed type, while the sum is not.
                let at = |position: usize| self.0.start.wrapping_add(position as $number);
                if range.is_empty() { self.0.start..self.0.start } else { at(range.start)..at(range.end) }
            }

            unsafe fn discard(&self, _: Range<usize>) {}
        }

        impl FromNumber<$number> for i128 {
            fn from_number(number: $number) -> i128 {
                number as i128
            }
        }

        impl IntoSource for Range<$number> {
            type Source = Numbers<$number>;
            type Item = $number;

            fn into_source(self) -> Numbers<$number> {
                Numbers(self)
            }
        }
    )*};
}

/// `From`, which `usize` has not.
trait FromNumber<N> {
    fn from_number(number: N) -> Self;
}

numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
