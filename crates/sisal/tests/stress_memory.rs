//! How much memory is taken, and that it comes back: what a crowd of parked fibers took is given back when they have ended.
//!
//! One test at a time has this process's memory to itself: each runs in a process of its own.

mod common;

use common::gate::Gate;
use common::{LONG, WORKERS, background, child, fixed, in_main_fiber, linux, rounds, until};
use sisal::{CancelToken, Handle, Runtime, par};
use sisal_context::stack::SizeClass;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FIBERS: usize = 20_000;

/// Has so many fibers parked all at once; returns what the runtime held then.
fn crowd(runtime: &Runtime, fibers: usize) -> Held {
    let gate = Gate::closed();
    let parked = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..fibers)
        .map(|_| {
            let (way, parked) = (gate.way(), Arc::clone(&parked));
            runtime.spawn(move || {
                parked.fetch_add(1, Ordering::Relaxed);
                way.pass().unwrap();
            })
        })
        .collect();
    until(|| parked.load(Ordering::Relaxed) == fibers);
    let held = Held::by(runtime.handle());
    gate.open();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    held
}

#[derive(Copy, Clone, Debug)]
struct Held {
    stacks: usize,
    mapped: usize,
    resident: usize,
}

impl Held {
    fn by(runtime: &Handle) -> Held {
        let stats = runtime.stats();
        Held { stacks: stats.stacks_in_use, mapped: stats.stack_bytes_mapped, resident: linux::resident() }
    }

    /// Waits until most of what was taken since `base`, up to `peak`, was given back.
    fn wait_for_return(runtime: &Handle, base: Held, peak: Held) {
        let is_back = |now: usize, base: usize, peak: usize| now <= base + (peak - base) / 10;
        until(|| is_back(runtime.stats().stacks_in_use, base.stacks, peak.stacks));
        until(|| is_back(runtime.stats().stack_bytes_mapped, base.mapped, peak.mapped));
        until(|| is_back(linux::resident(), base.resident, peak.resident));
    }
}

#[test]
fn memory_returns_to_the_base_line_after_twenty_thousand_parked_fibers() {
    let ended = child::run(|| {
        for workers in WORKERS {
            let runtime = background(workers);
            // What is allocated once, and kept, is not counted.
            crowd(&runtime, 100);
            let base = Held::by(runtime.handle());
            for _ in 0..rounds(3) {
                let peak = crowd(&runtime, FIBERS);
                assert!(peak.stacks >= FIBERS, "{peak:?}");
                assert!(peak.mapped >= base.mapped + FIBERS * 128 * 1024, "{peak:?}");
                assert!(peak.resident >= base.resident + FIBERS * 2048, "{peak:?}");
                Held::wait_for_return(runtime.handle(), base, peak);
            }
            common::shut_down(runtime);
        }
    });
    ended.well();
}

#[test]
fn runtimes_that_have_ended_leave_neither_address_space_nor_threads() {
    // The allocator reserves address space for every thread that allocates at the same time as another; not here.
    let ended = child::run_in(&[("MALLOC_ARENA_MAX", "1")], || {
        let once = || {
            for workers in WORKERS {
                // Not shown to the watchdog, whose handles would keep what an ended runtime still has.
                let runtime = fixed(workers).build().unwrap();
                crowd(&runtime, 500);
                common::shut_down(runtime);
            }
        };
        once();
        let (mapped, threads) = (linux::mapped(), linux::threads());
        (0..rounds(50)).for_each(|_| once());
        // A thread that was joined is gone from the list a moment later.
        until(|| linux::threads() <= threads);
        // Five hundred stacks are 125 MiB; the allocator may keep what its arenas took.
        let slack = 100 << 20;
        assert!(linux::mapped() < mapped + slack, "{} MiB more", (linux::mapped() - mapped) >> 20);
    });
    ended.well();
}

#[test]
fn an_ended_runtime_holds_no_stacks_though_a_handle_is_kept() {
    let ended = child::run(|| {
        for workers in WORKERS {
            let runtime = background(workers);
            let handle = runtime.handle().clone();
            crowd(&runtime, 1_000);
            common::shut_down(runtime);
            let stats = handle.stats();
            assert_eq!(stats.stacks_in_use, 0, "{stats}");
            // One arena may be kept.
            assert!(stats.stack_bytes_mapped <= 64 * SizeClass::DEFAULT.slot_size(), "{stats}");
        }
    });
    ended.well();
}

#[test]
fn results_closures_and_names_of_a_million_fibers_are_freed() {
    let ended = child::run(|| {
        let runtime = background(2);
        let spawn_some = |count: usize| {
            let alive = Arc::new(());
            for number in 0..count {
                let payload = (Arc::clone(&alive), vec![number; 8]);
                let builder = runtime.handle().builder().name("one of a million");
                let handle = builder.spawn(move || payload);
                if number % 2 == 0 {
                    handle.join().unwrap();
                }
            }
            until(|| Arc::strong_count(&alive) == 1);
        };
        spawn_some(10_000);
        let resident = linux::resident();
        spawn_some(rounds(1_000_000));
        let growth = linux::resident().saturating_sub(resident);
        assert!(growth < 64 << 20, "{} MiB more", growth >> 20);
        common::shut_down(runtime);
    });
    ended.well();
}

