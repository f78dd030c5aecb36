//! What the kernel refuses, in processes that it leaves unusable.

use crate::child::run_in_child;
use crate::{CLASS, give, read, take, tops, touch};
use sisal_context::stack::{Depot, GuardKind, SizeClass, Stack};
use std::collections::HashSet;

fn assert_succeeds(scenario: &str) {
    let output = run_in_child(scenario);
    assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Does what the kernel refuses; false if the scenario is none of these.
pub(crate) fn play(scenario: &str) -> bool {
    match scenario {
        "no memory" => take_until_memory_is_refused(),
        "no room for an arena" => take_a_few_large_ones(),
        "no mappings for guards" => take_until_guards_are_canaries(),
        "no mappings for the last guards" => take_when_guards_cannot_be_finished(),
        "what was mapped ahead" => trim_what_was_mapped_ahead(),
        "nothing is mapped ahead" => take_where_addresses_are_limited(),
        "what was mapped ahead in the way" => take_what_was_mapped_ahead_for_others(),
        "no mappings for holes" => trim_when_nothing_can_be_unmapped(),
        _ => return false,
    }
    true
}

#[test]
fn fewer_stacks_are_had_when_memory_is_refused() {
    assert_succeeds("no memory");
}

#[test]
fn a_few_stacks_are_had_where_there_is_no_room_for_an_arena() {
    assert_succeeds("no room for an arena");
}

#[test]
fn guards_are_canaries_when_mappings_run_out() {
    if max_map_count() < 100_000 {
        assert_succeeds("no mappings for guards");
        assert_succeeds("no mappings for the last guards");
    }
}

#[test]
fn arenas_that_cannot_be_unmapped_stay_usable_and_lose_their_pages() {
    if max_map_count() < 100_000 {
        assert_succeeds("no mappings for holes");
    }
}

#[test]
fn what_was_mapped_ahead_goes_with_the_arenas() {
    assert_succeeds("what was mapped ahead");
}

#[test]
fn nothing_is_mapped_ahead_where_addresses_are_limited() {
    assert_succeeds("nothing is mapped ahead");
}

#[test]
fn what_was_mapped_ahead_is_given_up_for_stacks_of_another_size() {
    assert_succeeds("what was mapped ahead in the way");
}

fn max_map_count() -> usize {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    text.trim().parse().unwrap()
}

fn limit_address_space(bytes: usize) {
    let limit = libc::rlimit { rlim_cur: bytes as u64, rlim_max: bytes as u64 };
    // SAFETY: reads a live struct.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

fn take_until_memory_is_refused() {
    limit_address_space(4 << 30);
    let depot = Depot::new(None);
    let some = take(&depot, CLASS, 100_000);
    assert!(some.len() < 100_000 && some.len().is_multiple_of(64));
    let left = (4 << 30) - address_space();
    assert!(
        left < 2 * 64 * CLASS.slot_size(),
        "{left} bytes left: where there is not enough for many arenas, there is for one"
    );
    assert_eq!(take(&depot, CLASS, 1).len(), 0);
    assert_eq!((depot.counts().in_use, depot.counts().free), (some.len(), 0));
    give(&depot, &some);
    assert_eq!(take(&depot, CLASS, 100_000).len(), some.len());
}

fn take_a_few_large_ones() {
    let large = SizeClass::for_usable(16 << 20).unwrap();
    limit_address_space(address_space() + 4 * large.slot_size());
    let depot = Depot::new(None);
    let some = take(&depot, large, 100);
    assert!((1..=4).contains(&some.len()), "{}", some.len());
    assert_eq!(take(&depot, large, 1).len(), 0);
    give(&depot, &some);
    let again = take(&depot, large, 100);
    assert_eq!(again.len(), some.len());
    give(&depot, &again);
    depot.trim();
    assert!(depot.counts().arenas <= 1, "but for the last used, they are unmapped");
}

/// In bytes, of this process.
fn address_space() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: asks for a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize
}

fn trim_what_was_mapped_ahead() {
    let depot = Depot::new(None);
    let base = address_space();
    let stacks = take(&depot, CLASS, 10_000);
    let arena = 64 * CLASS.slot_size();
    assert!(address_space() > base + depot.counts().mapped_bytes + arena, "nothing is mapped ahead");
    give(&depot, &stacks);
    depot.trim();
    let rest = address_space() - base;
    assert!(rest < arena + (1 << 20), "{rest} bytes are left");
}

fn take_where_addresses_are_limited() {
    let depot = Depot::new(None);
    let base = address_space();
    limit_address_space(base + (100 << 30));
    let stacks = take(&depot, CLASS, 10_000);
    let ahead = address_space() - base - depot.counts().mapped_bytes;
    assert!(ahead < 1 << 20, "{ahead} bytes are mapped ahead");
    give(&depot, &stacks);
}

fn take_what_was_mapped_ahead_for_others() {
    let depot = Depot::new(None);
    // One more than fills the arenas of all tracts up to then, so that the next tract has much left.
    let stacks = take(&depot, CLASS, 16 * 64 + 1);
    limit_address_space(address_space() + (200 << 20));
    let large = take(&depot, SizeClass::for_usable(100 << 20).unwrap(), 1);
    assert_eq!(large.len(), 1, "an arena of 256 MiB, where 200 are left, and 243 of what was mapped ahead");
    give(&depot, &large);
    give(&depot, &stacks);
}

fn take_until_guards_are_canaries() {
    let depot = Depot::with_guards(None, GuardKind::Protected);
    let stacks = take(&depot, CLASS, max_map_count() / 2);
    let protected = stacks.partition_point(|stack| stack.guard_kind() == GuardKind::Protected);
    // Half of all mappings are for guards, two for each, in whole arenas.
    assert_eq!(protected, max_map_count() / 2 / (2 * 64) * 64);
    assert!(stacks[protected..].iter().all(|stack| stack.needs_canary_check() && stack.canary_intact()));
    give(&depot, &stacks);
    depot.trim();
    let again = take(&depot, CLASS, 65);
    assert!(again.iter().any(|stack| stack.guard_kind() == GuardKind::Protected), "the budget is back");
}

fn take_when_guards_cannot_be_finished() {
    let pages = use_up_all_mappings();
    for &page in &pages[..40] {
        // SAFETY: a page that nobody uses.
        unsafe { libc::munmap(page, 4096) };
    }
    let depot = Depot::with_guards(None, GuardKind::Protected);
    let stacks = take(&depot, CLASS, 64);
    assert!(stacks.iter().all(|stack| stack.needs_canary_check() && stack.canary_intact()));
}

fn trim_when_nothing_can_be_unmapped() {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 40 * 64);
    stacks.iter().for_each(|&stack| touch(stack, 7));
    let middle = arena_between_others(&stacks);
    let other = if middle[0].top() == stacks[0].top() { stacks[64] } else { stacks[0] };
    give(&depot, middle);
    give(&depot, &[other]);
    use_up_all_mappings();

    let trimmed = depot.trim();
    assert_eq!((trimmed.stacks, trimmed.arenas), (65, 0));
    assert_eq!((depot.counts().arenas, depot.counts().dirty), (40, 0));
    let again = take(&depot, CLASS, 65);
    assert_eq!(again[0].top(), other.top());
    assert_eq!(tops(&again[1..]), tops(middle));
    assert!(again.iter().all(|&stack| read(stack) == 0), "pages were dropped");
}

/// An arena with neighbours, so that its mapping goes on on both sides.
fn arena_between_others(stacks: &[Stack]) -> &[Stack] {
    let tops: HashSet<usize> = tops(stacks).into_iter().collect();
    let has_neighbours = |arena: &&[Stack]| {
        let (first, last) = (arena[0].top() as usize, arena[63].top() as usize);
        tops.contains(&(first - CLASS.slot_size())) && tops.contains(&(last + CLASS.slot_size()))
    };
    stacks.chunks(64).find(has_neighbours).unwrap()
}

fn use_up_all_mappings() -> Vec<*mut libc::c_void> {
    let mut pages = Vec::with_capacity(max_map_count());
    // Neighbours of different access do not merge.
    for access in [libc::PROT_NONE, libc::PROT_READ].into_iter().cycle() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping disturbs nobody.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            break;
        }
        pages.push(page);
    }
    pages
}
