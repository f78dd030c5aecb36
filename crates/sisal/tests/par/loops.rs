//! Loops: what they give is what sequential ones give.

use super::common::{in_background, in_main_fiber, linux, with_workers};
use sisal::par;
use sisal::sync::{Barrier, Mutex};
use std::cmp::Ordering as Order;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::iter::Sum;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers to go over: none, one, few, odd counts, many. The seed is printed if something fails.
fn inputs(check: &dyn Fn(&[u32])) {
    let seed = fastrand::u64(..);
    let failed = ShowSeed(seed);
    let mut random = fastrand::Rng::with_seed(seed);
    for len in [0, 1, 2, 3, 16, 101, 4_007] {
        for most in [3, u32::MAX] {
            check(&std::iter::repeat_with(|| random.u32(..most)).take(len).collect::<Vec<_>>());
        }
    }
    std::mem::forget(failed);
}

struct ShowSeed(u64);

impl Drop for ShowSeed {
    fn drop(&mut self) {
        eprintln!("the seed was {}", self.0);
    }
}

/// Checks on 1, 2, 4 and 8 workers, and on a thread, with any grain.
fn check(check: impl Fn(&[u32], Grain)) {
    // By pointer, so that it is compiled once.
    let check: &dyn Fn(&[u32], Grain) = &check;
    let all = || {
        inputs(&|input| {
            [None, Some(1), Some(7), Some(100_000)].into_iter().for_each(|grain| check(input, Grain(grain)))
        })
    };
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[derive(Copy, Clone)]
struct Grain(Option<usize>);

impl Grain {
    fn iter<I: par::IntoSource>(self, source: I) -> par::Par<I::Source> {
        let par = par::iter(source);
        match self.0 {
            Some(grain) => par.grain(grain),
            None => par,
        }
    }
}

#[test]
fn each_item_is_gone_through_once() {
    check(|input, grain| {
        let counts: Vec<AtomicUsize> = input.iter().map(|_| AtomicUsize::new(0)).collect();
        grain.iter(0..input.len()).for_each(|at| _ = counts[at].fetch_add(1, Ordering::Relaxed));
        assert!(counts.into_iter().all(|count| count.into_inner() == 1));

        let mut doubled = input.to_vec();
        grain.iter(&mut doubled).for_each(|number| *number = number.wrapping_mul(2));
        assert!(doubled.iter().zip(input).all(|(doubled, number)| *doubled == number.wrapping_mul(2)));

        let mut negated = input.to_vec();
        grain.iter(&mut negated).map_in_place(|number| !number);
        assert!(negated.iter().zip(input).all(|(negated, number)| *negated == !number));
    });
}

#[test]
fn all_that_is_collected_is_in_order() {
    check(|input, grain| {
        let texts: Vec<String> = grain.iter(input).map(u32::to_string).collect();
        assert_eq!(texts, input.iter().map(u32::to_string).collect::<Vec<_>>());
        assert_eq!(grain.iter(texts.clone()).collect::<Vec<_>>(), texts);
        assert_eq!(*grain.iter(texts.clone()).collect::<Box<[_]>>(), *texts);

        let odd = |number: &u32| number % 2 == 1;
        let filtered: Vec<u32> = grain.iter(input.to_vec()).filter(odd).collect();
        assert_eq!(filtered, input.iter().copied().filter(odd).collect::<Vec<_>>());
        let halves = |number: &u32| number.is_multiple_of(2).then(|| (number / 2).to_string());
        let halved: VecDeque<String> = grain.iter(input).filter_map(halves).collect();
        assert_eq!(halved, input.iter().filter_map(halves).collect::<VecDeque<_>>());

        let repeated = |number: u32| std::iter::repeat_n(number, number as usize % 3);
        let several: Vec<u32> = grain.iter(input.to_vec()).flat_map(repeated).collect();
        assert_eq!(several, input.iter().copied().flat_map(repeated).collect::<Vec<_>>());
        let nested: Vec<Vec<u32>> = input.chunks(3).map(<[u32]>::to_vec).collect();
        assert_eq!(grain.iter(nested).flatten().collect::<Vec<_>>(), input);

        assert_eq!(grain.iter(texts.clone()).collect::<String>(), texts.concat());
        assert_eq!(grain.iter(input.to_vec()).collect::<BTreeSet<_>>(), input.iter().copied().collect());
        assert_eq!(grain.iter(input.to_vec()).collect::<HashSet<u32>>(), input.iter().copied().collect());
        assert_eq!(grain.iter(texts.clone()).collect::<LinkedList<_>>(), texts.iter().cloned().collect());
        let heap: BinaryHeap<u32> = grain.iter(input.to_vec()).collect();
        assert_eq!(heap.into_sorted_vec(), input.iter().copied().collect::<BinaryHeap<_>>().into_sorted_vec());
        let slices: String = grain.iter(&texts).map(String::as_str).collect();
        let letters: String = grain.iter(&texts).flat_map(|text| text.chars()).collect();
        assert_eq!((slices, letters), (texts.concat(), texts.concat()));
        let numbered = || input.iter().copied().zip(0..);
        assert_eq!(grain.iter(input.to_vec()).zip(0..1_000_000).collect::<BTreeMap<_, i32>>(), numbered().collect());
        assert_eq!(grain.iter(input.to_vec()).zip(0..1_000_000).collect::<HashMap<_, i32>>(), numbered().collect());
    });
}

#[test]
fn the_first_error_is_that_of_a_sequential_loop() {
    check(|input, grain| {
        let keep = |limit: u32| move |number: &u32| if *number < limit { Ok(*number) } else { Err(*number) };
        for limit in [0, 1, 2, 3, u32::MAX / 2, u32::MAX] {
            let expected: Result<Vec<u32>, u32> = input.iter().map(keep(limit)).collect();
            assert_eq!(grain.iter(input).map(keep(limit)).collect::<Result<Vec<_>, _>>(), expected);
            let tried = grain.iter(input).try_for_each(|number| keep(limit)(number).map(drop));
            assert_eq!(tried, expected.clone().map(drop));
            let options: Option<Vec<u32>> = grain.iter(input).map(|number| keep(limit)(number).ok()).collect();
            assert_eq!(options, expected.clone().ok());
            let set: Result<BTreeSet<u32>, u32> = grain.iter(input).map(keep(limit)).collect();
            assert_eq!(set, expected.map(|numbers| numbers.into_iter().collect()));
        }
    });
}

/// Adding two of them is not commutative.
#[derive(Debug, PartialEq, Eq)]
struct Digits(String);

impl Sum<char> for Digits {
    fn sum<I: Iterator<Item = char>>(digits: I) -> Digits {
        Digits(digits.collect())
    }
}

impl Sum for Digits {
    fn sum<I: Iterator<Item = Digits>>(parts: I) -> Digits {
        Digits(parts.map(|Digits(part)| part).collect())
    }
}

#[test]
fn folds_need_not_be_commutative() {
    check(|input, grain| {
        let digit = |number: &u32| char::from_digit(number % 10, 10).unwrap();
        let expected: String = input.iter().map(digit).collect();
        let push = |mut text: String, number| {
            text.push(digit(number));
            text
        };
        assert_eq!(grain.iter(input).fold(String::new, push, |left, right| left + &right), expected);
        let reduced = grain.iter(input).map(|number| digit(number).to_string()).reduce(|left, right| left + &right);
        assert_eq!(reduced, (!input.is_empty()).then(|| expected.clone()));
        assert_eq!(grain.iter(input).map(digit).sum::<Digits>(), Digits(expected));

        assert_eq!(grain.iter(input).map(|n| u64::from(*n)).sum::<u64>(), input.iter().map(|n| u64::from(*n)).sum());
        assert_eq!(grain.iter(input).filter(|n| **n % 3 == 0).count(), input.iter().filter(|n| **n % 3 == 0).count());
    });
}

/// A number with its place, which does not matter when it is compared.
#[derive(Copy, Clone, Debug)]
struct Placed {
    number: u32,
    place: usize,
}

impl PartialEq for Placed {
    fn eq(&self, other: &Placed) -> bool {
        self.number == other.number
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Placed) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Placed) -> Order {
        self.number.cmp(&other.number)
    }
}

