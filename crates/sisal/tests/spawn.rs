//! The ways to spawn, and what a fiber is when it runs: where it starts, how it is called, what it brings and leaves.

mod common;

use common::gate::Gate;
use common::watchdog::{guarded, watch};
use common::{background, fixed, in_fiber_of_each, rounds, until, with_workers};
use sisal::{Builder, Handle, SpawnErrorKind, join_all, spawn, spawn_local, spawn_on, try_spawn, yield_now};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// What a call panics with.
fn message_of(call: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(call).expect_err("it was to panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast_ref::<&str>().unwrap().to_string(),
    }
}

#[test]
fn a_spawned_fiber_returns_what_its_closure_returns() {
    in_fiber_of_each(|| {
        assert_eq!(spawn(|| 6 * 7).join().unwrap(), 42);
        assert_eq!(spawn(|| "text".to_owned()).join().unwrap(), "text");
        spawn(|| ()).join().unwrap();
        let nested = spawn(|| spawn(|| spawn(|| 3)));
        assert_eq!(nested.join().unwrap().join().unwrap().join().unwrap(), 3);
    });
}

#[test]
fn closures_and_results_of_any_size_and_alignment_arrive_whole() {
    #[repr(align(512))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Page([u8; 1024]);
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Line(u8);
    fn is_aligned<T>(value: &T) -> bool {
        std::ptr::from_ref(value).addr().is_multiple_of(align_of::<T>())
    }
    in_fiber_of_each(|| {
        let (page, line, large) = (Page([7; 1024]), Line(8), [9u64; 512]);
        let fiber = spawn(move || {
            assert!(is_aligned(&page));
            page
        });
        let result = fiber.join().unwrap();
        assert!(is_aligned(&result));
        assert_eq!(result, page);
        let fiber = spawn(move || {
            assert!(is_aligned(&line));
            yield_now();
            (large, line)
        });
        let result = fiber.join().unwrap();
        assert!(is_aligned(&result.1));
        assert!(result == (large, line));
    });
}

#[test]
fn what_a_closure_holds_is_dropped_once_before_the_result_can_be_joined() {
    in_fiber_of_each(|| {
        let held = Arc::new(());
        for _ in 0..100 {
            let inside = Arc::clone(&held);
            spawn(move || assert_eq!(Arc::strong_count(&inside), 2)).join().unwrap();
            assert_eq!(Arc::strong_count(&held), 1);
        }
    });
}

#[test]
fn a_detached_fiber_runs_to_its_end() {
    in_fiber_of_each(|| {
        let count = Arc::new(AtomicUsize::new(0));
        for number in 0..100 {
            let count = Arc::clone(&count);
            drop(spawn(move || {
                (0..number % 3).for_each(|_| yield_now());
                count.fetch_add(1, Ordering::Relaxed);
            }));
        }
        until(|| count.load(Ordering::Relaxed) == 100);
    });
}

#[test]
fn every_fiber_has_a_number_of_its_own_and_main_is_zero() {
    with_workers(|workers| {
        fixed(workers)
            .run(|| {
                let main = sisal::fiber::current().unwrap();
                assert_eq!((main.id().to_string().as_str(), main.name()), ("#0", Some("main")));
                let handles: Vec<_> =
                    (0..rounds(10_000)).map(|_| spawn(|| sisal::fiber::current().unwrap().id())).collect();
                let mut seen = HashSet::from([main.id()]);
                for handle in handles {
                    let id = handle.id();
                    assert_eq!(handle.join().unwrap(), id, "the fiber sees the number that its handle has");
                    assert!(seen.insert(id), "{id} twice");
                }
            })
            .unwrap();
    });
}

#[test]
fn a_named_fiber_knows_its_name_and_where_it_was_spawned() {
    in_fiber_of_each(|| {
        let handle = Builder::new().name("bee").spawn(|| sisal::fiber::current().unwrap());
        let line = line!() - 1;
        assert_eq!(handle.name(), Some("bee"));
        let fiber = handle.join().unwrap();
        assert_eq!(fiber.name(), Some("bee"));
        assert_eq!((fiber.spawned_at().file(), fiber.spawned_at().line()), (file!(), line));
        let unnamed = spawn(|| sisal::fiber::current().unwrap().name().map(str::to_owned));
        assert_eq!(unnamed.name(), None);
        assert_eq!(unnamed.join().unwrap(), None);
    });
}

