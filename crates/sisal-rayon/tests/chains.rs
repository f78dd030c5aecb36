//! Chains of rayon's iterators, run on fibers: what they give.

#[path = "../../sisal/tests/common/mod.rs"]
mod common;

use common::flavours::{Counted, Ledger};
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
            // At least so long goes before at most so long, as in rayon.
            let both = (0..1_000).into_par_iter().with_min_len(100).with_max_len(10).on_fibers();
            let counts: Vec<u32> = both.fold(|| 0, |count, _| count + 1).collect();
            assert!(counts.iter().all(|count| *count >= 100), "{counts:?}");
            assert_eq!(counts.iter().sum::<u32>(), 1_000);
        });
    });
}

/// Odd, and longer than any part.
const LONG: u32 = if cfg!(debug_assertions) { 60_001 } else { 1_000_001 };

#[test]
fn long_chains_give_what_those_of_std_give() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let range = || (0..LONG).into_par_iter().on_fibers();
            assert!(
                range().map(|number| number ^ 1).collect::<Vec<_>>().into_iter().eq((0..LONG).map(|number| number ^ 1))
            );
            assert!(range().filter(|number| number % 3 == 0).collect::<Vec<_>>().into_iter().eq((0..LONG).step_by(3)));
            let text = range().map(|number| (number % 10).to_string()).reduce(String::new, |left, right| left + &right);
            assert!(text == (0..LONG).map(|number| (number % 10).to_string()).collect::<String>());
            assert_eq!(range().find_first(|number| number % 1_000 == 999), Some(999));
            assert_eq!(range().find_last(|number| number % 1_000 == 0), Some((LONG - 1) / 1_000 * 1_000));
            let odd: Result<Vec<u32>, u32> =
                range().map(|number| if number < LONG / 2 { Ok(number) } else { Err(number) }).collect();
            assert!(odd.is_err_and(|error| error >= LONG / 2));
        });
    });
}

const COUNT: usize = 1_000;

/// Runs a chain over counted items, in which the body of one may panic, and checks that all of them are dropped once.
fn check_drops(run: impl Fn(Vec<Counted>, &(dyn Fn(&Counted) + Sync))) {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for panics_at in [0, COUNT / 2, COUNT - 1, COUNT] {
                let ledger = Ledger::of(COUNT);
                let items: Vec<_> = (0..COUNT).map(|number| ledger.make(number)).collect();
                let body = |item: &Counted| {
                    if item.number.is_multiple_of(100) {
                        sisal::yield_now();
                    }
                    assert_ne!(item.number, panics_at, "on purpose");
                };
                let result = catch_unwind(AssertUnwindSafe(|| run(items, &body)));
                assert_eq!(result.is_err(), panics_at < COUNT);
                ledger.check();
            }
        });
    });
}

#[test]
fn items_are_dropped_once_whatever_panics() {
    let seen = |item: Counted, body: &(dyn Fn(&Counted) + Sync)| {
        body(&item);
        item
    };
    check_drops(|items, body| {
        assert_eq!(items.into_par_iter().on_fibers().map(|item| seen(item, body)).collect::<Vec<_>>().len(), COUNT);
    });
    check_drops(|items, body| items.into_par_iter().on_fibers().for_each(|item| body(&item)));
    check_drops(|items, body| {
        let wanted = |item: &Counted| {
            body(item);
            item.number.is_multiple_of(3)
        };
        let (some, others): (Vec<_>, Vec<_>) = items.into_par_iter().on_fibers().partition(wanted);
        assert_eq!((some.len(), others.len()), (COUNT.div_ceil(3), COUNT - COUNT.div_ceil(3)));
    });
    check_drops(|items, body| {
        let last = items.into_par_iter().on_fibers().map(|item| seen(item, body)).reduce_with(|_, right| right);
        assert_eq!(last.unwrap().number, COUNT - 1);
    });
    check_drops(|items, body| {
        let found = items.into_par_iter().on_fibers().find_any(|item| {
            body(item);
            false
        });
        assert!(found.is_none());
    });
    check_drops(|items, body| {
        // Of the last ones, which have no partner, nobody hears.
        let pairs = items.into_par_iter().zip(0..COUNT - 100).chunks(7).on_fibers();
        pairs.flat_map_iter(|chunk| chunk).for_each(|(item, _)| body(&item));
        body(&Ledger::of(COUNT).make(COUNT - 1));
    });
}

#[test]
fn items_not_looked_at_are_dropped_once() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let ledger = Ledger::of(COUNT);
            let items: Vec<_> = (0..COUNT).map(|number| ledger.make(number)).collect();
            let found = items.into_par_iter().on_fibers().find_any(|item| item.number == 3);
            assert_eq!(found.map(|item| item.number), Some(3));
            ledger.check();

            let ledger = Ledger::of(COUNT);
            let items: Vec<_> = (0..COUNT).map(|number| ledger.make(number)).collect();
            let results =
                items.into_par_iter().on_fibers().map(|item| if item.number < 500 { Ok(item) } else { Err(item) });
            assert!(results.collect::<Result<Vec<_>, _>>().is_err());
            ledger.check();
        });
    });
}

#[test]
fn items_without_a_size_are_counted_all_the_same() {
    check(|input| {
        let nothings = || input.par_iter().map(drop).on_fibers();
        assert_eq!(nothings().collect::<Vec<()>>().len(), input.len());
        assert_eq!(nothings().filter(|()| true).count(), input.len());
        assert_eq!(nothings().reduce_with(|(), ()| ()).is_some(), !input.is_empty());
        assert_eq!(vec![(); input.len()].into_par_iter().on_fibers().count(), input.len());
    });
}
