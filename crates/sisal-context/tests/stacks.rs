//! Stacks as their users see them: taken, given back, trimmed, guarded; and faults, each in a child process
//! of its own.
#![allow(unsafe_code, reason = "stacks are raw memory, and faults are raised on purpose")]

use sisal_context::fault::{self, AltStack};
use sisal_context::stack::{Depot, GuardKind, SizeClass, Stack};
use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CLASS: SizeClass = SizeClass::DEFAULT;
const ARENA_BYTES: usize = 64 * CLASS.slot_size();
const KINDS: [GuardKind; 3] = [GuardKind::Marker, GuardKind::Protected, GuardKind::Canary];

fn take(depot: &Depot, class: SizeClass, want: usize) -> Vec<Stack> {
    let mut stacks = Vec::new();
    assert_eq!(depot.take(class, want, &mut stacks), stacks.len());
    stacks
}

fn give(depot: &Depot, stacks: &[Stack]) {
    // SAFETY: tests run nothing on their stacks, and give each back once to where it came from.
    unsafe { depot.give(stacks) };
}

fn top_word(stack: Stack) -> *mut usize {
    stack.top().cast::<usize>().wrapping_sub(1)
}

fn touch(stack: Stack, value: usize) {
    // SAFETY: the highest word of a stack that is out.
    unsafe { top_word(stack).write(value) };
}

fn read(stack: Stack) -> usize {
    // SAFETY: as above.
    unsafe { top_word(stack).read() }
}

fn tops(stacks: &[Stack]) -> Vec<usize> {
    stacks.iter().map(|stack| stack.top() as usize).collect()
}

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

// Faults, each in a child process.

const SCENARIO: &str = "SISAL_CONTEXT_TEST_SCENARIO";
const REPORT: &str = "overflow reported";
const PREVIOUS: &str = "previous handler called";
const EXIT_OF_PREVIOUS: i32 = 42;

/// The range that counts as a guard in this process.
static GUARD: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

fn report(address: usize) -> bool {
    let is_overflow = (GUARD[0].load(Relaxed)..GUARD[1].load(Relaxed)).contains(&address);
    if is_overflow {
        fault::write_stderr(&[b"test: ", REPORT.as_bytes(), b"\n"]);
    }
    is_overflow
}

fn run_in_child(scenario: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "this_is_the_child_process_if_it_has_a_scenario", "--nocapture"])
        .env(SCENARIO, scenario)
        .output()
        .unwrap()
}

fn assert_ends(scenario: &str, by_signal: i32, reported: bool) {
    let output = run_in_child(scenario);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(by_signal), "{scenario}: {stderr}");
    assert_eq!(stderr.contains(REPORT), reported, "{scenario}: {stderr}");
}

#[test]
fn this_is_the_child_process_if_it_has_a_scenario() {
    let Ok(scenario) = std::env::var(SCENARIO) else {
        return;
    };
    forbid_core_dumps();
    let _alt_stack = AltStack::ensure().unwrap();
    match scenario.as_str() {
        "marker" => overflow(GuardKind::Marker, 0, false),
        "marker, lowest byte" => overflow(GuardKind::Marker, usize::MAX, false),
        "marker, trimmed" => overflow(GuardKind::Marker, 0, true),
        "protected" => overflow(GuardKind::Protected, 0, false),
        "protected, lowest byte" => overflow(GuardKind::Protected, usize::MAX, false),
        "protected, trimmed" => overflow(GuardKind::Protected, 0, true),
        "bus error" => bus_error(),
        "default" => fault_with_previous(libc::SIG_DFL, 0),
        "ignored" => fault_with_previous(libc::SIG_IGN, 0),
        "standard library" => fault_outside_of_guards(),
        "plain" => fault_with_previous(plain as extern "C" fn(_) as usize, 0),
        "informed" => {
            let handler: extern "C" fn(_, *mut libc::siginfo_t, _) = informed;
            fault_with_previous(handler as usize, libc::SA_SIGINFO);
        }
        "sent, default" => send_with_previous(libc::SIG_DFL),
        "sent, ignored" => send_with_previous(libc::SIG_IGN),
        "no memory" => take_until_memory_is_refused(),
        "no mappings for guards" => take_until_guards_are_canaries(),
        "no mappings for the last guards" => take_when_guards_cannot_be_finished(),
        "no mappings for holes" => trim_when_nothing_can_be_unmapped(),
        other => panic!("no scenario {other}"),
    }
}