#[test]
fn of_equals_the_least_is_the_first_and_the_greatest_the_last() {
    check(|input, grain| {
        let numbered = || grain.iter(input).enumerate();
        let expected = || input.iter().enumerate();
        let key = |(_, number): &(usize, &u32)| **number % 16;
        assert_eq!(numbered().min_by_key(key), expected().min_by_key(key));
        assert_eq!(numbered().max_by_key(key), expected().max_by_key(key));
        let placed: Vec<Placed> = input.iter().zip(0..).map(|(&number, place)| Placed { number, place }).collect();
        let place = |placed: Placed| placed.place;
        assert_eq!(grain.iter(placed.clone()).min().map(place), placed.iter().copied().min().map(place));
        assert_eq!(grain.iter(placed.clone()).max().map(place), placed.iter().copied().max().map(place));
    });
}

#[test]
fn what_is_looked_for_is_found() {
    check(|input, grain| {
        for wanted in [0, 1, 2, 17, u32::MAX / 2] {
            let fits = |number: &u32| *number >= wanted;
            assert_eq!(grain.iter(input).find_first(|number| fits(number)), input.iter().find(|number| fits(number)));
            assert_eq!(grain.iter(input).position(fits), input.iter().position(fits));
            let found = grain.iter(input.to_vec()).find_any(fits);
            assert_eq!(found.is_some(), input.iter().any(fits));
            assert!(found.is_none_or(|found| fits(&found) && input.contains(&found)));
            assert_eq!(grain.iter(input).any(fits), input.iter().any(fits));
            assert_eq!(grain.iter(input).all(fits), input.iter().all(fits));
            let filtered = grain.iter(input).filter(|number| **number % 2 == 0).find_first(|number| fits(number));
            assert_eq!(filtered, input.iter().filter(|number| **number % 2 == 0).find(|number| fits(number)));
        }
    });
}

