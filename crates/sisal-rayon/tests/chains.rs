//! Chains of rayon's iterators, run on fibers: what they give.

#[path = "../../sisal/tests/common/mod.rs"]
mod common;

use common::flavours::Ledger;
use common::{in_main_fiber, with_workers};
use rayon::prelude::*;
use sisal::sync::Barrier;
use sisal_rayon::OnFibers;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Checks with inputs of several lengths, on 1, 2, 4 and 8 workers and on a thread.
fn check(check: impl Fn(&[u32])) {
    let inputs = || {
        let seed = fastrand::u64(..);
        eprintln!("the seed is {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for len in [0, 1, 2, 3, 101, 4_007] {
            check(&std::iter::repeat_with(|| random.u32(..1_000)).take(len).collect::<Vec<_>>());
        }
    };
    with_workers(|workers| in_main_fiber(workers, inputs));
    inputs();
}

#[test]
fn chains_give_what_those_of_std_give() {
    check(|input| {
        let other: Vec<String> = input.iter().map(u32::to_string).collect();
        let odd = |number: &u32| number % 2 == 1;
        let chain: Vec<(usize, u32, &String)> = input
            .par_iter()
            .zip(&other)
            .enumerate()
            .on_fibers()
            .map(|(at, (number, text))| (at, number + 1, text))
            .filter(|(_, number, _)| odd(number))
            .collect();
        let expected = input.iter().zip(&other).enumerate().map(|(at, (number, text))| (at, number + 1, text));
        assert_eq!(chain, expected.filter(|(_, number, _)| odd(number)).collect::<Vec<_>>());

        let copied: Vec<u32> = input.par_iter().on_fibers().copied().collect();
        assert_eq!(copied, input);
        let moved: Vec<String> = other.clone().into_par_iter().rev().on_fibers().collect();
        assert!(moved.iter().eq(other.iter().rev()));
        let text: String = other.par_iter().on_fibers().map(String::as_str).collect();
        assert_eq!(text, other.concat());
        let repeated: Vec<u32> =
            input.par_iter().on_fibers().flat_map_iter(|n| std::iter::repeat_n(*n, *n as usize % 3)).collect();
        assert!(repeated.into_iter().eq(input.iter().flat_map(|n| std::iter::repeat_n(*n, *n as usize % 3))));

        assert_eq!(input.par_iter().on_fibers().sum::<u32>(), input.iter().sum());
        assert_eq!(input.par_iter().on_fibers().filter(|n| odd(n)).count(), input.iter().filter(|n| odd(n)).count());
        assert_eq!(input.par_iter().on_fibers().max(), input.iter().max());
        let joined = other.par_iter().on_fibers().cloned().reduce(String::new, |left, right| left + &right);
        assert_eq!(joined, other.concat());
        let folded = input.par_iter().on_fibers().fold(Vec::new, |mut vec, number| {
            vec.push(*number);
            vec
        });
        assert_eq!(folded.reduce(Vec::new, |left, right| [left, right].concat()), input);
        for wanted in [0, 500, 999, 1_000] {
            assert_eq!(
                input.par_iter().on_fibers().find_first(|n| **n >= wanted),
                input.iter().find(|n| **n >= wanted)
            );
            assert_eq!(input.par_iter().on_fibers().any(|n| *n >= wanted), input.iter().any(|n| *n >= wanted));
        }
        let (yes, no): (Vec<u32>, Vec<u32>) = input.par_iter().on_fibers().copied().partition(odd);
        assert_eq!((yes, no), input.iter().copied().partition(odd));

        assert_eq!(input.par_iter().on_fibers().copied().collect::<HashSet<u32>>(), input.iter().copied().collect());
        let numbered = || input.par_iter().copied().enumerate().map(|(at, number)| (number, at)).on_fibers();
        assert_eq!(numbered().collect::<BTreeMap<_, _>>(), input.iter().copied().zip(0..).collect());
        assert_eq!(numbered().collect::<HashMap<_, _>>(), input.iter().copied().zip(0..).collect());
    });
}

#[test]
fn results_are_collected_until_an_error() {
    check(|input| {
        for limit in [0, 500, 1_000] {
            let keep = |number: &u32| if *number < limit { Ok(*number) } else { Err(format!("{number} is too big")) };
            let collected: Result<Vec<u32>, String> = input.par_iter().on_fibers().map(keep).collect();
            let expected: Result<Vec<u32>, String> = input.iter().map(keep).collect();
            match (collected, expected) {
                (Err(error), Err(_)) => assert!(error.ends_with("too big")),
                (collected, expected) => assert_eq!(collected, expected),
            }
        }
    });
}

#[test]
fn bodies_that_wait_for_each_other_end() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let barrier = Barrier::new(200);
            (0..200).into_par_iter().with_max_len(1).on_fibers().for_each(|_| _ = barrier.wait());
            // Pieces are as long as was asked for.
            let fold = (0..1_000).into_par_iter().with_min_len(100).on_fibers().fold(|| 0, |count, _| count + 1);
            let counts: Vec<u32> = fold.collect();
            assert!(counts.iter().all(|count| *count >= 100), "{counts:?}");
            assert_eq!(counts.iter().sum::<u32>(), 1_000);
        });
    });
}

#[test]
fn items_are_dropped_once_whatever_panics() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for panics_at in [0, 500, 999, 1_000] {
                let ledger = Ledger::of(1_000);
                let items: Vec<_> = (0..1_000).map(|number| ledger.make(number)).collect();
                let result = catch_unwind(AssertUnwindSafe(|| {
                    let same = items.into_par_iter().on_fibers().map(|item| {
                        if item.number % 100 == 0 {
                            sisal::yield_now();
                        }
                        if item.number == panics_at {
                            panic!("on purpose");
                        }
                        item
                    });
                    assert_eq!(same.collect::<Vec<_>>().len(), 1_000);
                }));
                assert_eq!(result.is_err(), panics_at < 1_000);
                ledger.check();
            }
        });
    });
}
