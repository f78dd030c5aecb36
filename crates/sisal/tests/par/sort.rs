//! Sorting: against what `std` does, with comparisons of all sorts.

use super::common::flavours::{Counted, Ledger};
use super::common::{in_main_fiber, with_workers};
use sisal::par;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More than any sort leaves to `std`.
const MANY: usize = 140_000;

/// Inputs of all sorts: random, with few values, in order, in the opposite order, and in order but for some.
fn inputs(len: usize, random: &mut fastrand::Rng) -> Vec<Vec<u32>> {
    let mut any = |most: u32| std::iter::repeat_with(|| random.u32(..most)).take(len).collect::<Vec<_>>();
    let mut inputs = vec![any(u32::MAX), any(4), any(len as u32 / 100 + 1), vec![7; len]];
    let ordered: Vec<u32> = (0..len as u32).collect();
    inputs.push(ordered.iter().rev().copied().collect());
    inputs.push((0..len as u32 / 2).chain((0..len as u32 / 2).rev()).collect());
    let mut nearly = ordered.clone();
    (0..len / 100).for_each(|_| nearly.swap(random.usize(..len), random.usize(..len)));
    inputs.extend([ordered, nearly]);
    inputs
}

fn check(check: impl Fn(&[u32])) {
    let seed = fastrand::u64(..);
    eprintln!("the seed is {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for len in [0, 1, 2, 3, 100, 17_001, MANY] {
        inputs(len, &mut random).iter().for_each(|input| check(input));
    }
}

#[test]
fn sorted_as_std_does_it() {
    let all = || {
        check(|input| {
            let mut expected = input.to_vec();
            expected.sort_unstable();
            let mut sorted = input.to_vec();
            par::sort(&mut sorted);
            assert!(sorted == expected);
            let mut sorted = input.to_vec();
            par::sort_unstable(&mut sorted);
            assert!(sorted == expected);
            let mut sorted = input.to_vec();
            par::sort_unstable_by_key(&mut sorted, |number| !number);
            expected.reverse();
            assert!(sorted == expected);
            let mut sorted = input.to_vec();
            par::sort_unstable_by(&mut sorted, |a, b| b.cmp(a));
            assert!(sorted == expected);
        });
    };
    in_main_fiber(4, all);
    all();
}

#[test]
fn equals_keep_their_order() {
    let all = || {
        check(|input| {
            let numbered: Vec<(u8, usize)> = input.iter().map(|number| *number as u8).zip(0..).collect();
            let mut expected = numbered.clone();
            expected.sort_by_key(|(number, _)| *number);
            let mut sorted = numbered.clone();
            par::sort_by_key(&mut sorted, |(number, _)| *number);
            assert!(sorted == expected);
            let mut sorted = numbered.clone();
            par::sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
            assert!(sorted == expected);
            let calls = AtomicUsize::new(0);
            let mut sorted = numbered.clone();
            par::sort_by_cached_key(&mut sorted, |(number, _)| {
                calls.fetch_add(1, Relaxed);
                number.to_string().parse::<u8>().unwrap()
            });
            assert!(sorted == expected);
            assert_eq!(calls.into_inner(), numbered.len());
        });
    };
    in_main_fiber(4, all);
    all();
}

/// A number that is compared without its last digit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Rounded(u32);

