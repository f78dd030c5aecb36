//! Numbers in a row, summed or sorted: what memory and cores allow.

use super::channels::sum_below;
use super::sleepers::scramble;
use crate::measure::Stopwatch;
use crate::sample::Sample;

/// What part of the numbers is sorted first, unclocked.
const WARM_UP_SHARE: usize = 10;

/// Numbers to sum, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub items: usize,
    /// How often.
    pub repeats: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Sum {
    /// Milliseconds of wall and of CPU for each sum; one goes before.
    pub fn measure(self, sum: impl Fn(&[u64]) -> u64) -> Sample {
        let numbers: Vec<u64> = (0..self.items as u64).collect();
        let expected = sum_below(self.items);
        let sums = |repeats: usize| {
            for _ in 0..repeats {
                assert_eq!(sum(&numbers), expected, "the sum");
            }
        };
        sums(1);
        let watch = Stopwatch::start();
        sums(self.repeats);
        watch.stop().millis_each(self.repeats)
    }
}

/// Numbers to sort, in no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// How many.
    pub items: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Sort {
    /// Milliseconds of wall and of CPU; a tenth of them goes before.
    pub fn measure(self, sort: impl Fn(&mut [u64])) -> Sample {
        let mut numbers = shuffled(self.items / WARM_UP_SHARE);
        sort(&mut numbers);
        check_sorted(&numbers);

        let mut numbers = shuffled(self.items);
        let watch = Stopwatch::start();
        sort(&mut numbers);
        let spent = watch.stop();
        check_sorted(&numbers);
        spent.millis_each(1)
    }
}

/// Unrelated numbers, the same in every run.
fn shuffled(items: usize) -> Vec<u64> {
    (0..items as u64).map(scramble).collect()
}

/// Checks that these are all of the numbers, in order.
fn check_sorted(numbers: &[u64]) {
    assert!(numbers.is_sorted(), "they are in order");
    let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::wrapping_add);
    let before = sum(&mut (0..numbers.len() as u64).map(scramble));
    assert_eq!(sum(&mut numbers.iter().copied()), before, "they are the same numbers");
}

#[cfg(test)]
mod tests {
    use super::*;

    const SORT: Sort = Sort { items: 1_000, workers: 1 };

    #[test]
    fn what_is_right_is_measured() {
        Sum { items: 1_000, repeats: 2, workers: 1 }.measure(|numbers| numbers.iter().sum());
        SORT.measure(<[u64]>::sort_unstable);
    }

    #[test]
    #[should_panic(expected = "in order")]
    fn what_is_not_sorted_is_noticed() {
        SORT.measure(|_| ());
    }

    #[test]
    #[should_panic(expected = "the same numbers")]
    fn what_is_lost_is_noticed() {
        SORT.measure(|numbers| numbers.fill(1));
    }
}
