//! Stacks on kernels that can't mark guards in the page tables, and where there are no more mappings for guards: each kind that is left does its work.

#[path = "../common/mod.rs"]
mod common;
mod filter;
#[path = "../common/kernel/mod.rs"]
mod kernel;

use common::child::{self, Ended, SIGABRT};
use common::skip::skip;
use common::{WORKERS, fixed};
use filter::{Lacks, pretend};
use kernel::filter::NO_FILTERS;
use sisal::{Builder, sleep, spawn, stack};
use std::hint::black_box;
use std::time::Duration;

/// Calls `body`, in a child, on a kernel that lacks that.
fn on_kernel(lacks: Lacks, body: impl FnOnce()) {
    match pretend(lacks) {
        Ok(()) => body(),
        Err(error) => eprintln!("{NO_FILTERS}: {error}"),
    }
}

/// Checks how a child ended, unless it could not be what it was to be.
fn check(ended: Ended, check: impl FnOnce(Ended)) {
    if ended.stderr.contains(NO_FILTERS) { skip(NO_FILTERS) } else { check(ended) }
}

fn is_told_of(fiber: &'static str) -> impl FnOnce(Ended) {
    move |ended| {
        let told = ended.by_signal(SIGABRT).saying("stack overflow in fiber").saying(fiber);
        told.saying("tests/older_kernels/main.rs:");
    }
}

/// Uses so much of its stack, and all of that, and comes back.
#[inline(never)]
fn use_stack(bytes: usize) -> u64 {
    let frame = black_box([bytes as u64; 128]);
    let deeper = if bytes > size_of_val(&frame) { use_stack(bytes - size_of_val(&frame)) } else { 0 };
    deeper + black_box(&frame).iter().sum::<u64>()
}

/// Two thousand fibers that wait twice, on stacks of two sizes, and one that goes deep: what they have on their stacks stays what it was.
fn many_that_wait() {
    for workers in WORKERS {
        let run = || {
            let wait = |number: u64| {
                let own = black_box([number; 200]);
                (0..2).for_each(|_| sleep(Duration::from_millis(number % 7)).unwrap());
                own.iter().sum::<u64>()
            };
            let fibers: Vec<_> = (0..2_000)
                .map(|number| {
                    let stack_size = if number % 100 == 0 { 1 << 20 } else { 64 << 10 };
                    Builder::new().stack_size(stack_size).spawn(move || wait(number))
                })
                .collect();
            let deep = spawn(move || stack::grow(4 << 20, || use_stack(3 << 20) - use_stack(3 << 20) + wait(1)));
            for (number, fiber) in (0..).zip(fibers) {
                assert_eq!(fiber.join().unwrap(), 200 * number);
            }
            assert_eq!(deep.join().unwrap(), 200);
        };
        fixed(workers).run(run).unwrap();
    }
}

#[test]
fn fibers_wait_where_guards_are_mappings() {
    check(child::run(|| on_kernel(Lacks::Markers, many_that_wait)), |ended| _ = ended.well());
}

#[test]
fn fibers_wait_where_guards_are_canaries() {
    check(child::run(|| on_kernel(Lacks::MarkersAndMappings, many_that_wait)), |ended| _ = ended.well());
}

/// What a fiber says after an overflow that nothing has stopped.
const CAME_BACK: &str = "came back";

/// A whole slot: as much as the stack is, and the room below it.
const SLOT: usize = (192 << 10) + (64 << 10) + (4 << 10);

/// Runs a fiber that uses all of its slot and a little more, which is of the stack of another that waits.
fn overflow(and_then: fn()) {
    let run = || {
        let (arrive, arrivals) = sisal::chan::unbounded();
        let (hold, held) = sisal::chan::bounded::<()>(0);
        let others: Vec<_> = (0..8)
            .map(|_| {
                let (arrive, held) = (arrive.clone(), held.clone());
                spawn(move || arrive.send(()).map(|()| held.recv()))
            })
            .collect();
        others.iter().for_each(|_| arrivals.recv().unwrap());
        let digger = Builder::new().name("late digger").spawn(move || {
            black_box(use_stack(SLOT));
            eprintln!("{CAME_BACK}");
            and_then();
        });
        let _ = digger.join();
        drop((hold, others));
    };
    let _ = fixed(1).run(run);
}

#[test]
fn an_overflow_into_a_guard_that_is_a_mapping_is_told_at_once() {
    let ended = child::run(|| on_kernel(Lacks::Markers, || overflow(|| ())));
    check(ended, |ended| is_told_of("'late digger' (#")(ended.not_saying(CAME_BACK)));
}

#[test]
#[cfg(target_arch = "x86_64")] // Elsewhere pages, and so slots, may be larger.
fn an_overflow_over_a_canary_is_told_at_the_next_wait() {
    let ended = child::run(|| {
        on_kernel(Lacks::MarkersAndMappings, || overflow(|| sleep(Duration::from_millis(1)).unwrap()));
    });
    check(ended, |ended| is_told_of("'late digger' (#")(ended.saying(CAME_BACK)));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_overflow_over_a_canary_is_told_at_the_end() {
    let ended = child::run(|| on_kernel(Lacks::MarkersAndMappings, || overflow(|| ())));
    check(ended, |ended| is_told_of("'late digger' (#")(ended.saying(CAME_BACK)));
}