#[test]
fn fibers_that_go_in_any_order_leave_no_memory_behind() {
    let ended = child::run(|| {
        for workers in [1, 2] {
            let runtime = background(workers);
            let base = linux::resident();
            // Not in the order of their memory: so each piece of it has one that goes among the last, and one that stays at hand.
            let fibers = 200_000;
            let peak = runtime.handle().spawn(move || {
                let mut handles: Vec<_> = (0..fibers).map(|number| Some(sisal::spawn(move || number))).collect();
                let runtime = Handle::current().unwrap();
                until(|| runtime.stats().finished >= fibers as u64);
                let peak = linux::resident();
                for step in 0..fibers {
                    drop(handles[step * 7_919 % fibers].take().unwrap());
                }
                peak
            });
            let peak = peak.join().unwrap();
            assert!(peak > base + (30 << 20), "{} KiB more", (peak - base) >> 10);
            until(|| linux::resident() <= base + (peak - base) / 3);
            common::shut_down(runtime);
        }
    });
    ended.well();
}

#[test]
fn a_runtime_left_idle_for_ever_can_still_be_stopped() {
    let ended = child::run(|| {
        let runtime = background(4);
        crowd(&runtime, 1_000);
        until(|| runtime.handle().stats().stacks_in_use < 500);
        assert!(runtime.shutdown(LONG).is_clean());
        // The kernel may list them for a moment longer.
        until(|| linux::threads_named("sisal") == 0);
    });
    ended.well();
}

/// How many scopes are open inside of each other.
const DEEP: usize = 100_000;

/// Opens a scope in the child of a scope, and so on, and calls `last` in the last child.
fn nest(depth: usize, last: &(dyn Fn() + Sync)) {
    if depth == 0 {
        return last();
    }
    par::scope(|scope| scope.spawn(move |_| nest(depth - 1, last)));
}

#[test]
fn scopes_may_be_as_deep_as_there_is_memory() {
    let ended = child::run(|| {
        // With 1 and 2 workers: what is measured is the memory, which is the same with more.
        for workers in [1, 2] {
            in_main_fiber(workers, || {
                let (before, at_the_end) = (linux::resident(), AtomicUsize::new(0));
                nest(DEEP, &|| at_the_end.store(linux::resident(), Ordering::Relaxed));
                let each = at_the_end.into_inner().saturating_sub(before) / DEEP;
                // A stack within two pages, and the fiber's block. Frames of debug builds are bigger.
                let limit = if cfg!(debug_assertions) { 16 << 10 } else { 9 << 10 };
                assert!(each <= limit, "{each} bytes for each scope");
            });
        }
    });
    ended.well();
}

#[test]
fn children_of_a_token_that_are_gone_are_forgotten() {
    let ended = child::run(|| {
        let root = CancelToken::new();
        let drop_children = |count: usize| (0..count).for_each(|_| drop(root.child()));
        drop_children(100_000);
        let before = linux::resident();
        drop_children(1_000_000);
        let grown = linux::resident().saturating_sub(before);
        assert!(grown < 32 << 20, "{grown} bytes more");
        root.cancel();
    });
    ended.well();
}

#[test]
fn a_token_whose_end_is_still_looked_at_leaves_nothing_behind() {
    const TOKENS: usize = 200_000;
    let ended = child::run(|| {
        let churn = || {
            for _ in 0..TOKENS {
                let token = CancelToken::new();
                let done = token.done().clone();
                drop(token);
                assert!(done.try_recv().unwrap_err().is_empty());
            }
        };
        churn();
        let before = linux::resident();
        churn();
        let grown = linux::resident().saturating_sub(before);
        assert!(grown < TOKENS * 16, "{grown} bytes");
    });
    ended.well();
}

/// Waits for one time that is far away, one after the other, beside one who waits for it all the while.
#[test]
fn waits_for_one_time_again_and_again_leave_nothing_behind() {
    const WAITS: usize = 1_000_000;
    let ended = child::run(|| {
        in_main_fiber(1, || {
            let end = std::time::Instant::now() + LONG;
            let sleeper = sisal::spawn_local(move || sisal::sleep_until(end));
            let (sender, receiver) = sisal::chan::bounded(0);
            let echo = sisal::spawn_local(move || while sender.send(()).is_ok() {});
            let before = linux::resident();
            (0..WAITS).for_each(|_| receiver.recv_deadline(end).unwrap());
            let grown = linux::resident().saturating_sub(before);
            assert!(grown < WAITS * 2, "{grown} bytes");
            drop(receiver);
            echo.join().unwrap();
            sleeper.cancel();
            assert!(sleeper.join().unwrap().is_err());
        });
    });
    ended.well();
}

/// One channel is enlisted at, and taken off again, at every turn.
#[test]
fn selects_that_end_elsewhere_leave_nothing_behind() {
    const SELECTS: usize = 300_000;
    let ended = child::run(|| {
        in_main_fiber(1, || {
            let (_silent, never) = sisal::chan::bounded::<()>(0);
            let (sender, receiver) = sisal::chan::bounded(0);
            let feeder = sisal::spawn_local(move || while sender.send(()).is_ok() {});
            let turns = |count: usize| {
                for _ in 0..count {
                    sisal::select! {
                        recv(never) -> _ => unreachable!("nobody sends"),
                        recv(receiver) -> item => item.unwrap(),
                    }
                }
            };
            turns(1_000);
            let before = linux::resident();
            turns(SELECTS);
            let grown = linux::resident().saturating_sub(before);
            assert!(grown < SELECTS * 2, "{grown} bytes");
            drop(receiver);
            feeder.join().unwrap();
        });
    });
    ended.well();
}