/// Touches a guard, `below` its highest byte (or its lowest byte if that is too far).
fn overflow(kind: GuardKind, below: usize, trimmed: bool) {
    // Whatever the program does on SIGABRT must not keep an overflow from ending it.
    set_action(libc::SIGABRT, plain as extern "C" fn(_) as usize, 0);
    let depot = Depot::with_guards(None, kind);
    let mut stack = take(&depot, CLASS, 2)[0];
    if trimmed {
        touch(stack, 7);
        give(&depot, &[stack]);
        assert_eq!(depot.trim().stacks, 1);
        stack = take(&depot, CLASS, 1)[0];
        assert_eq!(read(stack), 0, "pages were dropped");
    }
    assert_eq!(stack.guard_kind(), kind);
    let guard = stack.guard();
    GUARD[0].store(guard.start, Relaxed);
    GUARD[1].store(guard.end, Relaxed);
    fault::install(report);
    write_to(guard.end - 1 - below.min(guard.len() - 1));
}

fn write_to(address: usize) {
    // SAFETY: none; the process is to fault here.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(1) };
}

fn bus_error() {
    fault::install(report);
    // SAFETY: maps a page of an empty file, which has no memory behind it.
    let page = unsafe {
        let file = libc::memfd_create(c"empty".as_ptr(), 0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file, 0) as usize
    };
    GUARD[0].store(page, Relaxed);
    GUARD[1].store(page + 4096, Relaxed);
    write_to(page);
}

fn fault_with_previous(handler: usize, flags: i32) {
    set_action(libc::SIGSEGV, handler, flags);
    fault_outside_of_guards();
}

fn fault_outside_of_guards() {
    fault::install(report);
    write_to(16);
}

fn send_with_previous(handler: usize) {
    set_action(libc::SIGSEGV, handler, 0);
    fault::install(report);
    // SAFETY: no obligations.
    unsafe { libc::raise(libc::SIGSEGV) };
}

fn set_action(signal: i32, handler: usize, flags: i32) {
    // SAFETY: zero is valid for the rest; the handlers above have the type that their flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

fn forbid_core_dumps() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads a live struct.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}

extern "C" fn plain(_signal: i32) {
    fault::write_stderr(&[PREVIOUS.as_bytes()]);
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(EXIT_OF_PREVIOUS) };
}

extern "C" fn informed(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: what the kernel gave to the handler before.
    let is_complete = unsafe { (*info).si_signo == signal && (*info).si_addr() as usize == 16 };
    if is_complete && !context.is_null() {
        plain(signal);
    }
}

#[test]
fn a_touched_guard_is_reported_and_aborts() {
    assert_ends("protected", libc::SIGABRT, true);
    assert_ends("protected, lowest byte", libc::SIGABRT, true);
    if markers_can_be_had() {
        assert_ends("marker", libc::SIGABRT, true);
        assert_ends("marker, lowest byte", libc::SIGABRT, true);
    }
}

#[test]
fn guards_survive_a_trim() {
    assert_ends("protected, trimmed", libc::SIGABRT, true);
    if markers_can_be_had() {
        assert_ends("marker, trimmed", libc::SIGABRT, true);
    }
}

/// Since Linux 6.13.
fn markers_can_be_had() -> bool {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 1);
    give(&depot, &stacks);
    stacks[0].guard_kind() == GuardKind::Marker
}

#[test]
fn a_bus_error_is_asked_about_too() {
    assert_ends("bus error", libc::SIGABRT, true);
}

#[test]
fn another_fault_ends_the_process_as_it_would_have_without_us() {
    for scenario in ["default", "ignored", "standard library", "sent, default"] {
        assert_ends(scenario, libc::SIGSEGV, false);
    }
}

#[test]
fn another_fault_goes_to_the_previous_handler() {
    for scenario in ["plain", "informed"] {
        let output = run_in_child(scenario);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(EXIT_OF_PREVIOUS), "{scenario}: {stderr}");
        assert!(stderr.contains(PREVIOUS), "{scenario}: {stderr}");
    }
}

#[test]
fn a_signal_that_was_sent_stays_ignored() {
    assert!(run_in_child("sent, ignored").status.success());
}

// What the kernel refuses, each in a child process, which it leaves unusable.

fn assert_succeeds(scenario: &str) {
    let output = run_in_child(scenario);
    assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn fewer_stacks_are_had_when_memory_is_refused() {
    assert_succeeds("no memory");
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

fn max_map_count() -> usize {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    text.trim().parse().unwrap()
}

fn take_until_memory_is_refused() {
    let limit = libc::rlimit { rlim_cur: 4 << 30, rlim_max: 4 << 30 };
    // SAFETY: reads a live struct.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let depot = Depot::new(None);
    let some = take(&depot, CLASS, 100_000);
    assert!(some.len() < 100_000 && some.len().is_multiple_of(64));
    assert_eq!(take(&depot, CLASS, 1).len(), 0);
    assert_eq!((depot.counts().in_use, depot.counts().free), (some.len(), 0));
    give(&depot, &some);
    assert_eq!(take(&depot, CLASS, 100_000).len(), some.len());
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