impl PartialOrd for Rounded {
    fn partial_cmp(&self, other: &Rounded) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rounded {
    fn cmp(&self, other: &Rounded) -> Ordering {
        (self.0 / 10).cmp(&(other.0 / 10))
    }
}

#[test]
fn items_that_are_equal_but_not_the_same_keep_their_order() {
    let all = || {
        check(|input| {
            let items: Vec<Rounded> = input.iter().map(|number| Rounded(number % 5_000)).collect();
            let (mut sorted, mut expected) = (items.clone(), items);
            par::sort(&mut sorted);
            expected.sort();
            assert!(sorted == expected);
        });
    };
    in_main_fiber(4, all);
    all();
}

/// One of the sorts, which tells of each comparison, or each look for a key.
type Sort = fn(&mut [Counted], &(dyn Fn() + Sync));

const SORTS: [Sort; 5] = [
    |items, tell| {
        par::sort_by(items, |a, b| {
            tell();
            a.number.cmp(&b.number)
        });
    },
    |items, tell| {
        par::sort_by_key(items, |item| {
            tell();
            item.number
        });
    },
    |items, tell| {
        par::sort_by_cached_key(items, |item| {
            tell();
            item.number
        });
    },
    |items, tell| {
        par::sort_unstable_by(items, |a, b| {
            tell();
            a.number.cmp(&b.number)
        });
    },
    |items, tell| {
        par::sort_unstable_by_key(items, |item| {
            tell();
            item.number
        });
    },
];

/// Sorts shuffled items, and panics in the comparison of this number. Returns how many there were.
fn sort_until(panics_at: usize, seed: u64, sort: Sort) -> usize {
    let ledger = Ledger::of(MANY);
    let mut items: Vec<Counted> = (0..MANY).map(|number| ledger.make(number)).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut items);
    let compared = AtomicUsize::new(0);
    let tell = || {
        if compared.fetch_add(1, Relaxed) == panics_at {
            panic!("on purpose");
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| sort(&mut items, &tell)));
    let compared = compared.into_inner();
    assert_eq!(result.is_err(), panics_at < compared);
    assert!(result.is_err() || items.iter().map(|item| item.number).eq(0..MANY));
    assert_eq!(ledger.dropped(), 0);
    drop(items);
    ledger.check();
    compared
}

#[test]
fn all_items_are_there_after_a_panic() {
    let seed = fastrand::u64(..);
    eprintln!("the seed is {seed}");
    for workers in [1, 4] {
        in_main_fiber(workers, || {
            for sort in SORTS {
                let all = sort_until(usize::MAX, seed, sort);
                // At the first, in the middle, and in the last rounds of merging. (A key that is kept is asked for once.)
                for panics_at in [0, all / 2, all.saturating_sub(MANY * 3 / 2), all - MANY / 2, all - 1] {
                    sort_until(panics_at, seed, sort);
                }
            }
        });
    }
}

#[test]
fn a_comparison_that_contradicts_itself_loses_nothing() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let state = AtomicUsize::new(1);
            let any = |_: &u32, _: &u32| match state.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed) >> 62 {
                0 => Ordering::Less,
                1 => Ordering::Greater,
                _ => Ordering::Equal,
            };
            for stable in [true, false] {
                let mut items: Vec<u32> = (0..MANY as u32).collect();
                // `std` may panic when it notices.
                let sort =
                    || if stable { par::sort_by(&mut items, any) } else { par::sort_unstable_by(&mut items, any) };
                let _ = std::thread::scope(|_| catch_unwind(AssertUnwindSafe(sort)));
                items.sort_unstable();
                assert!(items.into_iter().eq(0..MANY as u32));
            }
        });
    });
}

#[test]
fn items_of_any_size_are_sorted() {
    in_main_fiber(2, || {
        let mut random = fastrand::Rng::new();
        let mut nothings = vec![(); MANY];
        par::sort(&mut nothings);
        par::sort_unstable(&mut nothings);
        let mut texts: Vec<String> = (0..MANY).map(|_| random.u64(..).to_string()).collect();
        let mut expected = texts.clone();
        expected.sort();
        let mut big: Vec<[u64; 9]> = (0..MANY).map(|_| [random.u64(..); 9]).collect();
        par::sort(&mut texts);
        assert!(texts == expected);
        random.shuffle(&mut texts);
        par::sort_unstable(&mut texts);
        assert!(texts == expected);
        par::sort_unstable(&mut big);
        assert!(big.is_sorted());
        random.shuffle(&mut big);
        par::sort(&mut big);
        assert!(big.is_sorted());
    });
}

#[test]
fn comparisons_may_wait() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let lock = sisal::sync::Mutex::new(0);
            let mut items: Vec<u32> = (0..MANY as u32 / 3).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
            par::sort_unstable_by(&mut items, |a, b| {
                let mut count = lock.lock();
                *count += 1;
                if *count % 5_000 == 0 {
                    sisal::yield_now();
                }
                a.cmp(b)
            });
            assert!(items.is_sorted());
        });
    });
}
