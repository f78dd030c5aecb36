//! Items that are moved: each is dropped once, whatever happens in the middle.

use super::common::flavours::{Counted, Ledger};
use super::common::{in_main_fiber, with_workers};
use sisal::par;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

const COUNT: usize = 2_000;

/// Runs a loop over counted items, in which the body of one may panic, and checks that all of them are dropped once.
fn check(run: impl Fn(Vec<Counted>, &(dyn Fn(usize) + Sync)) + Sync) {
    let round = |panics_at: usize| {
        let ledger = Ledger::of(COUNT);
        let items = (0..COUNT).map(|number| ledger.make(number)).collect();
        let body = |number: usize| {
            if number.is_multiple_of(64) {
                sisal::yield_now();
            }
            if number == panics_at {
                panic!("on purpose");
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| run(items, &body)));
        assert_eq!(result.is_err(), panics_at < COUNT);
        ledger.check();
    };
    let all = || [COUNT, 0, 1, COUNT / 3, COUNT - 1].into_iter().for_each(round);
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn items_gone_through_are_dropped_once() {
    check(|items, body| par::iter(items).for_each(|item| body(item.number)));
    check(|items, body| par::iter(items).grain(1).for_each(|item| body(item.number)));
}

#[test]
fn items_collected_are_dropped_once() {
    check(|items, body| {
        let same = |item: Counted| {
            body(item.number);
            item
        };
        assert_eq!(par::iter(items).map(same).collect::<Vec<_>>().len(), COUNT);
    });
    check(|items, body| {
        let wanted = |item: &Counted| {
            body(item.number);
            item.number.is_multiple_of(3)
        };
        assert_eq!(par::iter(items).filter(wanted).collect::<Vec<_>>().len(), COUNT.div_ceil(3));
    });
}

#[test]
fn items_partitioned_reduced_and_paired_are_dropped_once() {
    check(|items, body| {
        let (small, big) = par::iter(items).partition(|item| {
            body(item.number);
            item.number < 100
        });
        assert_eq!((small.len(), big.len()), (100, COUNT - 100));
    });
    check(|items, body| {
        let last = par::iter(items).max_by_key(|item| {
            body(item.number);
            item.number
        });
        assert_eq!(last.unwrap().number, COUNT - 1);
    });
    check(|items, body| {
        // Of those that have no partner nobody hears.
        let few = par::iter(items).zip(0..COUNT - 500).map(|(item, number)| {
            assert_eq!(item.number, number);
            body(number);
        });
        few.for_each(drop);
        body(COUNT - 1);
    });
}

#[test]
fn items_made_into_others_are_dropped_once() {
    check(|items, body| {
        let kept = par::iter(items).filter_map(|item| {
            body(item.number);
            item.number.is_multiple_of(3).then_some(item)
        });
        assert_eq!(kept.collect::<VecDeque<_>>().len(), COUNT.div_ceil(3));
    });
    check(|items, body| {
        let one_or_none = par::iter(items).enumerate().flat_map(|(at, item)| {
            assert_eq!(item.number, at);
            body(at);
            at.is_multiple_of(2).then_some(item)
        });
        assert_eq!(one_or_none.collect::<Vec<_>>().len(), COUNT.div_ceil(2));
    });
    check(|mut items, body| {
        let nested: Vec<Vec<Counted>> = (0..COUNT / 5).map(|_| items.drain(..5).collect()).collect();
        assert!(items.is_empty());
        par::iter(nested).flatten().for_each(|item| body(item.number));
    });
}

#[test]
fn items_folded_and_compared_are_dropped_once() {
    let seen = |item: Counted, body: &(dyn Fn(usize) + Sync)| {
        body(item.number);
        item
    };
    check(|items, body| {
        let all = par::iter(items).fold(
            Vec::new,
            |mut all, item| {
                all.push(seen(item, body));
                all
            },
            |mut left, mut right| {
                left.append(&mut right);
                left
            },
        );
        assert!(all.into_iter().map(|item| item.number).eq(0..COUNT));
    });
    check(|items, body| {
        let last = par::iter(items).map(|item| seen(item, body)).reduce(|_, right| right);
        assert_eq!(last.unwrap().number, COUNT - 1);
    });
    check(|items, body| {
        let first = par::iter(items).min_by_key(|item| {
            body(item.number);
            item.number
        });
        assert_eq!(first.unwrap().number, 0);
    });
    check(|items, body| assert_eq!(par::iter(items).map(|item| seen(item, body)).count(), COUNT));
}

#[test]
fn items_looked_through_to_the_last_are_dropped_once() {
    const LAST: usize = COUNT - 1;
    check(|items, body| {
        let found = par::iter(items).find_first(|item| {
            body(item.number);
            item.number == LAST
        });
        assert_eq!(found.unwrap().number, LAST);
    });
    check(|items, body| {
        let found = par::iter(items).find_any(|item| {
            body(item.number);
            false
        });
        assert!(found.is_none());
    });
    check(|items, body| {
        let found = par::iter(items).position(|item| {
            body(item.number);
            item.number == LAST
        });
        assert_eq!(found, Some(LAST));
    });
    check(|items, body| {
        assert!(par::iter(items).all(|item| {
            body(item.number);
            true
        }));
    });
    check(|items, body| {
        assert!(!par::iter(items).any(|item| {
            body(item.number);
            false
        }));
    });
    check(|items, body| {
        let tried = par::iter(items).try_for_each(|item| {
            body(item.number);
            if item.number == LAST { Err(item) } else { Ok(()) }
        });
        assert_eq!(tried.unwrap_err().number, LAST);
    });
    check(|items, body| {
        let all: Option<Vec<Counted>> = par::iter(items)
            .map(|item| {
                body(item.number);
                Some(item)
            })
            .collect();
        assert_eq!(all.unwrap().len(), COUNT);
    });
}

#[test]
fn items_lent_out_stay_where_they_are() {
    check(|mut items, body| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            par::iter(&mut items).chunks(3).for_each(|chunk| chunk.iter().for_each(|item| body(item.number)));
        }));
        assert!(items.iter().map(|item| item.number).eq(0..COUNT));
        result.unwrap_or_else(|payload| resume_unwind(payload));
    });
}

