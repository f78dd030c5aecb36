//! Stacks that are taken, given back and trimmed.

use crate::{CLASS, give, read, take, tops, touch};
use sisal_context::stack::{Depot, GuardKind, SizeClass, Stack};
use std::collections::HashSet;

const ARENA_BYTES: usize = 64 * CLASS.slot_size();
const KINDS: [GuardKind; 3] = [GuardKind::Marker, GuardKind::Protected, GuardKind::Canary];

#[test]
fn the_high_water_mark_is_the_lowest_page_that_was_touched() {
    let page = rustix::param::page_size();
    let depot = Depot::new(None);
    for class in [CLASS, SizeClass::for_usable(32 << 20).unwrap()] {
        let stacks = take(&depot, class, 1);
        let stack = stacks[0];
        assert_eq!(stack.high_water(), Some(0), "nothing was touched");
        for pages in [1, 2, 7, stack.usable().len() / page] {
            // SAFETY: within the stack, which nobody else uses.
            unsafe { stack.top().sub(pages * page).write_volatile(1) };
            assert_eq!(stack.high_water(), Some(pages * page));
            assert_eq!(stack.high_water(), Some(pages * page), "looking touches nothing");
        }
        give(&depot, &stacks);
        depot.trim();
        assert_eq!(take(&depot, class, 1)[0].high_water(), Some(0), "the memory was given back");
    }
}

#[test]
fn given_stacks_are_taken_again_lowest_address_first() {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 64);
    assert!(tops(&stacks).is_sorted());
    give(&depot, &[stacks[50], stacks[3], stacks[20]]);
    let again = take(&depot, CLASS, 3);
    assert_eq!(tops(&again), tops(&[stacks[3], stacks[20], stacks[50]]));
    give(&depot, &stacks);
    assert_eq!(depot.counts().in_use, 0);
}

#[test]
fn the_arena_last_freed_into_serves_first_and_then_the_others() {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 4 * 64);
    assert_eq!(depot.counts().arenas, 4);
    give(&depot, &[stacks[10], stacks[74], stacks[138]]);
    let again = take(&depot, CLASS, 3);
    assert_eq!(tops(&again), tops(&[stacks[138], stacks[10], stacks[74]]));
    assert_eq!(depot.counts().arenas, 4);
    give(&depot, &stacks);
}

#[test]
fn the_usable_range_is_zeroed_writable_memory_of_the_size_asked_for() {
    for usable in [4 << 10, 100 << 10, 1 << 20, 600 << 20] {
        let class = SizeClass::for_usable(usable).unwrap();
        let depot = Depot::new(None);
        let stack = take(&depot, class, 1)[0];
        assert!(stack.usable().len() >= usable);
        assert_eq!(stack.class(), class);
        assert_eq!(stack.top() as usize % 16, 0);
        let lowest = stack.top().wrapping_sub(stack.usable().len());
        // SAFETY: the lowest and the highest usable byte of a stack that is out.
        unsafe {
            assert_eq!((lowest.read(), read(stack)), (0, 0));
            lowest.write(1);
        }
        touch(stack, 1);
        give(&depot, &[stack]);
    }
}

#[test]
fn ten_thousand_stacks_leave_one_arena_per_class_after_a_trim() {
    let small = SizeClass::for_usable(16 << 10).unwrap();
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 10_000);
    let few = take(&depot, small, 100);
    assert_eq!((stacks.len(), few.len()), (10_000, 100));
    stacks.iter().chain(&few).for_each(|&stack| touch(stack, 1));
    assert_eq!(depot.counts().in_use, 10_100);
    assert_eq!(depot.counts().arenas, 157 + 2);
    assert!(mappings_holding(&stacks) < 20, "neighbouring arenas were not merged");

    give(&depot, &stacks);
    give(&depot, &few);
    assert_eq!(depot.dirty(), 10_100);
    let trimmed = depot.trim();
    assert_eq!((trimmed.stacks, trimmed.arenas), (10_100, 156 + 1));
    let counts = depot.counts();
    assert_eq!((counts.in_use, counts.dirty, counts.arenas, counts.free), (0, 0, 2, 128));
    assert_eq!(counts.mapped_bytes, ARENA_BYTES + 64 * small.slot_size());
}

/// How many mappings of the kernel hold the stacks (whose guards must not be mappings).
fn mappings_holding(stacks: &[Stack]) -> usize {
    if stacks[0].guard_kind() == GuardKind::Protected {
        return 0;
    }
    let mut tops = tops(stacks);
    tops.sort_unstable();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let bounds = maps.lines().map(|line| {
        let (start, rest) = line.split_once('-').unwrap();
        let (end, _) = rest.split_once(' ').unwrap();
        let parse = |text| usize::from_str_radix(text, 16).unwrap();
        (parse(start), parse(end))
    });
    // A stack lies in (start, end], by its top.
    let count = |limit: usize| tops.partition_point(|&top| top <= limit);
    bounds.filter(|&(start, end)| count(start) < count(end)).count()
}

#[test]
fn trimming_drops_the_pages_of_free_stacks_and_of_no_other() {
    for kind in KINDS {
        let depot = Depot::with_guards(None, kind);
        let stacks = take(&depot, CLASS, 3 * 64);
        stacks.iter().for_each(|&stack| touch(stack, 7));
        let (out, free) = (&stacks[..30], &stacks[30..]);
        give(&depot, free);
        let trimmed = depot.trim();
        assert_eq!((trimmed.stacks, trimmed.arenas), (3 * 64 - 30, 1));
        assert_eq!(depot.trim(), Default::default(), "nothing is left to trim");

        assert!(out.iter().all(|&stack| read(stack) == 7 && stack.canary_intact()));
        let again = take(&depot, CLASS, 3 * 64 - 30);
        assert!(again.iter().all(|&stack| read(stack) == 0 && stack.canary_intact()));
        give(&depot, &again);
        give(&depot, out);
    }
}

