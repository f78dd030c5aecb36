//! Items that are moved: each is dropped once, whatever happens in the middle.

use super::common::flavours::{Counted, Ledger};
use super::common::{in_main_fiber, with_workers};
use sisal::par;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    let mut expected = 0;
    let mut expect = |count: usize| {
        expected += count;
        assert_eq!(NOTHINGS.load(Ordering::Relaxed), expected);
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
            }
            let units: Vec<()> = par::iter(0..100_000).map(drop).collect();
            assert_eq!(units.len(), 100_000);
        });
    });
}