#[test]
fn pairs_chunks_and_partitions_are_those_of_std() {
    check(|input, grain| {
        let words: Vec<String> = input.iter().skip(1).map(u32::to_string).collect();
        let pairs: Vec<(usize, (&u32, String))> = grain.iter(input).zip(words.clone()).enumerate().collect();
        assert_eq!(pairs, input.iter().zip(words.clone()).enumerate().collect::<Vec<_>>());
        let pairs: Vec<(String, u64)> = grain.iter(words.clone()).zip(par::iter(5..9u64)).collect();
        assert_eq!(pairs, words.into_iter().zip(5..9).collect::<Vec<_>>());

        for size in [0, 1, 2, 10, usize::MAX] {
            let chunks: Vec<&[u32]> = grain.iter(input).chunks(size).collect();
            assert_eq!(chunks, input.chunks(size.max(1)).collect::<Vec<_>>());
            let mut reversed = input.to_vec();
            grain.iter(&mut reversed).chunks(size).for_each(<[u32]>::reverse);
            let mut expected = input.to_vec();
            expected.chunks_mut(size.max(1)).for_each(<[u32]>::reverse);
            assert_eq!(reversed, expected);
        }

        let odd = |number: &u32| number % 2 == 1;
        let expected: (Vec<u32>, Vec<u32>) = input.iter().copied().partition(odd);
        assert_eq!(grain.iter(input.to_vec()).partition(odd), expected);
    });
}

/// Of all lengths, one that is divided for certain. Odd, and longer than any part.
const LONG: u32 = if cfg!(debug_assertions) { 60_001 } else { 1_000_001 };

#[test]
fn long_loops_give_what_sequential_ones_give() {
    let numbers: Vec<u32> = (0..LONG).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
    let odd = |number: &u32| number % 2 == 1;
    let all = || {
        let input = &numbers[..];
        let texts: Vec<String> = par::iter(input).map(u32::to_string).collect();
        assert!(texts.iter().eq(input.iter().map(u32::to_string).collect::<Vec<_>>().iter()));
        let joined = par::iter(texts.clone()).reduce(|left, right| left + &right);
        assert!(joined == Some(texts.concat()));
        assert!(
            par::iter(input.to_vec()).filter(odd).collect::<Vec<_>>().into_iter().eq(input.iter().copied().filter(odd))
        );
        assert!(par::iter(input.to_vec()).partition(odd) == input.iter().copied().partition(odd));
        assert!(par::iter(input).flat_map(|number| [number, number]).count() == 2 * input.len());
        assert_eq!(par::iter(input).min(), input.iter().min());
        assert_eq!(
            par::iter(input).max_by_key(|number| **number % 1_000),
            input.iter().max_by_key(|number| **number % 1_000)
        );
        let last = *input.last().unwrap();
        assert_eq!(par::iter(input).position(|number| *number == last), Some(input.len() - 1));
        assert_eq!(par::iter(input).find_first(|number| odd(number)), input.iter().find(|number| odd(number)));
        let tried =
            par::iter(input).enumerate().try_for_each(|(at, _)| if at < input.len() / 2 { Ok(()) } else { Err(at) });
        assert_eq!(tried, Err(input.len() / 2));
        let zipped = par::iter(input).zip(texts).enumerate();
        assert!(zipped.all(|(at, (number, text))| input[at] == *number && text == number.to_string()));
        let mut doubled = input.to_vec();
        par::iter(&mut doubled).chunks(7).for_each(|chunk| chunk.iter_mut().for_each(|number| *number /= 2));
        assert!(doubled.iter().eq(input.iter().map(|number| number / 2).collect::<Vec<_>>().iter()));
    };
    with_workers(|workers| in_main_fiber(workers, all));
}