#[test]
fn a_local_fiber_need_not_be_send_and_shares_with_its_spawner() {
    in_fiber_of_each(|| {
        let log = Rc::new(RefCell::new(Vec::new()));
        let handles: Vec<_> = (0..10)
            .map(|number| {
                let log = Rc::clone(&log);
                spawn_local(move || {
                    yield_now();
                    log.borrow_mut().push(number);
                    Rc::new(Cell::new(number))
                })
            })
            .collect();
        let results: Vec<_> = join_all(handles).into_iter().map(|result| result.unwrap().get()).collect();
        assert_eq!(results, (0..10).collect::<Vec<_>>());
        let mut log = Rc::try_unwrap(log).unwrap().into_inner();
        log.sort_unstable();
        assert_eq!(log, results);
    });
}

#[test]
fn builders_spawn_in_every_way_with_a_name_and_a_stack() {
    in_fiber_of_each(|| {
        let workers = Handle::current().unwrap().base_workers();
        let builder = Builder::new().name("each way").stack_size(300 << 10);
        let name = || sisal::fiber::current().unwrap().name().map(str::to_owned);
        let handles = vec![
            builder.clone().spawn(name),
            builder.clone().try_spawn(name).unwrap(),
            builder.clone().spawn_local(name),
            builder.clone().spawn_on(workers - 1, name),
            builder.clone().spread().spawn(name),
        ];
        assert!(handles.iter().all(|handle| handle.name() == Some("each way")));
        assert!(join_all(handles).into_iter().all(|name| name.unwrap().as_deref() == Some("each way")));
    });
}

#[test]
fn spread_fibers_live_on_all_workers_evenly() {
    with_workers(|workers| {
        let runtime = background(workers);
        let gate = Gate::closed();
        let per_worker = 50;
        let parked = Arc::new(AtomicUsize::new(0));
        // One after the other, so that each sees where the ones before it live.
        let handles: Vec<_> = (1..=workers * per_worker)
            .map(|number| {
                let (way, mine) = (gate.way(), Arc::clone(&parked));
                let handle = runtime.handle().builder().spread().spawn(move || {
                    mine.fetch_add(1, Ordering::Relaxed);
                    way.pass().unwrap();
                    thread::current().id()
                });
                until(|| parked.load(Ordering::Relaxed) == number);
                handle
            })
            .collect();
        gate.open();
        let mut homes = HashMap::new();
        for handle in handles {
            *homes.entry(handle.join().unwrap()).or_insert(0) += 1;
        }
        // Whoever is idle may take what was meant for one who is just busy, so it need not be exact.
        let most = homes.values().copied().max().unwrap();
        assert!(most <= per_worker * 5 / 4 || workers == 1, "{homes:?}");
        common::shut_down(runtime);
    });
}

#[test]
fn a_fiber_spawned_on_a_worker_that_does_not_exist_is_refused_with_a_clear_message() {
    in_fiber_of_each(|| {
        let workers = Handle::current().unwrap().base_workers();
        let message = message_of(move || drop(spawn_on(workers, || ())));
        assert!(
            message.contains(&format!("there is no worker {workers}: the workers are 0 to {}", workers - 1)),
            "{message}"
        );
        assert!(message_of(|| drop(Builder::new().spawn_on(usize::MAX, || ()))).contains("there is no worker"));
    });
}

#[test]
fn absurd_stack_sizes_are_refused_with_a_clear_message() {
    in_fiber_of_each(|| {
        for size in [0, 1, 4095, (1 << 30) + 1, usize::MAX] {
            let refused = Builder::new().stack_size(size).try_spawn(|| 7).unwrap_err();
            assert_eq!(refused.kind(), SpawnErrorKind::StackSize { asked: size });
            assert!(refused.to_string().contains(&format!("a stack of {size} bytes is out of range")), "{refused}");
            assert_eq!(refused.into_inner()(), 7, "the closure comes back");
            let message = message_of(move || drop(Builder::new().stack_size(size).spawn(|| ())));
            assert!(message.contains("4 KiB") && message.contains("1 GiB"), "{message}");
        }
        for size in [4096, 100_000, 1 << 20, 1 << 30] {
            assert_eq!(Builder::new().stack_size(size).spawn(|| 7).join().unwrap(), 7);
        }
    });
}