#[test]
fn stacks_are_idle_if_nobody_has_needed_them_since_the_last_time() {
    let depot = Depot::new(None);
    let full_arenas = 47 * 64;
    let crowd = take(&depot, CLASS, full_arenas);
    crowd.iter().for_each(|&stack| touch(stack, 7));
    give(&depot, &crowd);
    assert_eq!((depot.trim_idle().stacks, depot.dirty()), (0, full_arenas), "they were in use until now");

    let some = take(&depot, CLASS, 1_000);
    give(&depot, &some);
    let trimmed = depot.trim_idle();
    assert_eq!((trimmed.stacks, depot.dirty()), (full_arenas - 1_000, 1_000), "a thousand were needed");
    assert!(trimmed.arenas >= 20, "{trimmed:?}");

    let still = take(&depot, CLASS, 999);
    let kept = still.iter().filter(|&&stack| read(stack) == 7).count();
    assert!(kept >= 999 - 64, "{kept} of those that are next to be taken, but for the arena last used");
    give(&depot, &still);
    depot.trim_idle();
    depot.trim_idle();
    assert_eq!(depot.dirty(), 0);
    assert_eq!(depot.counts().arenas, 1, "the last used one stays");
}

#[test]
fn a_stack_in_use_now_and_then_keeps_none_of_another_size() {
    let depot = Depot::new(None);
    let idle = take(&depot, CLASS, 10);
    give(&depot, &idle);
    for round in 0..3 {
        let busy = take(&depot, SizeClass::for_usable(4 << 10).unwrap(), 1);
        give(&depot, &busy);
        let trimmed = depot.trim_idle();
        assert_eq!(trimmed.stacks, if round == 1 { 10 } else { 0 }, "round {round}");
    }
    assert_eq!(depot.dirty(), 1);
}

#[test]
fn an_arena_kept_as_last_used_is_released_once_another_is() {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 65);
    give(&depot, &stacks[..64]);
    assert_eq!(depot.trim().arenas, 0, "the last used one stays");
    assert_eq!(depot.trim().arenas, 0);
    give(&depot, &stacks[64..]);
    assert_eq!(depot.trim().arenas, 1);
    assert_eq!(depot.counts().mapped_bytes, ARENA_BYTES);
    // The number of the released arena is used again.
    let again = take(&depot, CLASS, 100);
    assert_eq!(depot.counts().arenas, 2);
    assert_eq!(tops(&again).into_iter().collect::<HashSet<_>>().len(), 100);
    give(&depot, &again);
}

#[test]
fn the_limit_holds_over_all_classes() {
    let big = SizeClass::for_usable(1 << 20).unwrap();
    let depot = Depot::new(Some(10));
    let six = take(&depot, CLASS, 6);
    let four = take(&depot, big, 6);
    assert_eq!((six.len(), four.len()), (6, 4));
    assert_eq!(take(&depot, CLASS, 1).len(), 0);
    give(&depot, &six[..1]);
    let one = take(&depot, big, 2);
    assert_eq!(one.len(), 1);
    give(&depot, &one);
    give(&depot, &six[1..]);
    give(&depot, &four);
    assert_eq!(take(&Depot::new(Some(0)), CLASS, 1).len(), 0);
}

#[test]
fn an_overwritten_canary_is_seen_and_written_anew_for_the_next_user() {
    let depot = Depot::with_guards(None, GuardKind::Canary);
    let stacks = take(&depot, CLASS, 2);
    assert!(stacks.iter().all(|stack| stack.needs_canary_check() && stack.canary_intact()));
    // SAFETY: canaries leave the whole slot mapped and writable, and the slot is out.
    unsafe { stacks[0].top().sub(CLASS.slot_size()).write(1) };
    assert!(!stacks[0].canary_intact());
    assert!(stacks[1].canary_intact());
    give(&depot, &stacks);
    assert!(take(&depot, CLASS, 2).iter().all(|stack| stack.canary_intact()));
}

#[test]
fn guards_that_fault_need_no_canary_check() {
    for kind in [GuardKind::Marker, GuardKind::Protected] {
        let depot = Depot::with_guards(None, kind);
        let stack = take(&depot, CLASS, 1)[0];
        assert_eq!(stack.needs_canary_check(), stack.guard_kind() == GuardKind::Canary);
        assert!(stack.guard_kind() >= kind);
        give(&depot, &[stack]);
    }
}

#[test]
fn threads_that_take_give_and_trim_never_share_a_stack() {
    let depot = Depot::new(Some(300));
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let depot = &depot;
            scope.spawn(move || {
                for round in 0..100 {
                    let stacks = take(depot, CLASS, 40 + round);
                    stacks.iter().for_each(|&stack| touch(stack, thread));
                    if round % 10 == 0 {
                        depot.trim();
                    }
                    assert!(stacks.iter().all(|&stack| read(stack) == thread));
                    give(depot, &stacks);
                }
            });
        }
    });
    depot.trim();
    let counts = depot.counts();
    assert_eq!((counts.in_use, counts.dirty, counts.arenas), (0, 0, 1));
}

#[test]
fn a_depot_dropped_with_stacks_in_use_leaks_their_arenas() {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 65);
    give(&depot, &stacks[..64]);
    drop(depot);
    touch(stacks[64], 1);
    assert_eq!(read(stacks[64]), 1);
}