#[test]
fn ranges_have_all_their_numbers() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            assert_eq!(par::iter(i8::MIN..i8::MAX).collect::<Vec<_>>(), (i8::MIN..i8::MAX).collect::<Vec<_>>());
            assert_eq!(par::iter(-3..3i64).collect::<Vec<_>>(), [-3, -2, -1, 0, 1, 2]);
            assert_eq!(par::iter(i64::MAX - 2..i64::MAX).collect::<Vec<_>>(), [i64::MAX - 2, i64::MAX - 1]);
            #[expect(clippy::reversed_empty_ranges, reason = "that is the test")]
            let empty = par::iter(7..3u32);
            assert!(empty.is_empty());
            assert_eq!(empty.count(), 0);
            assert!(par::iter(i64::MIN..i64::MAX).any(|_| true));
        });
    });
}

#[test]
fn the_longest_loop_fits_on_the_stack_of_a_fiber() {
    with_workers(|workers| {
        in_background(workers, || {
            assert!(par::iter(0..u64::MAX).grain(1).any(|_| true));
            assert_eq!(par::iter(0..u64::MAX).grain(1).find_first(|_| true), Some(0));
        });
    });
}

#[test]
fn a_thousand_bodies_meet_at_a_barrier() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let barrier = Barrier::new(1_000);
            par::iter(0..1_000).grain(1).for_each(|_| _ = barrier.wait());
        });
    });
}

#[test]
fn a_body_that_waits_lets_others_have_the_rest() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            // The first body waits for the last one.
            let (sender, receiver) = sisal::chan::bounded(1);
            par::iter(0..10_000u32).for_each(|number| match number {
                0 => assert_eq!(receiver.recv(), Ok(7)),
                9_999 => sender.send(7).unwrap(),
                _ => {}
            });
        });
    });
}

#[test]
fn bodies_may_lock_and_loop() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let total = Mutex::new(0);
            par::iter(0..100u64).for_each(|row| {
                let mut total = total.lock();
                *total += par::iter(0..row).map(|column| column % 3).sum::<u64>();
            });
            assert_eq!(total.into_inner(), (0..100).flat_map(|row| (0..row).map(|column| column % 3)).sum::<u64>());
        });
    });
}

#[test]
fn eight_threads_loop_at_once() {
    with_workers(|workers| {
        let runtime = super::common::background(workers);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let runtime = &runtime;
                scope.spawn(move || {
                    let sum: u64 = runtime.run(|| par::iter(0..100_000u64).map(|number| number ^ thread).sum());
                    assert_eq!(sum, (0..100_000).map(|number| number ^ thread).sum());
                });
            }
        });
        super::common::shut_down(runtime);
    });
}

#[test]
fn a_runtime_rests_after_it_has_computed() {
    let ended = super::common::child::run(|| {
        for workers in super::common::WORKERS {
            let runtime = super::common::background(workers);
            runtime.run(|| {
                let mut numbers: Vec<u64> = (0..100_000).rev().collect();
                par::sort_unstable(&mut numbers);
                assert_eq!(par::iter(&numbers).sum::<u64>(), 4_999_950_000);
            });
            // Work may still be settling; a runtime that went on looking for some would never come to rest.
            let mut before = linux::rest_of_others();
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
                let now = linux::rest_of_others();
                if now.is_some() && now == before {
                    break;
                }
                before = now;
            }
            super::common::shut_down(runtime);
        }
    });
    ended.well();
}