#[test]
fn a_refused_spawn_leaves_no_trace() {
    guarded(|| {
        let runtime = fixed(1).max_fibers(2).build().unwrap();
        let handle = runtime.handle();
        for _ in 0..10 {
            assert!(handle.builder().stack_size(1).try_spawn(|| ()).is_err());
            let caught = catch_unwind(std::panic::AssertUnwindSafe(|| handle.spawn_on(9, || ())));
            assert!(caught.is_err());
        }
        assert_eq!(handle.stats().spawned, 0);
        assert!(handle.try_spawn(|| ()).is_ok(), "no place under the limit was lost");
        common::shut_down(runtime);
    });
}

#[test]
fn try_spawn_works_where_spawn_does() {
    in_fiber_of_each(|| {
        assert_eq!(try_spawn(|| 7).unwrap().join().unwrap(), 7);
        let handle = Handle::current().unwrap();
        assert_eq!(handle.try_spawn(|| 8).unwrap().join().unwrap(), 8);
    });
}

#[test]
fn a_handle_of_another_runtime_spawns_there() {
    with_workers(|workers| {
        let runtimes =
            [fixed(workers).name("left"), fixed(workers).name("right")].map(|builder| builder.build().unwrap());
        let [left, right] = &runtimes;
        let there = right.handle().clone();
        let name = || thread::current().name().unwrap().to_owned();
        let (here, far) = left.run(|| (name(), there.spawn(name).join().unwrap()));
        assert!(here.starts_with("left") && far.starts_with("right"), "{here}, {far}");
        let far = left.run(|| right.run(name));
        assert!(far.starts_with("right"), "{far}");
        runtimes.into_iter().for_each(common::shut_down);
    });
}

#[test]
fn a_handle_of_the_same_runtime_spawns_here() {
    in_fiber_of_each(|| {
        let handle = Handle::current().unwrap();
        let before = handle.stats().spawned;
        handle.spawn(|| ()).join().unwrap();
        handle.spawn_on(0, || ()).join().unwrap();
        handle.builder().spawn_local(|| ()).join().unwrap();
        assert_eq!(handle.stats().spawned, before + 3);
    });
}

#[test]
fn a_local_fiber_of_another_runtime_is_refused() {
    guarded(|| {
        let (here, there) = (background(1), background(1));
        let other = there.handle().clone();
        // It could only start on a thread of that runtime, and this is none.
        let refused = here
            .run(|| catch_unwind(std::panic::AssertUnwindSafe(|| other.builder().spawn_local(|| 7).join())).is_err());
        assert!(refused);
        common::shut_down(here);
        common::shut_down(there);
    });
}

#[test]
fn idle_workers_take_their_share_of_what_one_fiber_spawns() {
    // Each keeps its worker until all have come: what no other worker takes is never run. Those that start on the spawner's worker
    // before it is done, since it gave way, would keep it from that: they don't take part.
    with_workers(|workers| {
        fixed(workers)
            .run(|| {
                watch(&Handle::current().expect("the main fiber is in a runtime"));
                let spawner = thread::current().id();
                for _ in 0..rounds(100) {
                    let come = Arc::new(AtomicUsize::new(0));
                    let is_done = Arc::new(AtomicBool::new(false));
                    let fibers: Vec<_> = (0..workers)
                        .map(|_| {
                            let (come, is_done) = (come.clone(), is_done.clone());
                            spawn(move || {
                                let takes_part = is_done.load(Ordering::Relaxed) || thread::current().id() != spawner;
                                come.fetch_add(1, Ordering::Relaxed);
                                while takes_part && come.load(Ordering::Relaxed) < workers {
                                    thread::yield_now();
                                }
                            })
                        })
                        .collect();
                    is_done.store(true, Ordering::Relaxed);
                    join_all(fibers).into_iter().for_each(Result::unwrap);
                }
            })
            .unwrap();
    });
}