/// Something of which it is counted how many there are.
struct Alive<'a> {
    value: usize,
    count: &'a AtomicUsize,
}

impl Alive<'_> {
    fn new(value: usize, count: &AtomicUsize) -> Alive<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        Alive { value, count }
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As `check`, for what replaces items by others.
fn check_replaced(run: impl Fn(Vec<Alive<'_>>, &(dyn Fn() + Sync)) + Sync) {
    let round = |panics_at: usize| {
        let (count, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items = (0..COUNT).map(|value| Alive::new(value, &count)).collect();
        let body = || {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            if call.is_multiple_of(64) {
                sisal::yield_now();
            }
            if call == panics_at {
                panic!("on purpose");
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| run(items, &body)));
        assert_eq!(result.is_err(), panics_at < COUNT);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    };
    let all = || [usize::MAX, 0, 1, COUNT / 3, COUNT - 2].into_iter().for_each(round);
    with_workers(|workers| in_main_fiber(workers, all));
    all();
}

#[test]
fn items_replaced_by_others_are_dropped_once() {
    check_replaced(|mut items, body| {
        par::iter(&mut items).map_in_place(|item| {
            body();
            Alive::new(item.value + 1, item.count)
        });
        assert!(items.iter().map(|item| item.value).eq(1..COUNT + 1));
    });
    fn add<'a>(left: &Alive<'a>, right: &Alive<'a>) -> Alive<'a> {
        Alive::new(left.value + right.value, left.count)
    }
    check_replaced(|mut items, body| {
        par::iter(&mut items).scan_in_place(|left, right| {
            body();
            add(left, right)
        });
        assert_eq!(items.last().unwrap().value, COUNT * (COUNT - 1) / 2);
    });
    check_replaced(|items, body| {
        let sums = par::iter(items).scan(|left, right| {
            body();
            add(left, right)
        });
        assert_eq!(sums.last().unwrap().value, COUNT * (COUNT - 1) / 2);
    });
}

#[test]
fn items_not_looked_at_are_dropped_once() {
    let round = || {
        let ledger = Ledger::of(COUNT);
        let make = || (0..COUNT).map(|number| ledger.make(number)).collect::<Vec<_>>();
        let found = par::iter(make()).find_any(|item| item.number == 3);
        assert_eq!(found.map(|found| found.number), Some(3));
        ledger.check();

        let ledger = Ledger::of(COUNT);
        let make = || (0..COUNT).map(|number| ledger.make(number)).collect::<Vec<_>>();
        let results = par::iter(make()).map(|item| if item.number < 1_000 { Ok(item) } else { Err(item) });
        let error = results.collect::<Result<Vec<_>, _>>().unwrap_err();
        assert_eq!(error.number, 1_000);
        drop(error);
        ledger.check();

        let ledger = Ledger::of(COUNT);
        drop(par::iter((0..COUNT).map(|number| ledger.make(number)).collect::<Vec<_>>()).zip(0..3));
        ledger.check();
    };
    with_workers(|workers| in_main_fiber(workers, round));
    round();
}

static NOTHINGS: AtomicUsize = AtomicUsize::new(0);

/// An item without a size.
struct Nothing;

impl Drop for Nothing {
    fn drop(&mut self) {
        NOTHINGS.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn items_without_a_size_are_counted_all_the_same() {
    let expected = std::cell::Cell::new(0);
    let expect = |count: usize| {
        expected.set(expected.get() + count);
        assert_eq!(NOTHINGS.load(Ordering::Relaxed), expected.get());
    };
    let make = |count: usize| std::iter::repeat_with(|| Nothing).take(count).collect::<Vec<_>>();
    super::common::watchdog::guarded(|| {
        sisal::run(|| {
            for count in [0, 1, 5_001] {
                assert_eq!(par::iter(make(count)).map(|nothing| nothing).collect::<Vec<_>>().len(), count);
                expect(count);
                assert_eq!(par::iter(make(count)).filter(|_| true).collect::<Vec<_>>().len(), count);
                expect(count);
                let mut items = make(count);
                assert_eq!(
                    par::iter(&mut items).count() + par::iter(&items).chunks(2).count(),
                    count + count.div_ceil(2)
                );
                assert_eq!(par::iter(items).count(), count);
                expect(count);

                // The others, one after the other: all that goes in is dropped, in the loop or after it.
                let (some, none) = par::iter(make(count)).partition(|_| count.is_multiple_of(2));
                assert_eq!(some.len() + none.len(), count);
                drop((some, none));
                expect(count);
                assert_eq!(
                    par::iter(make(count)).zip(0..count).enumerate().filter_map(|pair| Some(pair.1)).count(),
                    count
                );
                expect(count);
                assert_eq!(par::iter(make(count)).reduce(|_, last| last).is_some(), count > 0);
                expect(count);
                assert_eq!(par::iter(make(count)).min_by_key(|_| ()).is_some(), count > 0);
                expect(count);
                assert_eq!(par::iter(make(count)).find_first(|_| true).is_some(), count > 0);
                expect(count);
                assert!(par::iter(make(count)).find_any(|_| false).is_none());
                expect(count);
                assert_eq!(par::iter(vec![make(count), make(count)]).flatten().count(), 2 * count);
                expect(2 * count);
                let mut items = make(count);
                par::iter(&mut items).map_in_place(|_| Nothing);
                expect(count);
                par::sort_by_key(&mut items, |_| ());
                par::sort_by_cached_key(&mut items, |_| ());
                par::sort_unstable_by(&mut items, |_, _| std::cmp::Ordering::Less);
                assert_eq!(par::iter(items).scan(|_, _| Nothing).len(), count);
                // Each call makes one more, and replaces one.
                let now = NOTHINGS.load(Ordering::Relaxed);
                let dropped = now - expected.replace(now);
                assert!(dropped >= count + count.saturating_sub(1), "{dropped} of {count}");
            }
            let units: Vec<()> = par::iter(0..100_000).map(drop).collect();
            assert_eq!(units.len(), 100_000);
        });
    });
}

#[test]
fn of_pairs_none_is_lost_if_one_without_a_partner_panics_when_it_is_dropped() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Item(bool);
    impl Drop for Item {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            if self.0 {
                resume_unwind(Box::new(()));
            }
        }
    }
    with_workers(|workers| {
        in_main_fiber(workers, || {
            DROPPED.store(0, Ordering::Relaxed);
            let items = |count: usize, last: bool| {
                (0..count).map(|number| Item(last && number + 1 == count)).collect::<Vec<_>>()
            };
            let looped =
                catch_unwind(AssertUnwindSafe(|| par::iter(items(10, true)).zip(items(5, false)).for_each(drop)));
            assert!(looped.is_err());
            assert_eq!(DROPPED.load(Ordering::Relaxed), 15);
        });
    });
}
